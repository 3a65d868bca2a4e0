"""What kind of log a log is: a look at its first lines, before it is read."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from rdmadiag.lazy import Lazy
from rdmadiag.logs.dates import Order, order_of
from rdmadiag.logs.grammar import Hints, Parsed, parse
from rdmadiag.logs.lines import has_brackets, text_of, times_escaped, unescaped, unquoted
from rdmadiag.logs.reversal import is_newest_first, is_rest, is_upside_down, lines_are_reversed
from rdmadiag.logs.structured import (
    CSV_ROW,
    NAMED_COLUMNS,
    VERBOSE,
    Columns,
    entry_time,
    parse_json,
    parse_named,
)
from rdmadiag.logs.wrapping import WRAPPED, is_frame, is_lone

if TYPE_CHECKING:
    from rdmadiag.logs.covers import Cover

MAX_LINES = 500
NAMED_LINES = 20
TERMINALS = (80, 100, 120, 132, 160)
NO_HOSTS = frozenset(
    (
        *("null", "bug", "info", "warning", "call", "code", "rip", "rsp", "modules", "cpu", "pid"),
        *("oops", "last", "message", "kernel", "stack", "workqueue", "hardware", "tainted"),
    )
)

Style = Literal["text", "json", "csv", "export", "verbose", "pretty"]
ENTRIES = ("export", "verbose", "pretty")
"""Styles of which a record takes several lines."""

_SOFT_BREAK = Lazy(rb"[^=\n]=[ \t]*\r?\n[ \t>]*\S")
_ESCAPED = Lazy(rb"=(?:[0-9A-F]{2}|[ \t]*\r?\n)")
_JOURNAL_OBJECT = Lazy(r'\{\s*"(?:__\w+|_[A-Z_]+|MESSAGE|PRIORITY|SYSLOG_\w+)"\s*:')
_SIGNS = (" {", " stdout ", " stderr ", "[pod/")
"""Of what collectors put before lines that have heads with it."""
_END_OF_TIME = slice(27, 31)
"""Where an ISO 8601 time ends that has 7 to 9 digits of a second, as only collectors write it."""
_ESCAPES = Lazy(r"\\u00[23][0-9a-fA-F]")
"""How some programs write quotes and angle brackets in JSON."""


class Layout(msgspec.Struct):
    """
    What a look at a log says about it.

    :ivar style: How records lie in lines.
    :ivar hints: For the heads of lines.
    :ivar columns: Of a CSV export.
    :ivar newest_first: Its records are in reverse order; *lines_reversed*: so are the lines of each record.
    :ivar quoted_printable: A mail's transfer encoding was left in.
    :ivar escaped: How often it was escaped for HTML.
    :ivar cover: What a collector put before each line.
    :ivar hard_width: Column at which lines were cut inside words, or 0; *cuts*: how many lines have it.
    :ivar bare_traces: It has stacks without stamps.
    :ivar double_spaced: Every other line is empty.
    :ivar headed: Most lines have a stamp.
    :ivar ambiguous: Of its dates nothing tells whether the day or the month comes first.
    :ivar running: A record's time is known only from all that came before it.
    :ivar sequential: So is where a record begins, or what is written in it.
    """

    style: Style = "text"
    hints: Hints = msgspec.field(default_factory=Hints)
    columns: Columns | None = None
    newest_first: bool = False
    lines_reversed: bool = False
    quoted_printable: bool = False
    escaped: int = 0
    cover: "Cover | None" = None
    hard_width: int = 0
    cuts: int = 0
    bare_traces: bool = False
    double_spaced: bool = False
    headed: bool = False
    ambiguous: bool = False
    running: bool = False
    sequential: bool = False


def survey(sample: bytes, tail: bytes = b"") -> Layout:
    """Return the layout of the log that begins with *sample* and ends with *tail*, as far as that is known."""
    layout = Layout(quoted_printable=is_quoted_printable(sample))
    if layout.quoted_printable:
        sample = unquoted(sample)
    layout.escaped = times_escaped(sample)
    if layout.escaped:
        layout.sequential = not has_brackets(sample)
        sample = b"\n".join(unescaped(sample, layout.escaped))
    spaced = list(islice(_texts(sample), 2 * MAX_LINES))
    texts = [t for t in spaced if t.strip()][:MAX_LINES]
    if texts:
        layout.double_spaced = _is_double_spaced(spaced)
        order = order_of(texts)
        if order == "":
            order = order_of([*texts, *_texts(tail)])
        layout.ambiguous, layout.hints.order = order == "", order or ""
        _look(layout, texts)
    return layout


def _look(layout: Layout, texts: list[str]) -> None:
    """Fill in what lines that are not empty say."""
    layout.cover = _cover(texts)
    covered = texts
    if layout.cover:
        texts = [layout.cover.parted(t)[1] for t in texts]
    layout.style = _style(texts)
    if layout.style == "csv":
        layout.columns = Columns(texts[0])
    heads = [(t, _head(t, layout)) for t in texts]
    layout.hints = _hints(texts, [h for _, h in heads if h], layout.hints.order)
    layout.ambiguous = layout.ambiguous and _need_order(texts, layout)
    layout.bare_traces = any(_is_bare_frame(a) and _is_bare_frame(b) for a, b in pairwise(heads))
    layout.hard_width = _hard_width(heads)
    layout.cuts = sum(1 for t in texts if len(t) == layout.hard_width)
    layout.sequential = layout.sequential or _is_sequential(layout, texts)
    if layout.cover:
        heads = [(t, head_of(c, layout)) for c, t in zip(covered, texts, strict=True)]
    elif layout.style in ENTRIES:
        heads = [(t, h) for t in texts if (h := entry_time(t))] or heads
    _look_at_order(layout, heads)


def _need_order(texts: list[str], layout: Layout) -> bool:
    """Tell whether it is records that have the dates of which the order is unknown: messages may cite such dates."""
    if layout.style == "pretty":
        return True
    either = replace(layout, hints=replace(layout.hints, order="day", heads={}))
    stamps = [
        [h.stamp if (h := _head(t, one)) else None for t in texts] for one in (layout, either)
    ]
    return stamps[0] != stamps[1]


def _look_at_order(layout: Layout, heads: list[tuple[str, Parsed | None]]) -> None:
    known = [h for _, h in heads if h is not None]
    layout.headed = len(known) * 3 >= len(heads) or layout.style != "text"
    layout.newest_first = (
        is_newest_first(known, begins_with_rest=is_rest(heads[0]))
        if layout.headed
        else is_upside_down([t for t, _ in heads])
    )
    if layout.newest_first and layout.style == "text":
        layout.lines_reversed = not layout.headed or lines_are_reversed(heads)
    layout.running = any(h.stamp.delta is not None or h.announces for h in known)


def _cover(texts: list[str]) -> "Cover | None":
    """Return what is put before most lines, if they do not look like an ordinary log at first sight."""
    middle = texts[len(texts) // 2]
    headed = parse(middle, Hints()) is not None
    if headed and not any(sign in middle for sign in _SIGNS) and "Z " not in middle[_END_OF_TIME]:
        return None
    from rdmadiag.logs.covers import find_cover

    return find_cover(texts, headed=headed)


def _is_sequential(layout: Layout, texts: list[str]) -> bool:
    if layout.quoted_printable or layout.style == "pretty":
        return True
    if layout.style == "csv" and layout.columns:
        return any(t != layout.columns.head and not CSV_ROW.match(t) for t in texts)
    return layout.style == "json" and any(_ESCAPES.search(t) for t in texts)


def _texts(sample: bytes) -> Iterator[str]:
    for line in sample.split(b"\n"):
        yield from text_of(line)


def is_quoted_printable(sample: bytes) -> bool:
    """
    Tell whether quoted-printable was left in.

    There an equals sign is followed by two hex digits or ends its line, and no line is longer than 76.
    """
    escaped = len(_ESCAPED.findall(sample))
    if not escaped or escaped < 0.9 * sample.count(b"="):
        return False
    if _SOFT_BREAK.search(sample):
        return True
    return escaped == sample.count(b"=") and b"=3D" in sample


def _style(texts: list[str]) -> Style:
    first = texts[0]
    if first.startswith("__CURSOR=") or any(
        t.startswith("__REALTIME_TIMESTAMP=") for t in texts[:4]
    ):
        return "export"
    if any(VERBOSE.match(t) for t in texts[:4]):
        return "verbose"
    if first.strip() in ("{", "[", "[{") and len(texts) > 1:
        return "pretty"
    if any(parse_json(t, Hints()) for t in texts[:3]) or _JOURNAL_OBJECT.match(first):
        return "json"
    some = texts[:NAMED_LINES]
    if sum(1 for t in some if "=" in t and parse_named(t, Hints())) * 2 > len(some):
        return "json"
    if any(CSV_ROW.match(t) for t in texts[:3]) and _row_like(texts):
        return "csv"
    if Columns(first).known >= NAMED_COLUMNS:
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


def head_of(text: str, layout: Layout) -> Parsed | None:
    """Return the head of the record that a line is, with what its cover says, or ``None`` when it has none."""
    if layout.cover is None:
        return _head(text, layout)
    around, rest = layout.cover.parted(text)
    parsed = _head(rest, layout)
    if around is None:
        return parsed
    if parsed is None:
        return Parsed(around.stamp, rest, around.host) if around.stamp.known else None
    return around.filled(parsed)


def _head(text: str, layout: Layout) -> Parsed | None:
    if layout.style == "json":
        return parse_named(text, layout.hints)
    if layout.style == "csv" and layout.columns:
        return layout.columns.parse(text, layout.hints)
    return parse(text, layout.hints) if layout.style == "text" else None


def _hints(texts: list[str], heads: list[Parsed], order: Order) -> Hints:
    """Find out whether tags are used, and which words are hosts where no tag follows them."""
    dated = [h for h in heads if h.stamp.wall is not None or h.stamp.date is not None]
    tagless = bool(dated) and not any(h.ident == "kernel" or "[" in h.ident for h in dated)
    if not tagless:
        return Hints({h.host for h in heads if h.host and h.ident}, order=order)
    return Hints(_hosts_without_tags(texts), tagless=True, order=order)


def _hosts_without_tags(texts: list[str]) -> set[str]:
    """Return the words that stand where hosts do often enough."""
    probe = Hints(tagless=True)
    parsed = (parse(text, probe) for text in texts)
    found = Counter(p.host for p in parsed if p and p.host and p.host not in NO_HOSTS)
    most = max(found.values(), default=0)
    return {word for word, count in found.items() if count * 10 > most}


def _is_bare_frame(line: tuple[str, Parsed | None]) -> bool:
    return line[1] is None and is_frame(line[0])


def _is_double_spaced(texts: list[str]) -> bool:
    """Tell whether every line is followed by an empty one."""
    pairs = list(zip(texts[::2], texts[1::2], strict=False))
    full = sum(1 for a, _ in pairs if a.strip())
    return full > 2 and full * 2 > len(pairs) and not any(b.strip() for _, b in pairs)


def _hard_width(heads: list[tuple[str, Parsed | None]]) -> int:
    """
    Return the width at which a terminal cut lines, also inside words, or 0.

    No line is longer then, and of those that go on in the next one none is shorter.
    """
    most = max(len(text) for text, _ in heads)
    cut = sum(1 for text, _ in heads if len(text) == most)
    if most not in TERMINALS:
        return 0
    if any(head for _, head in heads):
        short = sum(
            1
            for (text, _), (after, head) in pairwise(heads)
            if head is None and WRAPPED <= len(text) < most and not is_lone(after)
        )
    else:
        short = sum(1 for text, _ in heads if most - 8 <= len(text) < most)
    return most if short < cut else 0
