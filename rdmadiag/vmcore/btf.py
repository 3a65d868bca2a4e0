"""
BTF
---

The BPF type format (``Documentation/bpf/btf.rst``), as the kernel keeps it in memory for itself and for each
module: the index over it. :mod:`.btf_types` makes drgn types of it.

The kernel is scanned once, with as little work as possible for a type (a kernel has 100,000); names are not
decoded, a name is sought in the string section instead.
"""

import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

__all__ = ("Btf", "BtfError", "Kind", "Member")

MAGIC = 0xEB9F


class BtfError(LookupError):
    """Not BTF, or damaged: what is asked for cannot be found in it."""


class Kind:
    """``BTF_KIND_*`` of ``include/uapi/linux/btf.h``."""

    VOID = 0
    INT = 1
    PTR = 2
    ARRAY = 3
    STRUCT = 4
    UNION = 5
    ENUM = 6
    FWD = 7
    TYPEDEF = 8
    VOLATILE = 9
    CONST = 10
    RESTRICT = 11
    FUNC = 12
    FUNC_PROTO = 13
    VAR = 14
    DATASEC = 15
    FLOAT = 16
    DECL_TAG = 17
    TYPE_TAG = 18
    ENUM64 = 19


_FIXED = [3, 4, 3, 6, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 3, 3, 4, 3, 3]
_EACH = [0, 0, 0, 0, 3, 3, 2, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 0, 0, 3]
"""Words of a type of each kind, and words for each of its members (``vlen``)."""

_KIND, _VLEN = 0x7F, 0xFFFFFF
"""``BTF_INFO_KIND``, ``BTF_INFO_VLEN``: wider in later kernels, by bits that were 0 before."""

_INDEXED = frozenset(
    (Kind.INT, Kind.STRUCT, Kind.UNION, Kind.ENUM, Kind.TYPEDEF, Kind.VAR, Kind.FLOAT, Kind.ENUM64)
)


class Member(NamedTuple):
    """A member of a struct or union: ``struct btf_member``."""

    name: str
    type: int
    bit_offset: int
    bit_size: int


class Btf:
    """
    The types of the kernel proper, or of one module on top of them (split BTF).

    :param data: The section, header included.
    :param base: The kernel's BTF, for a module.
    :param name: Name of the module, or ``""``.
    :param start: ``start_id`` and ``start_str_off`` of a module's ``struct btf``.
    :ivar damage: What is wrong with it, once it was scanned; ``""`` when nothing is.
    :raises BtfError: if it is not BTF or a part reaches out of it
    """

    def __init__(
        self,
        data: bytes,
        base: "Btf | None" = None,
        name: str = "",
        start: tuple[int, int] = (1, 0),
    ) -> None:
        self.name = name
        self.base = base
        self.damage = ""
        self.first_id = start[0]
        self._types, strings = _sections(data)
        self._words = memoryview(self._types).cast("I")
        self._strings = b"\0" + strings if base else strings
        self._first_string = start[1] - 1 if base else 0
        self._offsets: dict[str, list[int]] = {}

    def scan(self) -> None:
        """Scan it now; else it is scanned when a name in it is sought."""
        self._index  # noqa: B018

    @cached_property
    def _index(self) -> tuple["array[int]", dict[int, list[int]]]:
        return self._scan()

    @property
    def _places(self) -> "array[int]":
        return self._index[0]

    @property
    def _by_name(self) -> dict[int, list[int]]:
        return self._index[1]

    def _scan(self) -> tuple["array[int]", dict[int, list[int]]]:
        """
        Find the place of each type, and the types of each name (by offset of the name).

        What comes after damage is lost: the numbers of types are their order.
        """
        words, place, end = self._words, 0, len(self._words)
        places = array("I")
        by_name: dict[int, list[int]] = {}
        add, indexed, fixed, each = places.append, _INDEXED, _FIXED, _EACH
        number = self.first_id
        try:
            while place < end:
                info = words[place + 1]
                kind = (info >> 24) & _KIND
                size = fixed[kind] + each[kind] * (info & _VLEN)
                add(place)
                if kind in indexed:
                    by_name.setdefault(words[place], []).append(number)
                place += size
                number += 1
        except IndexError:
            self.damage = f"type {number} and all after it are lost"
        if place > end:
            self.damage = f"it ends inside type {number - 1}"
        by_name.pop(0, None)
        return self._believable(places, by_name)

    def _believable(
        self, places: "array[int]", by_name: dict[int, list[int]]
    ) -> tuple["array[int]", dict[int, list[int]]]:
        """Leave out what comes after a name outside of the strings: there the scan had lost its step."""
        end = self._first_string + len(self._strings)
        wrong = [min(numbers) for name, numbers in by_name.items() if name >= end]
        if not wrong:
            return places, by_name
        lost = min(wrong)
        self.damage = f"type {lost} and all after it are lost"
        kept = {name: [one for one in numbers if one < lost] for name, numbers in by_name.items()}
        return places[: lost - self.first_id], kept

    def _place(self, number: int) -> int:
        index = number - self.first_id
        if not 0 <= index < len(self._places):
            raise BtfError(f"no type {number} in the BTF of {self.name or 'vmlinux'}")
        return self._places[index]

    def string(self, offset: int) -> str:
        """Return the string at an offset of the string section."""
        if self.base and offset <= self._first_string:
            return self.base.string(offset)
        start = offset - self._first_string
        end = self._strings.find(b"\0", start)
        return self._strings[start:end].decode("ascii", "backslashreplace")

    def _offsets_of(self, name: str) -> list[int]:
        """Return the offsets of a string; a module may use its base's strings, which all modules ask for."""
        known = self._offsets.get(name)
        if known is None:
            place = self._strings.find(b"\0" + name.encode() + b"\0")
            own = [self._first_string + place + 1] if place >= 0 else []
            known = self._offsets[name] = self.base._offsets_of(name) + own if self.base else own
        return known

    def find(self, name: str) -> list[int]:
        """Return the numbers of its own named types and variables with a name, of any kind."""
        found: list[int] = []
        for offset in self._offsets_of(name):
            found += self._by_name.get(offset, ())
        return found

    def head(self, number: int) -> tuple[str, int, int, int, bool]:
        """Return name, kind, ``size`` or ``type``, ``vlen`` and ``kind_flag`` of a type."""
        place = self._place(number)
        name, info, size = self._words[place : place + 3]
        return self.string(name), (info >> 24) & _KIND, size, info & _VLEN, bool(info >> 31)

    def kind(self, number: int) -> int:
        """Return the kind of a type."""
        return (self._words[self._place(number) + 1] >> 24) & _KIND

    def words(self, number: int) -> list[int]:
        """Return the words after the first three of a type."""
        place = self._place(number)
        info = self._words[place + 1]
        kind = (info >> 24) & _KIND
        end = place + _FIXED[kind] + _EACH[kind] * (info & _VLEN)
        return self._words[place + 3 : end].tolist()

    def members(self, number: int) -> Iterator[Member]:
        """Iterate over the members of a struct or union."""
        flag, words = self.head(number)[4], self.words(number)
        for name, type_, offset in zip(words[0::3], words[1::3], words[2::3], strict=True):
            bit_offset, bit_size = (offset & 0xFFFFFF, offset >> 24) if flag else (offset, 0)
            yield Member(self.string(name), type_, bit_offset, bit_size)

    def enumerators(self, number: int) -> Iterator[tuple[str, int]]:
        """Iterate over the names and values of an enumeration, with 32 or 64 bits."""
        _, kind, _, _, signed = self.head(number)
        words, bits = self.words(number), 64 if kind == Kind.ENUM64 else 32
        step = bits // 32 + 1
        for i in range(0, len(words), step):
            value = words[i + 1] | (words[i + 2] << 32 if bits == 64 else 0)
            if signed and value >> (bits - 1):
                value -= 1 << bits
            yield self.string(words[i]), value

    def enum_with(self, name: str) -> tuple[int, int] | None:
        """
        Return the enumeration that has an enumerator *name*, and its value, or ``None``.

        There is no index of enumerators: the offset of the name is sought in the types.
        """
        for offset in self._offsets_of(name):
            for number in self._types_with_word(offset):
                if self.kind(number) in (Kind.ENUM, Kind.ENUM64):
                    values = dict(self.enumerators(number))
                    if name in values:
                        return number, values[name]
        return None

    def function(self, name: str) -> int | None:
        """Return the number of a function's prototype (``BTF_KIND_FUNC_PROTO``), or ``None``."""
        for offset in self._offsets_of(name):
            for number in self._types_with_word(offset):
                head = self.head(number)
                if head[1] == Kind.FUNC and head[0] == name:
                    return head[2]
        return None

    def _types_with_word(self, word: int) -> Iterator[int]:
        key, place = struct.pack("<I", word), -1
        while (place := self._types.find(key, place + 1)) >= 0:
            if place % 4 == 0 and self._places:
                yield self.first_id + bisect_right(self._places, place // 4) - 1


def _sections(data: bytes) -> tuple[bytes, bytes]:
    """Return the type and the string section."""
    try:
        magic, version, _, hdr, types, types_size, strings, strings_size = struct.unpack_from(
            "<HBBIIIII", data
        )
    except struct.error as error:
        raise BtfError("BTF is shorter than its header") from error
    if magic != MAGIC or version != 1:
        raise BtfError("not BTF")
    if max(types + types_size, strings + strings_size) + hdr > len(data) or types_size % 4:
        raise BtfError("BTF is shorter than its header says")
    types_at, strings_at = hdr + types, hdr + strings
    return data[types_at : types_at + types_size], data[strings_at : strings_at + strings_size]
