"""Finding the entries whose log lines a text may be."""

from collections.abc import Iterator

import regex

from rdmadiag.logs.patterns import fixed_runs, loosen_blanks
from rdmadiag.rules.schema import Fix, LogLine


def matches(pattern: str, text: str) -> bool:
    """Tell whether *text* holds what *pattern* says; a blank stands for any run of blanks, as in event rules."""
    return regex.search(loosen_blanks(pattern), text) is not None


class LineIndex:
    """The log lines of all entries, each behind a string that every such line holds."""

    def __init__(self, fixes: list[Fix]) -> None:
        self._rows = [
            (max(fixed_runs(line.pattern), key=len, default=""), line, fix)
            for fix in fixes
            for line in fix.signature.log
        ]

    def find(self, text: str) -> Iterator[tuple[Fix, LogLine]]:
        """Yield the entries that have a line which *text* is."""
        plain = " ".join(text.split())
        if not plain:
            return
        for literal, line, fix in self._rows:
            if literal in plain and matches(line.pattern, plain):
                yield fix, line
