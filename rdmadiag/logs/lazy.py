"""Patterns that are compiled when they are first used: most runs need few of them."""

import re
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Lazy:
    """A regular expression with the methods of a compiled one."""

    def __init__(self, pattern: str) -> None:
        """:param pattern: As for :func:`re.compile`."""
        self.pattern = pattern

    @cached_property
    def _compiled(self) -> "re.Pattern[str]":
        return re.compile(self.pattern)

    def match(self, text: str) -> "re.Match[str] | None":
        """Match at the beginning of *text*."""
        return self._compiled.match(text)

    def fullmatch(self, text: str) -> "re.Match[str] | None":
        """Match all of *text*."""
        return self._compiled.fullmatch(text)

    def search(self, text: str) -> "re.Match[str] | None":
        """Match anywhere in *text*."""
        return self._compiled.search(text)

    def finditer(self, text: str) -> "Iterator[re.Match[str]]":
        """Yield all matches in *text*."""
        return self._compiled.finditer(text)

    def sub(self, replacement: str, text: str) -> str:
        """Replace all matches in *text*."""
        return self._compiled.sub(replacement, text)
