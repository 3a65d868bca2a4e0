"""Where in a plain file the records of a time begin and end, found without reading it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from rdmadiag.inputs.streams import FileStream
from rdmadiag.logs.borders import line_start
from rdmadiag.logs.clock import Clock
from rdmadiag.logs.layout import Layout, head_of
from rdmadiag.logs.lines import LINE, text_of
from rdmadiag.logs.options import LogOptions
from rdmadiag.logs.stamps import Stamp

if TYPE_CHECKING:
    from rdmadiag.logs.zones import Zone

PROBES = 64
SMALLEST = 4 << 20
"""Bytes within which it is faster to read than to look any closer."""

TWICE = 2 * 3600.0
"""Seconds that a zone's clocks may show twice: which of the two it is, the records before tell."""


class Window(msgspec.Struct, frozen=True):
    """
    A part of a file.

    :ivar start: Offset of its first record; *end*: where it ends.
    :ivar reference: What dates without a year in it are no later than.
    """

    start: int
    end: int
    reference: float


def find_window(
    file: FileStream, layout: Layout, options: LogOptions, reference: float
) -> Window | None:
    """
    Return the part of the log that holds the records between *since* and *until*, and a little more.

    The log is probed at even distances, in order, so that years can be told; then what is between the two
    probes that matter is probed again.

    :returns: ``None`` when it is the whole log, or when its records do not tell their time in its order.
    """
    if options.since is None and options.until is None:
        return None
    if layout.newest_first or layout.running or file.size <= SMALLEST:
        return None
    start: Window | None = Window(0, 0, reference)
    end: Window | None = Window(file.size, file.size, reference)
    if options.since is not None:
        since = options.since - (TWICE if options.zone else 0)
        start = _narrowed(file, layout, reference, options.zone, since, first=True)
    if options.until is not None:
        end = _narrowed(file, layout, reference, options.zone, options.until, first=False)
    if start is None or end is None:
        return None
    return Window(line_start(file, start.start), line_start(file, end.end), end.reference)


def _narrowed(
    file: FileStream,
    layout: Layout,
    reference: float,
    zone: "Zone | None",
    wall: float,
    *,
    first: bool,
) -> Window | None:
    """
    Return the small part of the file in which records reach *wall*.

    :param first: Where they reach it first, else where they leave it behind for good.
    """
    start, end = 0, file.size
    while end - start > SMALLEST:
        offsets = [start + (end - start) * n // PROBES for n in range(PROBES)]
        walls = _walls(file, layout, offsets, Clock(reference, zone))
        if walls is None:
            return None
        if first:
            after = next((n for n, w in enumerate(walls) if w >= wall), PROBES)
        else:
            # Of a log that begins later a little is read nevertheless: it tells of which time it is.
            after = next((n + 1 for n in reversed(range(PROBES)) if walls[n] <= wall), 1)
        if after < PROBES:
            end, reference = offsets[after], walls[after]
        start = offsets[max(0, after - 1)]
        if after == 0:
            break
    return Window(start, end, reference)


def _walls(
    file: FileStream, layout: Layout, offsets: Sequence[int], clock: Clock
) -> list[float] | None:
    """Return the time of the record after each of *offsets*."""
    moments = []
    start = -1
    for offset in offsets:
        start = line_start(file, offset) if offset > start else start
        stamp = _stamp(file, layout, start)
        if stamp is None:
            return None
        moments.append(clock.moment(*stamp))
    settled = [clock.settle(m).wall for m in moments]
    walls = [w for w in settled if w is not None]
    return walls if len(walls) == len(moments) else None


def _stamp(file: FileStream, layout: Layout, start: int) -> tuple[Stamp, str] | None:
    data = file.pread(LINE, start)
    for raw in data.split(b"\n")[:400]:
        text = text_of(raw)[0]
        parsed = head_of(text, layout)
        if parsed and (parsed.stamp.wall is not None or parsed.stamp.date is not None):
            return parsed.stamp, ""
    return None
