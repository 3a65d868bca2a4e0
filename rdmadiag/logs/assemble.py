"""From lines to the heads and messages of records: what was wrapped is joined, what was glued is parted."""

from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec

from rdmadiag.facts.model import Fields
from rdmadiag.logs import lines, wrapping
from rdmadiag.logs.entries import bare, lines_of, pretty, unquoted, unwrapped
from rdmadiag.logs.grammar import Parsed, parse, strip_marks
from rdmadiag.logs.layout import ENTRIES, Layout
from rdmadiag.logs.lines import Line
from rdmadiag.logs.structured import VERBOSE, parse_export, parse_named, parse_verbose

if TYPE_CHECKING:
    from rdmadiag.logs.covers import Around, Cover

MAX_ENTRY_LINES = 512
MAX_OBJECT_LINES = 64
ANNOUNCED_LINES = 3


class Unit(msgspec.Struct):
    """
    A record before it is dated.

    :ivar parsed: Its head and message.
    :ivar headed: It has a head of its own.
    :ivar said: What its message says, if another process found out: kinds and fields of facts.
    """

    line: int
    offset: int
    raw: bytes
    parsed: Parsed
    headed: bool
    said: list[tuple[str, Fields]] | None = None


class Tally(msgspec.Struct):
    """How many records there were, and how many lines that are none."""

    records: int = 0
    unparsed: int = 0


class _Open(msgspec.Struct):
    """A record that may go on in the next line."""

    first: Line
    raw: bytes
    parsed: Parsed
    headed: bool
    width: int
    around: "Around | None" = None
    lines: int = 1
    quotes: int = 0
    indented: bool = False
    quoted: bool = False


class Assembler:
    """
    Puts records together; every line is given once and in order.

    :ivar tally: What was counted; lines that were left out between are the scanner's to count.
    """

    def __init__(self, layout: Layout) -> None:
        """:param layout: From :func:`rdmadiag.logs.layout.survey`."""
        self.tally = Tally()
        self._layout = layout
        self._open: _Open | None = None
        self._soft: list[Line] = []
        self._announced: Parsed | None = None
        self._announced_lines = 0
        self._around: Around | None = None
        self._line = {
            "text": self._text_line,
            "json": self._json_line,
            "csv": self._csv_line,
            "export": self._entry_line,
            "verbose": self._entry_line,
            "pretty": self._entry_line,
        }[layout.style]

    def feed(self, line: Line) -> list[Unit]:
        """Take in the next line; return the records that are complete."""
        if line.whole:
            return self._whole_record(line)
        units: list[Unit] = []
        for piece in self._whole(line):
            if self._layout.style == "export":
                units += self._line(piece, "")
                continue
            for number, text in enumerate(lines.text_of(piece.raw)):
                if cover := self._layout.cover:
                    text = self._uncovered(cover, text)
                units += self._line(piece, text) if not number else self._stray(piece, text)
        return units

    def _uncovered(self, cover: "Cover", text: str) -> str:
        """Return a line without its cover; one that has none is the rest of what was covered before."""
        around, rest = cover.parted(text)
        self._around = around or self._around
        return rest

    def flush(self) -> list[Unit]:
        """Return what is still open."""
        units: list[Unit] = []
        if self._soft:
            last, self._soft = self._soft, []
            for piece in self._unescaped(unquoted(last)):
                units += self._line(piece, lines.text_of(piece.raw)[0])
        return units + self._close()

    def _whole_record(self, line: Line) -> list[Unit]:
        """Take in a line that is a record, and close it."""
        text = lines.text_of(line.raw)[0]
        parsed = parse(text, self._layout.hints) if self._open is None else None
        if parsed is None or parsed.announces or self._announced:
            return self._text_line(line, text) + self._close()
        parts = wrapping.parted(parsed, self._layout.hints)
        self.tally.records += len(parts)
        return [Unit(line.number, line.offset, line.raw, part, headed=True) for part in parts]

    def _whole(self, line: Line) -> list[Line]:
        """Put the soft breaks of quoted-printable together, and undo other escapes of whole texts."""
        if not self._layout.quoted_printable:
            return self._unescaped(lines.pieces(line))
        self._soft.append(line)
        if lines.ends_softly(line.raw) and len(self._soft) < MAX_ENTRY_LINES:
            return []
        soft, self._soft = self._soft, []
        return self._unescaped(unquoted(soft))

    def _unescaped(self, pieces: list[Line]) -> list[Line]:
        times = self._layout.escaped
        if not times:
            return pieces
        return [Line(p.number, p.offset, x) for p in pieces for x in lines.unescaped(p.raw, times)]

    def _stray(self, line: Line, text: str) -> list[Unit]:
        """Take in what follows a carriage return inside a line."""
        if self._open is None or parse(text, self._layout.hints):
            return self._line(line, text)
        self._open.parsed.message += text
        return []

    def _text_line(self, line: Line, text: str) -> list[Unit]:
        parsed, opened = parse(text, self._layout.hints), self._open
        if parsed and not (opened and wrapping.is_dangling(opened.parsed.message)):
            if opened and wrapping.lost_host(opened.parsed, parsed):
                opened.parsed.message += parsed.message
                self._append(opened, line)
                return []
            return self._begin(line, text, parsed, headed=True)
        if opened and self._goes_on(opened, text):
            self._join(opened, line, text)
            return []
        if self._layout.double_spaced and not text.strip():
            return []
        after_head = opened is not None and (opened.headed or opened.indented)
        units = self._close()
        if text.strip():
            units += self._begin(line, text, bare(text), headed=False)
            if self._open:
                self._open.indented = after_head and text[0] in " \t"
            return units
        self._announced = None
        return units

    def _begin(self, line: Line, text: str, parsed: Parsed, *, headed: bool) -> list[Unit]:
        units = self._close()
        if parsed.announces:
            self._announced, self._announced_lines = parsed, ANNOUNCED_LINES
            self.tally.records += 1
            return units
        if self._announced and not parsed.stamp.known:
            parsed.stamp, parsed.host = self._announced.stamp, self._announced.host
            self._announced_lines -= 1
            if not self._announced_lines:
                self._announced = None
        quoted = text.lstrip().startswith(">")
        self._open = _Open(line, line.raw, parsed, headed, len(text), self._around, quoted=quoted)
        return units

    def _goes_on(self, opened: _Open, text: str) -> bool:
        if self._is_cut(opened, text) and opened.lines < MAX_ENTRY_LINES:
            return wrapping.is_cut(opened.parsed.message, text)
        return wrapping.goes_on(
            opened.parsed.message,
            opened.width,
            text,
            headed=opened.headed,
            bare_traces=self._layout.bare_traces,
        )

    def _is_cut(self, opened: _Open, text: str) -> bool:
        """Tell whether a terminal cut the line; where only one line has that width, mails break at words, too."""
        layout = self._layout
        if opened.width != layout.hard_width:
            return False
        return layout.cuts > 1 or not wrapping.are_words(opened.parsed.message, text)

    def _join(self, opened: _Open, line: Line, text: str) -> None:
        cut = self._is_cut(opened, text)
        rest = strip_marks(text) if opened.quoted else text
        opened.parsed.message = wrapping.joined(opened.parsed.message, rest, cut=cut)
        opened.width = len(text)
        self._append(opened, line)

    def _append(self, opened: _Open, line: Line) -> None:
        opened.lines += 1
        if len(opened.raw) < lines.LINE:
            opened.raw += b"\n" + line.raw

    def _close(self) -> list[Unit]:
        opened, self._open = self._open, None
        if opened is None:
            return []
        if self._layout.style == "csv" or self._layout.style in ENTRIES:
            return self._close_entry(opened)
        self._count(opened)
        first, hints = opened.first, self._layout.hints
        if not opened.headed:
            opened.parsed.message = opened.parsed.message.rstrip()
        whole = opened.around.filled(opened.parsed) if opened.around else opened.parsed
        parts = [p for text in lines_of(whole, hints) for p in wrapping.parted(text, hints)]
        self.tally.records += len(parts) - 1
        return [
            Unit(first.number, first.offset, opened.raw, part, opened.headed or number > 0)
            for number, part in enumerate(parts)
        ]

    def _count(self, opened: _Open) -> None:
        message = opened.parsed.message
        if opened.headed or wrapping.looks_like_kernel(message):
            self.tally.records += 1
        elif not (wrapping.is_elision(message) or opened.indented):
            self.tally.unparsed += opened.lines

    def _json_line(self, line: Line, text: str) -> list[Unit]:
        """Read an object; one that was wrapped goes on until it is whole."""
        opened = self._open
        whole = text
        if opened and opened.parsed.message.startswith("{") and not text.startswith("{"):
            cut = opened.width == self._layout.hard_width
            whole = wrapping.joined(opened.parsed.message, text, cut=cut)
            self._append(opened, line)
            opened.width, opened.parsed.message = len(text), whole
        parsed = parse_named(whole, self._layout.hints)
        if whole is text:
            units = self._close()
            if not text.startswith("{") and not parsed:
                return units + self._text_line(line, text)
            if text.strip():
                units += self._begin(line, text, parsed or bare(text), headed=bool(parsed))
        else:
            units = []
        if parsed and self._open:
            self._open.parsed, self._open.headed = parsed, True
            units += self._close()
        elif self._open and self._open.lines > MAX_OBJECT_LINES:
            units += self._close()
        return units

    def _csv_line(self, line: Line, text: str) -> list[Unit]:
        """Read a row; a quoted cell may hold line ends."""
        opened = self._open
        if opened and opened.quotes % 2:
            opened.parsed.message += "\n" + text
            opened.quotes += text.count('"')
            self._append(opened, line)
            return [] if opened.lines < MAX_ENTRY_LINES else self._close()
        units = self._close()
        if text.strip():
            self._open = _Open(line, line.raw, bare(text), False, len(text), quotes=text.count('"'))
        return units

    def _entry_line(self, line: Line, text: str) -> list[Unit]:
        """Read a line of an entry that takes several lines."""
        export = self._layout.style == "export"
        begins = self._begins_entry(line.raw, text)
        opened = self._open
        if opened and not begins and opened.lines < MAX_ENTRY_LINES:
            if export and not line.raw:
                return self._close()
            self._append(opened, line)
            return []
        units = self._close()
        if line.raw.strip():
            self._open = _Open(line, line.raw, bare(text), False, 0)
        return units

    def _begins_entry(self, raw: bytes, text: str) -> bool:
        if self._layout.style == "export":
            return raw.startswith(b"__CURSOR=")
        if self._layout.style == "verbose":
            return not raw.startswith(b" ") and bool(VERBOSE.match(text))
        return text.rstrip().endswith("{")

    def _close_entry(self, opened: _Open) -> list[Unit]:
        parsed = self._entry(opened)
        if parsed is None:
            return []
        parts = lines_of(parsed, self._layout.hints)
        self.tally.records += len(parts)
        return [
            Unit(line.number, line.offset, line.raw, part, headed=True)
            for line, part in zip(self._places(opened, len(parts)), parts, strict=True)
        ]

    def _places(self, opened: _Open, count: int) -> list[Line]:
        """Return the lines that *count* records of an entry are on: in a row of an export each may have its own."""
        first, raws = opened.first, opened.raw.split(b"\n")
        if self._layout.style != "csv" or len(raws) != count:
            return [Line(first.number, first.offset, opened.raw)] * count
        offsets = accumulate((len(raw) + 1 for raw in raws), initial=first.offset)
        return [
            Line(first.number + n, offset, raw)
            for n, (offset, raw) in enumerate(zip(offsets, raws, strict=False))
        ]

    def _entry(self, opened: _Open) -> Parsed | None:
        layout = self._layout
        if layout.style == "export":
            return parse_export(opened.raw, layout.hints)
        if layout.style == "verbose":
            return parse_verbose(opened.raw, layout.hints)
        if layout.style == "pretty":
            return pretty(opened.raw, layout)
        text = opened.parsed.message
        parsed = (
            layout.columns.parse(unwrapped(text, layout), layout.hints) if layout.columns else None
        )
        if parsed is None and (layout.columns is None or text.rstrip("\r") != layout.columns.head):
            self.tally.unparsed += 1
        return parsed
