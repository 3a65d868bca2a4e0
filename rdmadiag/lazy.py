"""Patterns that are compiled when they are first used: most runs need few of them."""

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, AnyStr, Generic


class Lazy(Generic[AnyStr]):
    """A regular expression with the methods of a compiled one."""

    def __init__(self, pattern: AnyStr, flags: int = 0) -> None:
        """Take what :func:`re.compile` takes."""
        self.pattern: AnyStr = pattern
        self.flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[AnyStr]:
        return re.compile(self.pattern, self.flags)

    @cached_property
    def match(self) -> Callable[..., re.Match[AnyStr] | None]:
        """Match at the beginning of a text."""
        return self._compiled.match

    @cached_property
    def fullmatch(self) -> Callable[..., re.Match[AnyStr] | None]:
        """Match all of a text."""
        return self._compiled.fullmatch

    @cached_property
    def search(self) -> Callable[..., re.Match[AnyStr] | None]:
        """Match anywhere in a text."""
        return self._compiled.search

    @cached_property
    def finditer(self) -> Callable[..., Iterator[re.Match[AnyStr]]]:
        """Yield all matches in a text."""
        return self._compiled.finditer

    @cached_property
    def findall(self) -> Callable[..., list[Any]]:
        """Return the groups of all matches in a text."""
        return self._compiled.findall

    @cached_property
    def split(self) -> Callable[..., list[Any]]:
        """Return what is between the matches in a text."""
        return self._compiled.split

    @cached_property
    def sub(self) -> Callable[..., AnyStr]:
        """Replace all matches in a text."""
        return self._compiled.sub
