"""
Finding the lines that may say something: a search for a few thousand strings at once.

Hyperscan does it at about the speed of reading. Where it cannot be imported, ``re`` finds the same lines at
a small part of that speed.
"""

import re
from collections.abc import Sequence
from typing import Any, Protocol

Hit = tuple[int, int]
"""End of a literal in the buffer, and its number."""


class Search(Protocol):
    """
    Finds literals in a buffer.

    :ivar exact: It finds every literal, and not only one of each line.
    """

    exact: bool

    def find(self, view: memoryview) -> list[Hit]:
        """Return where literals end, and which; of every line that holds one at least one of them."""
        ...


def hexed(literal: bytes) -> bytes:
    """Return the pattern of a literal: hyperscan's binding takes NUL for the end of it."""
    return b"".join(b"\\x%02x" % byte for byte in literal)


class HyperscanSearch:
    """All literals in one pass, in vector instructions."""

    exact = True

    def __init__(self, literals: Sequence[bytes], odd: bytes = b"") -> None:
        """
        Compile the literals.

        :param odd: A pattern that is looked for, too; its number comes after the others.

        :raises ImportError: If hyperscan cannot be used here.
        :raises MemoryError: If there is not enough for it.
        """
        import hyperscan

        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        patterns = [*map(hexed, literals), *([odd] if odd else [])]
        try:
            self._database.compile(
                expressions=patterns,
                ids=list(range(len(patterns))),
                elements=len(patterns),
                flags=0,
            )
        except hyperscan.error as error:
            if "memory" not in str(error):
                raise
            raise MemoryError from error

    def find(self, view: memoryview) -> list[Hit]:
        """Return where literals end, and which."""
        hits: list[Hit] = []
        append = hits.append

        def found(number: int, _start: int, end: int, _flags: int, _context: Any) -> None:
            append((end, number))

        if len(view):
            # Any buffer will do; its stub only knows bytes.
            self._database.scan(view, match_event_handler=found)  # type: ignore[type-var]
        return hits


class PlainSearch:
    """
    The same with ``re``.

    An alternation finds only the leftmost literal of those that overlap, so each line that holds one is
    looked at again for all of them.
    """

    exact = False

    def __init__(self, literals: Sequence[bytes]) -> None:
        """Compile the literals, longest first so that no shorter one hides them."""
        ordered = sorted(set(literals), key=len, reverse=True)
        self._literals = literals
        self._pattern = re.compile(b"|".join(re.escape(x) for x in ordered)) if ordered else None

    def find(self, view: memoryview) -> list[Hit]:
        """Return where literals end, and which."""
        if self._pattern is None:
            return []
        data = bytes(view)
        hits: list[Hit] = []
        position = 0
        while match := self._pattern.search(data, position):
            start = data.rfind(b"\n", 0, match.start()) + 1
            end = data.find(b"\n", match.end())
            position = len(data) if end < 0 else end
            line = data[start:position]
            hits += sorted(
                (start + line.index(x) + len(x), n)
                for n, x in enumerate(self._literals)
                if x in line
            )
        return hits


def make_search(literals: Sequence[bytes], odd: bytes = b"", *, hyperscan: bool = True) -> Search:
    """
    Return the fastest search there is.

    :param odd: A pattern that only a search finds which is exact; its number comes after the others.
    :param hyperscan: Whether it may be used.
    """
    if hyperscan and literals:
        try:
            return HyperscanSearch(literals, odd)
        except ImportError:
            pass
    return PlainSearch(literals)
