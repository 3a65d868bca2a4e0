"""
The search in a block, and the count of its lines in passing.

Beside the literals it looks for line ends that are not followed by what most lines of the log begin with. In
an ordinary log there are hardly any, so that all other line ends can be counted by what follows them; lines
that are no records are found on the way.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from rdmadiag.logs.blocks import Block
from rdmadiag.logs.prefilter import Hit, PlainSearch, Search

MAX_ODD = 8
"""One odd line in so many is too many."""

BLOCKS_WITHOUT = 32
"""Blocks after which it is tried again."""

_ANCHOR = re.compile(
    rb"[A-Z][a-z]{2} (?=[ \d]\d )|\d{4}(?=-\d\d-\d\dT)|\[(?=[ \d])|\{\"|\"\d{3}|<\d(?=\d?\d?>)"
)


def anchor_of(line: bytes) -> bytes:
    """
    Return what the lines of the same kind as *line* begin with, or nothing.

    It is short as Python counts strings of up to five bytes much faster than longer ones.
    """
    match = _ANCHOR.match(line)
    return match[0] if match else b""


@lru_cache(32)
def odd_literals(anchor: bytes) -> tuple[bytes, ...]:
    """
    Return strings of which each line end that *anchor* does not follow begins just one.

    NUL is not among the bytes after the line end: hyperscan's binding ends a literal there.
    """
    return tuple(
        b"\n" + anchor[:length] + bytes([byte])
        for length in range(len(anchor))
        for byte in range(1, 256)
        if byte != anchor[length]
    )


class Finder:
    """Finds literals, and counts lines."""

    def __init__(self, search: Callable[[bytes], Search], literals: int) -> None:
        """
        :param search: Makes the search for the literals, and for the odd line ends of an anchor.
        :param literals: How many literals there are.
        """
        self._make = search
        self._literals = literals
        self._anchor = b""
        self._without = 0

    def find(self, block: Block) -> tuple[list[Hit], list[int] | None]:
        """
        Return where literals end in the buffer, and which; and where the odd line ends are.

        :returns: ``None`` for the line ends when they were counted otherwise.
        """
        anchor = self._next_anchor(block)
        search = self._make(anchor)
        hits = [(block.start + end, n) for end, n in search.find(block.view)]
        if not anchor or not search.exact or not _can_count(block, anchor):
            block.count()
            return [h for h in hits if h[1] < self._literals], None
        found = [h for h in hits if h[1] < self._literals]
        odd: list[int] = []
        if len(found) < len(hits):
            lengths = [len(x) for x in odd_literals(anchor)]
            odd = [end - lengths[n - self._literals] for end, n in hits if n >= self._literals]
        block.count_alike(b"\n" + anchor, odd)
        if len(odd) * MAX_ODD > block.lines:
            self._without = BLOCKS_WITHOUT
        return found, odd

    def _next_anchor(self, block: Block) -> bytes:
        """Return what most lines of the block begin with, by its last whole line: the month changes."""
        if self._without:
            self._without -= 1
            return b""
        last = block.data.rfind(b"\n", block.start, max(block.start, block.end - 1)) + 1
        begin = max(last, block.start)
        anchor = anchor_of(bytes(block.data[begin : begin + 64]))
        self._anchor = anchor or self._anchor
        return self._anchor


def _can_count(block: Block, anchor: bytes) -> bool:
    """Tell whether each line end but the last begins the anchor or an odd literal."""
    if block.data.find(b"\0", block.start, block.end) >= 0:
        return False
    last = block.data.rfind(b"\n", block.start, block.end)
    return not block.unterminated or block.end - last > len(anchor)


NO_FINDER = Finder(lambda _: PlainSearch(()), 0)
"""For where all lines are read."""
