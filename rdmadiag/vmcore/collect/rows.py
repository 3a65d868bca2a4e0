"""One row of facts, each of its fields read on its own: what cannot be read costs that field only."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from drgn import Object

from rdmadiag.facts.model import Collected, Fact, Fields
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why

if TYPE_CHECKING:
    from rdmadiag.vmcore.collect.view import View

__all__ = ("Row", "each_object", "hex_or_none", "isolated", "until_broken")

T = TypeVar("T")


def hex_or_none(value: int | None) -> str | None:
    """Return an address as facts carry it; ``None`` for a null pointer."""
    return hex(value) if value else None


class Row:
    """
    The fields of a fact while they are read.

    :ivar problems: One line for each field that could not be read.
    """

    def __init__(self) -> None:
        self.fields: Fields = {}
        self.problems: list[str] = []

    def read(self, name: str, reader: Callable[[], T]) -> T | None:
        """Read a field; return its value, ``None`` when it cannot be read."""
        value = self.value(name, reader)
        self.fields[name] = value
        return value

    def value(self, name: str, reader: Callable[[], T]) -> T | None:
        """Read something that is no field itself; a failure is noted all the same."""
        try:
            return reader()
        except READ_ERRORS as error:
            self.problems.append(f"{name}: {why(error)}")
            return None


def isolated(
    objects: Iterable[T],
    make: Callable[[T], Fact],
    problems: list[str],
    name: Callable[[T], str],
) -> list[Fact]:
    """
    Return a fact of each object; one that cannot be read costs itself and a line in *problems*.

    :param name: Says which object it is.
    """
    facts = []
    for one in objects:
        try:
            facts.append(make(one))
        except READ_ERRORS as error:
            problems.append(f"{name(one)} cannot be read: {why(error)}")
    return facts


def until_broken(objects: Iterable[T], problems: list[str], what: str) -> Iterator[T]:
    """Iterate over what a walk gives; where it breaks costs what is behind it and a line in *problems*."""
    try:
        yield from objects
    except READ_ERRORS as error:
        problems.append(f"{what}: {why(error)}")


def each_object(
    view: "View",
    kind: str,
    objects: Iterable[Object],
    make: Callable[[Object], Fact],
    what: str,
) -> Collected:
    """
    Return a fact of each object, and how complete they are.

    :param objects: Pointers to structures.
    :param what: Says what was walked, where the walk breaks.
    """
    problems: list[str] = []
    facts = isolated(
        until_broken(objects, problems, what), make, problems, lambda one: f"{one.value_():#x}"
    )
    return Collected(facts=facts, coverage=[view.covered(kind, problems, facts)])
