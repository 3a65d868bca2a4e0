"""Records that take several lines: what their lines are as one."""

from itertools import pairwise

import msgspec

from rdmadiag.logs import lines, wrapping
from rdmadiag.logs.grammar import Hints, Parsed, filled, parse, strip_lead
from rdmadiag.logs.layout import Layout
from rdmadiag.logs.lines import Line
from rdmadiag.logs.stamps import Stamp
from rdmadiag.logs.structured import parse_object


def bare(text: str) -> Parsed:
    """Return a line without a head as a record."""
    return Parsed(Stamp(), strip_lead(text))


def unquoted(soft: list[Line]) -> list[Line]:
    """Undo quoted-printable; quote marks that the lines got since are not in the text that was broken."""
    first = soft[0]
    marks = lines.lead_of(first.raw)
    raw = b"\n".join([first.raw, *(x.raw.removeprefix(marks) for x in soft[1:])])
    return [Line(first.number, first.offset, part) for part in lines.unquoted(raw).split(b"\n")]


def unwrapped(text: str, layout: Layout) -> str:
    """Undo line ends inside a row where an export was cut at some width; those of a message of several lines stay."""
    parts = [part.rstrip("\r") for part in text.split("\n")]
    whole = [parts[0]]
    for before, part in pairwise(parts):
        cut = len(before) == layout.hard_width
        if cut or _goes_on(whole[-1], len(before), part, layout):
            whole[-1] = wrapping.joined(whole[-1], part, cut=cut)
        else:
            whole.append(part)
    return "\n".join(whole)


def _goes_on(before: str, width: int, part: str, layout: Layout) -> bool:
    part = part.replace('""', '"')
    if wrapping.begins(part) or parse(part, layout.hints):
        return False
    return wrapping.goes_on(before, width, part, headed=True, bare_traces=layout.bare_traces)


def lines_of(outer: Parsed, hints: Hints) -> list[Parsed]:
    """Return the lines of a message as records: what one is followed by may be a stack, or have a head of its own."""
    if "\n" not in outer.message:
        return [outer]
    texts = [text for text in outer.message.split("\n") if text.strip()]
    outer.message = texts[0] if texts else ""
    rest = (parse(text, hints) or bare(text) for text in texts[1:])
    return [outer, *(filled(inner, outer) for inner in rest)]


def pretty(raw: bytes, layout: Layout) -> Parsed | None:
    """Read an object that is spread over lines, in whatever list it stands."""
    body = raw[raw.find(b"{") :]
    end = next(
        (n for n, x in enumerate(body.split(b"\n")) if n and x.strip().startswith(b"}")), None
    )
    try:
        data = msgspec.json.decode(b"\n".join(body.split(b"\n")[:end]) + b"}")
    except (msgspec.DecodeError, RecursionError):
        return None
    return parse_object(data, layout.hints) if isinstance(data, dict) else None
