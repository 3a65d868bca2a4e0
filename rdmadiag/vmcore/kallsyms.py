"""
Kallsyms
--------

The kernel's own symbol table (``kernel/kallsyms.c``), read in memory, one name at a time.

Names are stored as a length and as many token numbers, compressed in the order of addresses; every 256th
name has a marker (``unsigned long`` before v5.0). Since Linux kernel commit 60443c88f3a8 ("kallsyms: Improve the performance of
kallsyms_lookup_name()") (in v6.2) ``kallsyms_seqs_of_names`` sorts them by name. VMCOREINFO tells the
addresses of some of the tables since commit 5fd8fea935a1 ("vmcoreinfo: include kallsyms symbols") (in v6.0);
the others lie next to these, in an order that changed in v6.4, so they are recognised by what is in them. Since
Linux kernel commit a081b5789255 ("kallsyms: Get rid of kallsyms relative base") (in v7.0) an offset counts from its own
place, as for ``offset_to_ptr()``.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from rdmadiag.vmcore.symbols import Symbol

if TYPE_CHECKING:
    from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("Kallsyms", "KallsymsError", "KallsymsTables", "split_names", "tables_of_vmcoreinfo")

MAX_SYMBOLS = 4_000_000
"""More than any kernel has: a count above it is damage."""

KERNEL_HALF = 1 << 63
"""Addresses of the kernel are above; below are only offsets of per-CPU variables."""

Reader = Callable[[int, int], bytes]


class KallsymsError(LookupError):
    """The table is not what it should be: nothing can be looked up in it."""


class KallsymsTables(msgspec.Struct, frozen=True):
    """
    Addresses of the tables.

    :ivar offsets: ``kallsyms_offsets`` (``int []``), or ``None`` where there are whole addresses.
    :ivar relative_base: ``kallsyms_relative_base``; ``None`` where each offset counts from its own place.
    :ivar addresses: ``kallsyms_addresses`` (``unsigned long []``), without CONFIG_KALLSYMS_BASE_RELATIVE.
    """

    num_syms: int
    names: int
    token_table: int
    token_index: int
    offsets: int | None = None
    relative_base: int | None = None
    addresses: int | None = None


def tables_of_vmcoreinfo(info: "VmcoreInfo") -> KallsymsTables | None:
    """Return the addresses that VMCOREINFO tells, or ``None`` before v6.0."""
    num, names = info.symbol("kallsyms_num_syms"), info.symbol("kallsyms_names")
    table, index = info.symbol("kallsyms_token_table"), info.symbol("kallsyms_token_index")
    if num is None or names is None or table is None or index is None:
        return None
    return KallsymsTables(
        num,
        names,
        table,
        index,
        info.symbol("kallsyms_offsets"),
        info.symbol("kallsyms_relative_base"),
        info.symbol("kallsyms_addresses"),
    )


class Kallsyms:
    """
    The table.

    :param read: Reads memory at a virtual address.
    :raises KallsymsError: if the table is not what it should be
    :raises FaultError: if a part that is always needed cannot be read
    """

    def __init__(self, read: Reader, tables: KallsymsTables) -> None:
        self._read = read
        self._tables = tables
        self.count = int.from_bytes(read(tables.num_syms, 4), "little")
        if tables.addresses is None and tables.offsets is None:
            raise KallsymsError("neither kallsyms_offsets nor kallsyms_addresses is known")
        if not 0 < self.count < MAX_SYMBOLS:
            raise KallsymsError(f"kallsyms_num_syms is {self.count}")
        self._tokens = self._read_tokens()
        self._markers, self._seqs = self._find_markers()
        self._block = lru_cache(maxsize=512)(self._read_block)

    def _read_tokens(self) -> list[bytes]:
        index = array("H", self._read(self._tables.token_index, 512))
        table = self._read(self._tables.token_table, index[255] + 64)
        try:
            return [table[start : table.index(b"\0", start)] for start in index]
        except ValueError as error:
            raise KallsymsError("kallsyms_token_table is damaged") from error

    def _find_markers(self) -> tuple["array[int]", int | None]:
        """Find ``kallsyms_markers`` and, if there is one, ``kallsyms_seqs_of_names``."""
        tables, blocks = self._tables, -(-self.count // 256)
        before = tables.token_table - _aligned(4 * blocks)
        seqs_before = tables.token_table - _aligned(3 * self.count)
        after = self._after_offsets()
        places: list[tuple[str, int, int | None]] = [
            ("I", before, after),
            ("I", tables.token_table - 4 * blocks, after),
            ("I", seqs_before - _aligned(4 * blocks), seqs_before),
            ("I", before, None),
            ("Q", seqs_before - 8 * blocks, seqs_before),
            ("Q", tables.token_table - 8 * blocks, None),
        ]
        for code, place, seqs in places:
            markers = array(code, self._read(place, array(code).itemsize * blocks))
            if self._are_markers(markers) and (seqs is None or self._are_seqs(seqs, markers)):
                return markers, seqs
        raise KallsymsError("kallsyms_markers were not found")

    def _after_offsets(self) -> int | None:
        """Return where ``kallsyms_seqs_of_names`` is if it follows the offsets and their base."""
        tables = self._tables
        if tables.relative_base:
            return tables.relative_base + 8
        return tables.offsets and tables.offsets + 4 * self.count

    def _are_markers(self, markers: "array[int]") -> bool:
        if markers[0] or any(b <= a for a, b in pairwise(markers)):
            return False
        if len(markers) == 1:
            return True
        text = self._read(self._tables.names, markers[1])
        return sum(1 for _ in split_names(text)) == 256

    def _are_seqs(self, seqs: int, markers: "array[int]") -> bool:
        """Tell whether a few numbers at *seqs* are of names in the order of names."""
        self._markers = markers
        self._block = lru_cache(maxsize=64)(self._read_block)
        probes = range(0, self.count, max(1, self.count // 16))
        numbers = [self._seq(seqs, i) for i in probes]
        if max(numbers) >= self.count:
            return False
        names = [self._raw(number)[1:] for number in numbers]
        return all(a <= b for a, b in pairwise(names))

    def _seq(self, seqs: int, i: int) -> int:
        return int.from_bytes(self._read(seqs + 3 * i, 3), "big")

    def _read_block(self, block: int) -> list[bytes]:
        start = self._markers[block]
        if block + 1 < len(self._markers):
            size = self._markers[block + 1] - start
        else:
            size = min(256 * 64, self._tables.token_table - self._tables.names - start)
            size = size if size > 0 else 256 * 32
        text = self._read(self._tables.names + start, size)
        return list(split_names(text, min(256, self.count - 256 * block)))

    def _raw(self, number: int) -> bytes:
        """Return type letter and name of the symbol with a number in address order."""
        tokens = self._tokens
        try:
            return b"".join([tokens[i] for i in self._block(number >> 8)[number & 255]])
        except IndexError as error:
            raise KallsymsError(f"symbol {number} is damaged") from error

    @cached_property
    def _address(self) -> Callable[[int], int]:
        """
        Function from a symbol's number to its address.

        With CONFIG_KALLSYMS_ABSOLUTE_PERCPU (x86 until v6.15) a positive offset is an absolute value (a
        per-CPU variable) and a negative one counts down from the base; without it all count up. Without a base
        each counts from its own place.
        """
        tables, count = self._tables, self.count
        if tables.offsets is None:
            return array("Q", self._read(tables.addresses or 0, 8 * count)).__getitem__
        offsets, first = array("i", self._read(tables.offsets, 4 * count)), tables.offsets
        if tables.relative_base is None:
            return lambda i: first + 4 * i + offsets[i]
        base = int.from_bytes(self._read(tables.relative_base, 8), "little")
        if offsets[-1] < 0:
            return lambda i: offsets[i] if offsets[i] >= 0 else base - 1 - offsets[i]
        return lambda i: base + (offsets[i] & 0xFFFFFFFF)

    def _after(self, address: int) -> int:
        """Return the number of the first symbol after *address*."""
        return bisect_right(range(self.count), address, key=self._address)

    def _symbol(self, number: int) -> Symbol:
        raw = self._raw(number).decode("ascii", "backslashreplace")
        start = self._address(number)
        after = self._after(start)
        end = self._address(after) if after < self.count else start + 1
        return Symbol(raw[1:], start, end - start, "", raw[:1])

    def symbol_at(self, address: int) -> Symbol | None:
        """Return the symbol that contains *address*: of several names for one place the first, as the kernel does."""
        after = self._after(address)
        if address < KERNEL_HALF or not 0 < after < self.count:
            return None
        start = self._address(after - 1)
        if start < KERNEL_HALF:
            return None
        return self._symbol(bisect_left(range(after), start, key=self._address))

    def ranges(self) -> Iterator[range]:
        """Iterate over where the big tables lie."""
        tables = self._tables
        last = sum(len(name) + 2 for name in self._block(len(self._markers) - 1))
        yield range(tables.names, tables.names + self._markers[-1] + last)
        if tables.offsets is not None:
            yield range(tables.offsets, tables.offsets + 4 * self.count)
        if self._seqs is not None:
            yield range(self._seqs, self._seqs + 3 * self.count)

    def symbols_named(self, name: str) -> Iterator[Symbol]:
        """Iterate over the symbols with a name."""
        key = name.encode()
        if self._seqs is None:
            yield from (self._symbol(number) for number in self._numbers_by_name.get(key, ()))
            return
        place = self._bisect(self._seqs, key)
        while place < self.count:
            number = self._seq(self._seqs, place)
            if self._raw(number)[1:] != key:
                return
            yield self._symbol(number)
            place += 1

    def _bisect(self, seqs: int, key: bytes) -> int:
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if self._raw(self._seq(seqs, middle))[1:] < key:
                low = middle + 1
            else:
                high = middle
        return low

    @cached_property
    def _numbers_by_name(self) -> dict[bytes, list[int]]:
        """All names, for kernels that do not sort them: one pass over the table."""
        names: dict[bytes, list[int]] = {}
        for number in range(self.count):
            names.setdefault(self._raw(number)[1:], []).append(number)
        return names


def _aligned(size: int) -> int:
    return -(-size // 8) * 8


def split_names(text: bytes, count: int = 1 << 30) -> Iterator[bytes]:
    """Split compressed names; a length above 127 takes two bytes (ULEB128)."""
    place = 0
    while place < len(text) and count:
        length = text[place]
        place += 1
        if length & 0x80:
            if place >= len(text):
                return
            length = (length & 0x7F) | (text[place] << 7)
            place += 1
        yield text[place : place + length]
        place += length
        count -= 1
