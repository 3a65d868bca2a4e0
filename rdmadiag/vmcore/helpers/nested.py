"""
Walks in walks
--------------

Lists of lists: what is broken in one of them costs the rest of that one, not the others.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rdmadiag.vmcore.helpers.errors import READ_ERRORS

__all__ = ("nested",)

S = TypeVar("S")
T = TypeVar("T")


def nested(outer: Iterable[S], inner: Callable[[S], Iterable[T]]) -> Iterator[T]:
    """
    Iterate over all that the walks of *inner* over each of *outer* give.

    :raises Exception: the first of :data:`READ_ERRORS` that ended one of the walks, after all others.
    """
    errors: list[Exception] = []
    for one in _until_broken(outer, errors):
        try:
            yield from inner(one)
        except READ_ERRORS as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _until_broken(walk: Iterable[S], errors: list[Exception]) -> Iterator[S]:
    try:
        yield from walk
    except READ_ERRORS as error:
        errors.append(error)
