"""What the HTML report draws, as lines of text for a terminal."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from rdmadiag.report import view
from rdmadiag.report.picture import Bound, Picture, Ring

TONES = {
    "critical": "bold red",
    "warning": "bold yellow",
    "info": "bold blue",
    "incomplete": "bold magenta",
    "clean": "bold green",
}
BAR = 32

Rows = Iterator[RenderableType]


def underlined(text: str) -> RenderableType:
    """Return a small heading."""
    return Padding(Text(text, "underline"), (1, 0, 0, 0))


def indented(row: RenderableType, by: int = 2) -> RenderableType:
    """Return *row* moved to the right."""
    return Padding(row, (0, 0, 0, by))


def sketch(drawn: Picture) -> Rows:
    """Return the picture of a finding in lines of text."""
    if drawn.here or drawn.there:
        state = f" --- {drawn.state or '?'} --- "
        style = TONES["clean" if drawn.up else "critical"]
        yield underlined("Where")
        yield indented(Text.assemble(drawn.here or "?", (state, style), drawn.there or "?"))
    if drawn.device:
        yield indented(Text(", ".join(drawn.device)))
    for name, text, bad in drawn.queues:
        yield indented(Text(f"{name} {text}", TONES["critical"] if bad else ""), 2)
    for ring in drawn.rings:
        yield indented(_ring(ring), 2)
    if drawn.slots:
        yield indented(Text("queues " + " ".join(f"{s.label}:{s.state}" for s in drawn.slots)), 2)
    yield from _waiters(drawn)
    if drawn.bound:
        yield from _bound(drawn.bound)


def _ring(ring: Ring) -> Text:
    """Return the ring laid flat: slot 0 at the left, what is in flight filled."""
    out = {slot % BAR for slot in _cells(ring)}
    bar = "".join("#" if cell in out else "." for cell in range(BAR))
    return Text.assemble(
        f"{ring.name} ring [",
        (bar, TONES["warning"] if out else ""),
        f"] {ring.in_flight:,} of {ring.nr:,} in flight, alloc {ring.alloc_ptr}, free {ring.free_ptr}",
    )


def _cells(ring: Ring) -> range:
    if not ring.in_flight:
        return range(0)
    first = ring.free_ptr * BAR // ring.nr
    last = (ring.free_ptr + ring.in_flight - 1) * BAR // ring.nr
    return range(first, min(last, first + BAR - 1) + 1)


def _waiters(drawn: Picture) -> Rows:
    if not drawn.waiters:
        return
    yield underlined("Who waits for whom")
    for number, link in enumerate(drawn.waiters):
        lead = "waits for it: " if number else ""
        yield indented(
            Text.assemble(lead, (link.title, "bold"), f" {link.detail}"), 2 + 2 * min(number, 4)
        )


def _bound(bound: Bound) -> Rows:
    parts = [f"waited {view.duration(bound.waited)}"]
    if bound.limit is not None:
        parts.append(f"this attempt ends within {view.duration(bound.limit)}")
    if bound.total is not None:
        parts.append(f"all that are left within {view.duration(bound.total)}")
    yield underlined("How long it can last")
    yield indented(Text(", ".join(parts)))
    if bound.arithmetic:
        yield indented(Text(bound.arithmetic, "dim"))
