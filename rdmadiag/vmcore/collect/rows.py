"""One row of facts, each of its fields read on its own: what cannot be read costs that field only."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why

if TYPE_CHECKING:
    from rdmadiag.facts.model import Fields

__all__ = ("Row", "hex_or_none")

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
