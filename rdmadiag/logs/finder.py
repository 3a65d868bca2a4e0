"""
The search in a block, and the count of its lines in passing.

Beside the literals it looks for line ends that are not followed by what most lines of the log begin with. In
an ordinary log there are hardly any, so that all other line ends can be counted by what follows them; lines
that are no records are found on the way.
"""

import re
from collections.abc import Callable

import msgspec

from rdmadiag.logs.blocks import Block
from rdmadiag.logs.prefilter import Hit, PlainSearch, Search, hexed

ODD_BYTES = 1024
"""One odd line in so many bytes is too many."""

MAX_WITHOUT = 32
"""Blocks after which it is tried again, at most."""

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


def odd_pattern(anchor: bytes) -> bytes:
    """
    Return the pattern of a line end that *anchor* does not follow, and of what follows it so far.

    It matches up to the first byte that is another one, so that a line end matches once.
    """
    others = (
        hexed(anchor[:n]) + b"[^" + hexed(anchor[n : n + 1]) + b"]" for n in range(len(anchor))
    )
    return b"\\n(?:" + b"|".join(others) + b")" if anchor else b""


class Found(msgspec.Struct):
    """
    What was found in a block.

    :ivar hits: Where literals end in the buffer, and which.
    :ivar odd: Where line ends are that *anchor* does not follow; ``None``: that was not looked for.
    """

    hits: list[Hit]
    odd: list[int] | None = None
    anchor: bytes = b""

    def count(self, block: Block) -> None:
        """Count the line ends of the block."""
        if self.odd is None:
            block.count()
        else:
            block.count_alike(b"\n" + self.anchor, self.odd)


class Finder:
    """Finds literals, and what lines can be counted by."""

    def __init__(self, search: Callable[[bytes], Search], literals: int) -> None:
        """
        :param search: Makes the search for the literals, and for the odd line ends of an anchor.
        :param literals: How many literals there are; the number after theirs is that of the odd line ends.
        """
        self._make = search
        self._literals = literals
        self._anchor = b""
        self._without = self._failures = 0

    def find(self, block: Block) -> Found:
        """Return what there is in a block; the next one must be asked for after it."""
        anchor = self._next_anchor(block)
        search = self._make(anchor)
        hits = [(block.start + end, n) for end, n in search.find(block.view)]
        found = [h for h in hits if h[1] < self._literals]
        if not anchor or not search.exact or not _can_count(block, anchor):
            return Found(found)
        odd: list[int] = []
        if len(found) < len(hits):
            # the byte that is another one may be a line end itself
            odd = [block.data.rfind(b"\n", 0, end - 1) for end, n in hits if n == self._literals]
        self._note(len(odd) * ODD_BYTES > block.end - block.start)
        return Found(found, odd, anchor)

    def _note(self, failed: bool) -> None:
        """Leave the anchor alone the longer, the more blocks one after another it did not suit: the first may be a new month's."""
        self._failures = self._failures + 1 if failed else 0
        self._without = min((1 << self._failures) - 2, MAX_WITHOUT) if failed else 0

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
    """Tell whether each line end but the last begins the anchor or is an odd one."""
    last = block.data.rfind(b"\n", block.start, block.end)
    return not block.unterminated or block.end - last > len(anchor)


NO_FINDER = Finder(lambda _: PlainSearch(()), 0)
"""For where all lines are read."""
