"""One log, in one or several files, from its bytes to its facts."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rdmadiag.facts.model import InputInfo, Moment
from rdmadiag.inputs.source import Source
from rdmadiag.logs.assemble import Assembler, Unit
from rdmadiag.logs.blocks import Block, Blocks, Cuts
from rdmadiag.logs.census import Census, anchor_of
from rdmadiag.logs.clock import Clock, is_plausible
from rdmadiag.logs.events import EventReader, is_boot, kernel_clock, unfolded
from rdmadiag.logs.layout import Layout, survey
from rdmadiag.logs.lines import LINE
from rdmadiag.logs.options import LogOptions
from rdmadiag.logs.prefilter import Search
from rdmadiag.logs.protocols import TraceReader, Vocabulary
from rdmadiag.logs.records import Record
from rdmadiag.logs.scan import Scanner
from rdmadiag.logs.traces import TRACE_KINDS
from rdmadiag.logs.turned import Turned
from rdmadiag.logs.wrapping import looks_like_kernel

SAMPLE = 256 << 10
_MARKS = ("-- Reboot --", "-- Boot ")


@dataclass(slots=True)
class Part:
    """
    One file of a log.

    :ivar begin: Order of its first record among those of all parts.
    :ivar kernel: It has records of a kernel.
    :ivar hosts: Whose records.
    :ivar release: The last kernel release it names.
    :ivar first: Moment and host of its first record; *last*: of its last one.
    :ivar foreign: The system that it is of, when it is not Linux.
    :ivar read_problems: How many problems there were in reading its bytes.
    """

    source: Source
    info: InputInfo
    begin: int
    cuts: Cuts = field(default_factory=Cuts)
    kernel: bool = False
    hosts: set[str] = field(default_factory=set)
    release: str = ""
    first: tuple[Moment, str] | None = None
    last: tuple[Moment, str] | None = None
    foreign: str = ""
    read_problems: int = 0


class Series:
    """
    Reads the files of one log, oldest first.

    The clock goes on from file to file, and a trace may begin in one and end in the next.

    :ivar kinds: Kinds of facts that are looked for.
    """

    def __init__(
        self, vocabulary: Vocabulary, search: Search, traces: TraceReader, options: LogOptions
    ) -> None:
        """:param search: For the vocabulary's literals and :data:`rdmadiag.logs.events.CONTEXT_LITERALS`."""
        self.parts: list[Part] = []
        self.events = EventReader(vocabulary)
        self.traces = traces
        self.options = options
        self.kinds = set(vocabulary.event_kinds) | TRACE_KINDS
        self.clock = Clock(self._now())
        self._vocabulary = vocabulary
        self._search = search

    def _now(self) -> float:
        return time.time() if self.options.now is None else self.options.now

    def read(self, source: Source) -> None:
        """Read the next file."""
        info = InputInfo(source.name, "log", problems=source.problems)
        written = source.mtime if source.mtime and is_plausible(source.mtime) else self._now()
        self.clock.reference = min(written, max(self._now(), self.clock.reference))
        part = Part(source, info, self.clock.order)
        self.parts.append(part)
        if source.stream is not None:
            blocks = Blocks(source.stream, part.cuts, self.options.block, self.options.limits)
            for unit in self._units(part, blocks):
                self._record(part, unit)
            info.bytes = blocks.size
        part.read_problems = len(source.problems)

    def _units(self, part: Part, blocks: Blocks) -> Iterator[Unit]:
        following = iter(blocks)
        first = next(following)
        layout = survey(bytes(first.view[:SAMPLE]))
        if layout.newest_first:
            turned = Turned(part.source, layout, part.cuts, self.options)
            yield from turned.units(first, following)
            tally, blocks.size = turned.tally, max(blocks.size, turned.size)
        else:
            census = Census(layout)
            scanner = Scanner(census, self._search, self._vocabulary.companions, part.cuts)
            assembler = Assembler(layout)
            if _is_whole(layout, first, self.options):
                for line in scanner.all_lines(_chained(first, following)):
                    yield from assembler.feed(line)
                tally = assembler.tally
            else:
                yield from self._sparse(scanner, assembler, _anchored(first, following, blocks))
                tally = census.tally
            yield from assembler.flush()
        part.info.records, part.info.unparsed = tally.records, tally.unparsed

    def _sparse(
        self, scanner: Scanner, assembler: Assembler, blocks: Iterable[Block]
    ) -> Iterator[Unit]:
        for line in scanner.lines(blocks):
            yield from assembler.flush() if line is None else assembler.feed(line)
            scanner.follow = self.traces.wants()

    def _record(self, part: Part, unit: Unit) -> None:
        parsed = unit.parsed
        message, repeated = unfolded(parsed.message)
        if not unit.headed and message.startswith(_MARKS):
            self.clock.reboot()
            return
        moment = self.clock.moment(parsed.stamp, parsed.host, booted=is_boot(message))
        self._note(part, unit, moment)
        if (wall := kernel_clock(message)) is not None:
            self.clock.tie(parsed.host, wall)
        record = Record(
            unit.line,
            unit.offset,
            unit.raw[:LINE],
            parsed.host,
            moment,
            parsed.level,
            parsed.caller,
            parsed.ident,
            message,
            repeated,
        )
        self.events.read(record, part.info.path)
        part.release = self.events.release or part.release
        self.traces.feed(record)

    def _note(self, part: Part, unit: Unit, moment: Moment) -> None:
        """Note what the record says of the log it is in."""
        parsed = unit.parsed
        if parsed.stamp.known:
            part.first = part.first or (moment, parsed.host)
            part.last = (moment, parsed.host)
        if not part.kernel:
            part.kernel = parsed.ident == "kernel" or (
                not parsed.ident and (unit.headed or looks_like_kernel(parsed.message))
            )
        part.foreign = part.foreign or parsed.foreign
        if len(part.hosts) < 100:
            part.hosts.add(parsed.host)


def _is_whole(layout: Layout, first: Block, options: LogOptions) -> bool:
    """Tell whether every line must be read."""
    if layout.running or layout.quoted_printable or layout.style == "pretty":
        return True
    return first.last and first.end - first.start <= options.whole


def _chained(first: Block, following: Iterable[Block]) -> Iterator[Block]:
    yield first
    yield from following


def _anchored(first: Block, following: Iterable[Block], blocks: Blocks) -> Iterator[Block]:
    """Yield the blocks, and tell their reader what lines begin with now: the day changes."""
    for block in _chained(first, following):
        yield block
        last = block.data.rfind(b"\n", block.start, max(block.start, block.end - 1)) + 1
        anchor = anchor_of(bytes(block.data[last : last + 64]))
        blocks.anchor = anchor or blocks.anchor
