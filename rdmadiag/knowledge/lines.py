"""Finding the entries whose log lines a text may be."""

from collections.abc import Iterator
from functools import cache

from rdmadiag.logs.patterns import fixed_runs, loosen_blanks
from rdmadiag.logs.timed import TimedPatterns
from rdmadiag.rules.schema import Fix, LogLine

_PATTERNS = TimedPatterns(loosen_blanks)


@cache
def certain(pattern: str) -> str:
    """Return the longest string that every text which *pattern* matches holds; it may be empty."""
    return max(fixed_runs(pattern), key=len, default="")


def matches(pattern: str, text: str) -> bool:
    """Tell whether *text* holds what *pattern* says; a blank stands for any run of blanks, as in event rules."""
    plain = " ".join(text.split())
    return _found(pattern, plain)


def _found(pattern: str, plain: str) -> bool:
    """Search what may be there; a pattern that takes too long finds nothing, and nothing rests on its absence."""
    try:
        return certain(pattern) in plain and _PATTERNS.search(pattern, plain) is not None
    except TimeoutError:
        return False


class LineIndex:
    """The log lines of all entries."""

    def __init__(self, fixes: list[Fix]) -> None:
        self._rows = [(line, fix) for fix in fixes for line in fix.signature.log]

    def find(self, text: str) -> Iterator[tuple[Fix, LogLine]]:
        """Yield the entries that have a line which *text* is."""
        plain = " ".join(text.split())
        for line, fix in self._rows:
            if plain and _found(line.pattern, plain):
                yield fix, line
