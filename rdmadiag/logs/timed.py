"""Patterns of rules: whoever wrote them, no line takes them long, nor do all lines together."""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rdmadiag.facts.model import Collected, Problem

if TYPE_CHECKING:
    import regex

TIMEOUT = 0.25
"""Seconds for one pattern on one message."""
PATIENCE = 3
"""Messages on which a pattern may take too long before it is tried no more."""
GIVEN_UP = "log.rule_given_up"
"""Kind of the fact that a pattern took too long on a message; field ``rule``: whose it is."""


class TimedPatterns:
    """Patterns that are compiled when they are first searched for."""

    def __init__(self, expand: Callable[[str], str] = str) -> None:
        """:param expand: Makes a pattern for ``regex`` of the text of one."""
        self._expand = expand
        self._compiled: dict[str, regex.Pattern[str]] = {}
        self._slow: Counter[str] = Counter()

    @property
    def timeouts(self) -> int:
        """How many times a pattern took too long."""
        return self._slow.total()

    def search(self, pattern: str, message: str) -> "regex.Match[str] | None":
        """
        Search *pattern*.

        :raises TimeoutError: If it takes too long, or did so too often.
        """
        return self._timed(pattern, self._of(pattern).search, message)

    def match(self, pattern: str, message: str) -> "regex.Match[str] | None":
        """
        Look for *pattern* at the beginning.

        :raises TimeoutError: As of :meth:`search`.
        """
        return self._timed(pattern, self._of(pattern).match, message)

    def _of(self, pattern: str) -> "regex.Pattern[str]":
        known = self._compiled.get(pattern)
        if known is None:
            known = self._compiled[pattern] = compiled(self._expand(pattern))
        return known

    def _timed(
        self, pattern: str, how: "Callable[..., regex.Match[str] | None]", message: str
    ) -> "regex.Match[str] | None":
        if self._slow and self._slow[pattern] >= PATIENCE:
            raise TimeoutError
        try:
            return how(message, timeout=TIMEOUT)
        except TimeoutError:
            self._slow[pattern] += 1
            raise


def compiled(pattern: str) -> "regex.Pattern[str]":
    """Compile a pattern."""
    # Imported when the first line is looked at more closely: many logs have none.
    import regex

    return regex.compile(pattern)


def tell_given_up(collected: Collected) -> None:
    """Say of each input which rules were given up on messages of it: what they give may be in it nevertheless."""
    given_up = [f for f in collected.facts if f.kind == GIVEN_UP]
    if not given_up:
        return
    collected.facts = [f for f in collected.facts if f.kind != GIVEN_UP]
    slow = Counter((f.where.input, f.fields["rule"]) for f in given_up)
    for info in collected.inputs:
        info.problems += [
            Problem(f"the pattern of {rule} takes too long: not tried on {count} messages", where)
            for (where, rule), count in slow.items()
            if where == info.path
        ]
    collected.coverage = [
        replace(row, status="partial", reason="its pattern takes too long")
        if (row.input, row.kind) in slow and row.status == "complete"
        else row
        for row in collected.coverage
    ]
