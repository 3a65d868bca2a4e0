"""What kind of log a log is: a look at its first lines, before it is read."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from rdmadiag.logs.grammar import Hints, Parsed, parse, strip_lead
from rdmadiag.logs.structured import Columns, parse_json

MAX_LINES = 500
NO_HOSTS = frozenset(
    (
        *("null", "bug", "info", "warning", "call", "code", "rip", "rsp", "modules", "cpu", "pid"),
        *("oops", "last", "message", "kernel", "stack", "workqueue", "hardware", "tainted"),
    )
)

Style = Literal["text", "json", "csv", "export", "pretty"]

_SOFT_BREAK = re.compile(rb"[^=\n]=[ \t]*\r?\n[ \t>]*\S")
_ESCAPED = re.compile(rb"=(?:[0-9A-F]{2}|[ \t]*\r?\n)")
_CSV_ROW = re.compile(r'"?\d{4}-\d\d-\d\d[T ][^,;\t]*[,;\t]|"?\d{10}(?:\.\d+)?"?[,;\t]')
_TRACE_HEAD = re.compile(r"Call [Tt]race:|blocked for more than|\bcut here\b")
_TRACE_FRAME = re.compile(r"\+0x[0-9a-f]+/0x[0-9a-f]+")


@dataclass(slots=True)
class Layout:
    """
    What a look at a log says about it.

    :ivar style: How records lie in lines.
    :ivar hints: For the heads of lines.
    :ivar columns: Of a CSV export.
    :ivar newest_first: Its records are in reverse order.
    :ivar quoted_printable: A mail's transfer encoding was left in.
    :ivar hard_width: Column at which lines were cut inside words, or 0.
    :ivar headed: Most lines have a stamp.
    :ivar running: A record's time is known only from all that came before it.
    """

    style: Style = "text"
    hints: Hints = field(default_factory=Hints)
    columns: Columns | None = None
    newest_first: bool = False
    quoted_printable: bool = False
    hard_width: int = 0
    headed: bool = False
    running: bool = False


def survey(sample: bytes) -> Layout:
    """Return the layout of the log that begins with *sample*."""
    layout = Layout(quoted_printable=is_quoted_printable(sample))
    texts = [t for t in _texts(sample) if t.strip()][:MAX_LINES]
    if not texts:
        return layout
    layout.style = _style(texts)
    if layout.style == "csv":
        layout.columns = Columns(texts[0])
    heads = [(t, _head(t, layout)) for t in texts]
    layout.hints = _hints(texts, [h for _, h in heads if h])
    known = [h for _, h in heads if h is not None]
    layout.headed = len(known) * 2 >= len(texts) or layout.style != "text"
    layout.newest_first = is_newest_first(known)
    layout.running = any(h.stamp.delta is not None or h.announces for h in known)
    layout.hard_width = _hard_width(heads)
    return layout


def _texts(sample: bytes) -> Iterator[str]:
    for line in sample.split(b"\n"):
        yield line.decode("utf-8", "backslashreplace").strip("\r\0").removeprefix("\ufeff")


def is_quoted_printable(sample: bytes) -> bool:
    """
    Tell whether quoted-printable was left in.

    There an equals sign is followed by two hex digits or ends its line, and no line is longer than 76.
    """
    escaped = len(_ESCAPED.findall(sample))
    if not escaped or escaped < 0.9 * sample.count(b"="):
        return False
    return bool(_SOFT_BREAK.search(sample)) or sample.count(b"=3D") + sample.count(b"=20") > 1


def _style(texts: list[str]) -> Style:
    first = texts[0]
    if first.startswith("__CURSOR=") or any(
        t.startswith("__REALTIME_TIMESTAMP=") for t in texts[:4]
    ):
        return "export"
    if first.strip() in ("{", "[", "[{") and len(texts) > 1:
        return "pretty"
    if any(parse_json(t, Hints()) for t in texts[:3]):
        return "json"
    if any(_CSV_ROW.match(t) for t in texts[:3]) and _row_like(texts):
        return "csv"
    return "text"


def _row_like(texts: list[str]) -> bool:
    """Tell whether the rows of what may be a CSV export have records in them."""
    columns = Columns(texts[0])
    if columns.names:
        return True
    return any(t.startswith('"') or t.count('"') >= 2 for t in texts[:3]) and bool(
        columns.parse(texts[1] if len(texts) > 1 else texts[0], Hints())
    )


def _head(text: str, layout: Layout) -> Parsed | None:
    if layout.style == "json":
        return parse_json(text, layout.hints)
    if layout.style == "csv" and layout.columns:
        return layout.columns.parse(text, layout.hints)
    return parse(text, layout.hints) if layout.style == "text" else None


def _hints(texts: list[str], heads: list[Parsed]) -> Hints:
    """Find out whether tags are used, and which words are hosts where no tag follows them."""
    dated = [h for h in heads if h.stamp.wall is not None or h.stamp.date is not None]
    tagless = bool(dated) and not any(h.ident == "kernel" or "[" in h.ident for h in dated)
    if not tagless:
        return Hints(hosts={h.host for h in heads if h.host and h.ident})
    return Hints(hosts=_hosts_without_tags(texts), tagless=True)


def _hosts_without_tags(texts: list[str]) -> set[str]:
    """Return the words that stand where hosts do often enough."""
    probe = Hints(tagless=True)
    parsed = (parse(text, probe) for text in texts)
    found = Counter(p.host for p in parsed if p and p.host and p.host not in NO_HOSTS)
    most = max(found.values(), default=0)
    return {word for word, count in found.items() if count * 10 > most}


def is_newest_first(heads: Iterable[Parsed]) -> bool:
    """
    Tell whether the records are in reverse order.

    One step back may be another host, another boot or a new year; what counts is that hardly any step goes
    forward. Where all stamps are the same, a stack that is upside down tells.
    """
    up = down = 0
    last: dict[str, tuple[float, ...]] = {}
    for head in heads:
        key = _key(head)
        if key is None:
            continue
        before = last.get(head.host)
        last[head.host] = key
        if before and len(before) == len(key) and before != key:
            up, down = up + (key > before), down + (key < before)
    if down >= 2 and down > 4 * up:
        return True
    return up == 0 and _upside_down([h.message for h in heads])


def _key(head: Parsed) -> tuple[float, ...] | None:
    stamp = head.stamp
    if stamp.wall is not None:
        return (stamp.wall,)
    if stamp.date is not None:
        return stamp.date
    return (0.0, stamp.uptime) if stamp.uptime is not None else None


def _upside_down(messages: list[str]) -> bool:
    heads = [n for n, m in enumerate(messages) if _TRACE_HEAD.search(m)]
    frames = [n for n, m in enumerate(messages) if _TRACE_FRAME.search(m)]
    return bool(heads and frames) and max(frames) < min(heads)


def _hard_width(heads: list[tuple[str, Parsed | None]]) -> int:
    """
    Return the one width of all lines that go on in the next one: there the lines were cut inside words.

    One line alone may have it by chance.
    """
    widths = [
        len(text)
        for (text, _), (after, head) in pairwise(heads)
        if head is None and len(text) >= 60 and strip_lead(after)
    ]
    return widths[0] if len(widths) > 1 and {*widths} in ({80}, {132}, {160}) else 0
