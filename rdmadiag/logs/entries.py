"""Records that take several lines: what their lines are as one."""

from itertools import pairwise

import msgspec

from rdmadiag.logs import lines, wrapping
from rdmadiag.logs.grammar import Parsed, strip_lead
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


def one_line(text: str, layout: Layout) -> str:
    """Undo line ends inside a row: an export that was cut at some width, not a message of several lines."""
    parts = text.split("\n")
    whole = parts[0].rstrip("\r")
    for before, part in pairwise(parts):
        cut = len(before) == layout.hard_width
        whole = wrapping.joined(whole, part.rstrip("\r"), cut=cut)
    return whole


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
