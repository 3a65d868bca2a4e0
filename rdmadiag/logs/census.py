"""Counting the lines that are never looked at: how many are records, and how many are nothing known."""

from collections.abc import Iterable, Iterator

import msgspec

from rdmadiag.lazy import Lazy
from rdmadiag.logs import wrapping
from rdmadiag.logs.assemble import Tally
from rdmadiag.logs.blocks import Block
from rdmadiag.logs.grammar import parse
from rdmadiag.logs.layout import Layout
from rdmadiag.logs.structured import CSV_ROW, VERBOSE

KEY = 7
MAX_KEYS = 8192
MAX_WRAPPED = 20_000

_TEXT = bytes(c for c in range(256) if c >= 0x20 and c != 0x7F) + b"\0\t\n\r\x1b"
_CSV_ROW = Lazy(CSV_ROW.pattern.encode())
_VERBOSE = Lazy(VERBOSE.pattern.encode())


class Census(msgspec.Struct):
    """
    Tells heads of records from other lines, and counts both.

    :ivar tally: What was counted.
    """

    layout: Layout
    tally: Tally = msgspec.field(default_factory=Tally)
    _keys: dict[bytes, bool] = {}
    _before: bytes = b""
    _headed: bool = False

    def is_head(self, line: bytes) -> bool:
        """Tell whether a record begins with *line*; lines that begin alike are of one kind."""
        style = self.layout.style
        if style == "text":
            return self._is_text_head(self._bare(line))
        if style == "export":
            return line.startswith(b"__CURSOR=")
        if style == "verbose":
            return bool(_VERBOSE.match(line))
        if style == "pretty":
            return line.rstrip().endswith(b"{")
        return style == "json" or bool(_CSV_ROW.match(line))

    def _bare(self, line: bytes) -> bytes:
        return self.layout.cover.bare(line) if self.layout.cover else line

    def _is_text_head(self, line: bytes) -> bool:
        key = line[:KEY]
        known = self._keys.get(key)
        if known is None:
            if is_garbage(line):
                return False
            text = line[:400].decode("utf-8", "backslashreplace")
            known = parse(text, self.layout.hints) is not None
            if len(self._keys) < MAX_KEYS and key.strip():
                self._keys[key] = known
        return known

    def count(self, block: Block, odd: list[int] | None) -> list[int]:
        """
        Count the lines of a block, whose line ends were counted.

        :param odd: Where line ends are that are not followed by what most lines begin with, when that is known.
        :returns: Where the lines are that look like the rest of a record before them: what the search looks
            for may be cut there.
        """
        style = self.layout.style
        if style == "json":
            self.tally.records += block.lines + block.unterminated
        elif style != "text":
            self.tally.records += sum(1 for _, line in _lines(block) if self.is_head(line))
        elif odd is None or self.layout.cover:
            return self._see(_lines(block))
        else:
            return self._odd(block, odd)
        return []

    def _odd(self, block: Block, odd: list[int]) -> list[int]:
        """Look only at the lines that do not begin as most do."""
        starts = [p + 1 for p in odd]
        if block.start < block.end and not self.is_head(_line(block, block.start)):
            starts.insert(0, block.start)
        wrapped: list[int] = []
        end = block.start
        for start in starts:
            if start > end:
                before = block.data.rfind(b"\n", block.start, start - 1) + 1
                self._before = _line(block, max(before, block.start))
                self._headed = True
            line = _line(block, start)
            wrapped += self._see([(start, line)])
            end = start + len(line) + 1
        if end < block.end:
            last = block.data.rfind(b"\n", block.start, block.end - 1) + 1
            self._before, self._headed = _line(block, max(last, block.start)), True
        self.tally.records += block.lines + block.unterminated - len(starts)
        return wrapped

    def _see(self, lines: Iterable[tuple[int, bytes]]) -> list[int]:
        wrapped: list[int] = []
        before, headed = self._before, self._headed
        for position, raw in lines:
            line = self._bare(raw)
            if self._is_text_head(line):
                self.tally.records += 1
                before, headed = line, True
            elif line.strip(b" \t\r\0"):
                if not self._is_rest(before, line, headed=headed):
                    before, headed = line, headed and line[:1] in b" \t"
                else:
                    before = line
                    wrapped += [position] if len(wrapped) < MAX_WRAPPED else []
            else:
                before, headed = b"", False
        self._before, self._headed = before, headed
        return wrapped

    def _is_rest(self, before: bytes, line: bytes, *, headed: bool) -> bool:
        """Tell whether *line* goes on with the record *before*; else count it as what it is."""
        if is_garbage(line):
            self.tally.unparsed += 1
            return False
        text = line[:400].decode("utf-8", "backslashreplace")
        last = before[-400:].decode("utf-8", "backslashreplace")
        width, bare = len(before.rstrip(b"\r")), self.layout.bare_traces
        if before and wrapping.goes_on(last, width, text, headed=headed, bare_traces=bare):
            return True
        if wrapping.looks_like_kernel(text):
            self.tally.records += 1
        elif not wrapping.is_elision(text) and not (headed and text[:1] in " \t"):
            self.tally.unparsed += 1
        return False


def is_garbage(line: bytes) -> bool:
    """
    Tell whether a line is no text, but for what a search may find in it.

    Text has no control bytes to speak of, in whatever encoding; what else there is has one in nine.
    """
    return len(line[:400].translate(None, _TEXT)) * 16 > len(line[:400])


def _line(block: Block, start: int) -> bytes:
    end = block.data.find(b"\n", start, block.end)
    return bytes(block.data[start : block.end if end < 0 else end])


def _lines(block: Block) -> Iterator[tuple[int, bytes]]:
    position = block.start
    for line in bytes(block.data[block.start : block.end]).removesuffix(b"\n").split(b"\n"):
        yield position, line
        position += len(line) + 1
