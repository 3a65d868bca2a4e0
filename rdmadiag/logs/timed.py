"""Patterns of rules: whoever wrote them, no line takes them long."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

TIMEOUT = 0.25
"""Seconds for one pattern on one message."""


class TimedPatterns:
    """
    Patterns that are compiled when they are first searched for.

    :ivar timeouts: How many times one was given up because it took too long.
    """

    def __init__(self, expand: Callable[[str], str] = str) -> None:
        """:param expand: Makes a pattern for ``regex`` of the text of one."""
        self.timeouts = 0
        self._expand = expand
        self._compiled: dict[str, regex.Pattern[str]] = {}

    def search(self, pattern: str, message: str) -> "regex.Match[str] | None":
        """Search *pattern*; one that takes too long is not found."""
        known = self._compiled.get(pattern)
        if known is None:
            known = self._compiled[pattern] = compiled(self._expand(pattern))
        try:
            return known.search(message, timeout=TIMEOUT)
        except TimeoutError:
            self.timeouts += 1
            return None


def compiled(pattern: str) -> "regex.Pattern[str]":
    """Compile a pattern."""
    # Imported when the first line is looked at more closely: many logs have none.
    import regex

    return regex.compile(pattern)
