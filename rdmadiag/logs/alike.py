"""
Messages that differ in nothing but their numbers: what one of them may say, the others may, too.

A flood is the same few messages a million times. Which rules come into question is found out once for each
*shape*, which is the message with every number made ``0``; the message itself then decides between those few.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeVar

from rdmadiag.lazy import Lazy

_DIGITS = r"(?:[a-fA-F]{1,3}[0-9]+)*[a-fA-F]{0,3}"
"""Hexadecimal digits; four letters in a row are taken for a word."""
_NUMBER = Lazy(rf"\b(?:[0-9]+(?:[xX][0-9]*)?|ffff[0-9]*){_DIGITS}\b")
_TAIL = rf"(?:[0-9]*[xX]|f{{1,4}})?[0-9]*{_DIGITS}"
_PIECE = Lazy(_TAIL)
_EDGE = Lazy(rf"\A{_TAIL}(?!\w)|(?<!\w)(?:[0-9]+(?:[xX][0-9]*)?|f{{1,4}}[0-9]*){_DIGITS}\Z")
"""What may be the end of a number that began before, or the beginning of one that goes on."""

MAX_SHAPES = 4096
MAX_SHAPE = 1000

T = TypeVar("T")


@lru_cache(maxsize=8)  # several ask for the message that is read
def shape(message: str) -> str:
    """Return *message* with its numbers, be they decimal, hexadecimal or kernel addresses, made ``0``."""
    return _NUMBER.sub("0", message)


def needle(literal: str) -> str:
    """
    Return what the shape of every message that holds *literal* holds, be it nothing.

    What may be a piece of a longer number at either end is left out.
    """
    return shape(_EDGE.sub("", literal))


def is_kept(word: str) -> bool:
    """Tell whether *word* can be no piece of a number, so that a message has it if and only if its shape has."""
    return not _PIECE.fullmatch(word)


class Shapes(Generic[T]):
    """What was found out for each shape; it is forgotten when there are too many."""

    def __init__(self, find: Callable[[str], T]) -> None:
        """:param find: Finds out for a shape what comes into question."""
        self._find = find
        self._known: dict[str, T] = {}

    def of(self, message: str) -> T:
        """Return what comes into question for *message*."""
        key = shape(message)
        known = self._known.get(key)
        if known is None:
            known = self._find(key)
            if len(self._known) >= MAX_SHAPES:
                self._known.clear()
            if len(key) <= MAX_SHAPE:
                self._known[key] = known
        return known
