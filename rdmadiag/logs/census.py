"""Counting the lines that are never looked at: how many are records, and how many are nothing known."""

import re
from dataclasses import dataclass, field

from rdmadiag.logs import wrapping
from rdmadiag.logs.assemble import Tally
from rdmadiag.logs.blocks import Block
from rdmadiag.logs.grammar import parse
from rdmadiag.logs.layout import Layout

KEY = 7
MAX_KEYS = 8192
MAX_WRAPPED = 20_000

_ANCHOR = re.compile(
    rb"[A-Z][a-z]{2} (?=[ \d]\d )|\d{4}(?=-\d\d-\d\dT)|\[(?=[ \d])|\{\"|\"\d{3}|<\d(?=\d?\d?>)|__CU(?=RSOR=)"
)
_CSV_ROW = re.compile(rb"\"?\d{4}-\d\d-\d\d[T ]|\"?\d{10}")


def anchor_of(line: bytes) -> bytes:
    """
    Return what the lines of the same kind as *line* begin with, or nothing.

    It is short as Python counts strings of up to five bytes much faster than longer ones.
    """
    match = _ANCHOR.match(line)
    return match[0] if match else b""


@dataclass(slots=True)
class Census:
    """
    Tells heads of records from other lines, and counts both.

    :ivar tally: What was counted.
    """

    layout: Layout
    tally: Tally = field(default_factory=Tally)
    _keys: dict[bytes, bool] = field(default_factory=dict)
    _before: bytes = b""
    _headed: bool = False

    def is_head(self, line: bytes) -> bool:
        """Tell whether a record begins with *line*; lines that begin alike are of one kind."""
        style = self.layout.style
        if style == "text":
            return self._is_text_head(line)
        if style == "export":
            return line.startswith(b"__CURSOR=")
        return style == "json" or bool(_CSV_ROW.match(line))

    def _is_text_head(self, line: bytes) -> bool:
        key = line[:KEY]
        known = self._keys.get(key)
        if known is None:
            text = line[:400].decode("utf-8", "backslashreplace")
            known = parse(text, self.layout.hints) is not None
            if len(self._keys) < MAX_KEYS and key.strip():
                self._keys[key] = known
        return known

    def count(self, block: Block) -> list[int]:
        """
        Count the lines of a block.

        Most blocks have nothing but lines that begin alike, which their reader has counted.

        :returns: Where the lines are that look like the rest of a record before them: what the search looks
            for may be cut there.
        """
        lines = block.lines + (block.end > block.start and block.data[block.end - 1] != 0x0A)
        if self.layout.style in ("json", "export", "csv"):
            self.tally.records += lines if self.layout.style == "json" else block.alike
            return []
        if lines == block.alike:
            self.tally.records += lines
            self._before, self._headed = _last_line(block), True
            return []
        return self._each(block)

    def _each(self, block: Block) -> list[int]:
        wrapped: list[int] = []
        position, before, headed = block.start, self._before, self._headed
        for line in bytes(block.data[block.start : block.end]).removesuffix(b"\n").split(b"\n"):
            if self._is_text_head(line):
                self.tally.records += 1
                before, headed = line, True
            elif line.strip(b" \t\r\0"):
                if not self._is_rest(before, line, headed=headed):
                    before, headed = line, headed and line[:1] in b" \t"
                elif len(wrapped) < MAX_WRAPPED:
                    wrapped.append(position)
                    before = line
            else:
                before, headed = b"", False
            position += len(line) + 1
        self._before, self._headed = before, headed
        return wrapped

    def _is_rest(self, before: bytes, line: bytes, *, headed: bool) -> bool:
        """Tell whether *line* goes on with the record *before*; else count it as what it is."""
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


def _last_line(block: Block) -> bytes:
    end = block.end - 1
    return bytes(block.data[block.data.rfind(b"\n", block.start, max(block.start, end)) + 1 : end])
