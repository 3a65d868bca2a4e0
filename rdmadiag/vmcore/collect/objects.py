"""Which object an address is in: names for what tasks sleep on."""

from bisect import bisect_right
from typing import NamedTuple

from drgn import Object, Type, TypeKind, sizeof

__all__ = ("Found", "ObjectIndex", "member_at")

_COMPOUND = {TypeKind.STRUCT, TypeKind.UNION}


class Found(NamedTuple):
    """
    Where an address is.

    :ivar type: Type of the object, ``struct x``.
    :ivar address: Address of the object.
    :ivar member: Path of the member in it.
    :ivar label: What the object is for.
    """

    type: str
    address: int
    member: str
    label: str


def _size(type_: Type) -> int:
    try:
        return int(sizeof(type_))
    except TypeError:
        return 0  # an array without a length


def member_at(type_: Type, offset: int) -> str:
    """Return the path of the member at an offset of a structure: ``cp_down_w.timer``."""
    while type_.kind == TypeKind.TYPEDEF:
        type_ = type_.type
    if type_.kind not in _COMPOUND:
        return ""
    for member in type_.members or ():
        start = member.bit_offset // 8
        if start <= offset < start + _size(member.type):
            rest = (
                member_at(member.type, offset - start) if offset > start or not member.name else ""
            )
            return ".".join(name for name in (member.name, rest) if name)
    return ""


class ObjectIndex:
    """Objects by address."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, int, Type, str]] = []
        self._starts: list[int] = []

    def add(self, pointer: Object, label: str) -> None:
        """
        Add an object.

        :param pointer: ``struct x *``
        :param label: What the object is for.
        """
        type_ = pointer.type_.type
        start = int(pointer.value_())
        self._spans.append((start, start + sizeof(type_), type_, label))
        self._starts = []

    def find(self, address: int) -> Found | None:
        """Return the object that an address is in."""
        if len(self._starts) != len(self._spans):
            self._spans.sort(key=lambda span: span[0])
            self._starts = [span[0] for span in self._spans]
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address >= self._spans[index][1]:
            return None
        start, _, type_, label = self._spans[index]
        return Found(type_.type_name(), start, member_at(type_, address - start), label)
