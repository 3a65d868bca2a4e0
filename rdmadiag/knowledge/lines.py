"""Finding the entries whose log lines a text may be."""

from collections.abc import Iterator
from functools import cache

import regex

from rdmadiag.logs.patterns import fixed_runs, loosen_blanks
from rdmadiag.rules.schema import Fix, LogLine


@cache
def _compiled(pattern: str) -> "regex.Pattern[str]":
    return regex.compile(loosen_blanks(pattern))


@cache
def certain(pattern: str) -> str:
    """Return the longest string that every text which *pattern* matches holds; it may be empty."""
    return max(fixed_runs(pattern), key=len, default="")


def matches(pattern: str, text: str) -> bool:
    """Tell whether *text* holds what *pattern* says; a blank stands for any run of blanks, as in event rules."""
    plain = " ".join(text.split())
    return certain(pattern) in plain and _compiled(pattern).search(plain) is not None


class LineIndex:
    """The log lines of all entries."""

    def __init__(self, fixes: list[Fix]) -> None:
        self._rows = [(line, fix) for fix in fixes for line in fix.signature.log]

    def find(self, text: str) -> Iterator[tuple[Fix, LogLine]]:
        """Yield the entries that have a line which *text* is."""
        plain = " ".join(text.split())
        for line, fix in self._rows:
            if plain and certain(line.pattern) in plain and _compiled(line.pattern).search(plain):
                yield fix, line
