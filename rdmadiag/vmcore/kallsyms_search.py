"""
Searching kallsyms
------------------

Before v6.0 VMCOREINFO does not tell where the symbol table is, so it is sought in the kernel's image by what
is in it. In these kernels its parts lie in this order, each aligned to eight bytes: ``kallsyms_offsets`` and
``kallsyms_relative_base`` (or ``kallsyms_addresses``), ``kallsyms_num_syms``, ``kallsyms_names``,
``kallsyms_markers``, ``kallsyms_token_table``, ``kallsyms_token_index``; where ``kallsyms_seqs_of_names`` was brought to
such a kernel, it is in front of ``kallsyms_token_table``, as in v6.2, or behind offsets and base, which then follow
``kallsyms_token_index``, as in v6.4. They end the read-only data, which lies
between the kernel's text and its data.
"""

import struct
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise

from drgn import FaultError
from msgspec.structs import asdict

from rdmadiag.vmcore.kallsyms import KallsymsTables, split_names
from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("find_tables", "search_tables", "told_tables")

Reader = Callable[[int, int], bytes]

_CHUNK, _PAGE = 1 << 20, 1 << 12
_MAX_IMAGE = 64 << 20
_IN_DATA = ("init_uts_ns", "swapper_pg_dir")
_DIGITS = b"\0" + b"".join(b"%d\0" % digit for digit in range(10))
"""Every digit is a token of its own, at the index of its code."""
_MAX_TOKENS = 4096
_MAX_MARKERS = 1 << 17
_BLOCK, _SEQ = 256, 3
"""Names of a block, each of which has a marker, and bytes of each in ``kallsyms_seqs_of_names``."""
_MAX_SEQS = _SEQ << 20
_INDEX_SIZE = 512
_MAX_SPAN = 1 << 30
"""Most that the first and the last of the kernel's own symbols are apart from the beginning of its code."""
_SLACK = 1 << 15
"""Most that the last, unmarked block of names can take."""


def search_tables(read: Reader, info: VmcoreInfo) -> KallsymsTables | None:
    """
    Seek the tables in the kernel's image, in front of what VMCOREINFO tells to be in its data.

    :return: Their addresses, or ``None``.
    """
    start = info.symbol("_stext")
    if start is None:
        return None
    limit = start + _MAX_IMAGE
    ends = [place for name in _IN_DATA if start < (place := info.symbol(name) or 0) < limit]
    return find_tables(read, start, min(ends, default=limit) - start)


def told_tables(tables: KallsymsTables) -> bytes:
    """Return lines of VMCOREINFO that tell where the tables are, as kernels since v6.0 do."""
    places = asdict(tables).items()
    lines = [f"SYMBOL(kallsyms_{name})={place:x}\n" for name, place in places if place]
    return "".join(lines).encode()


def find_tables(read: Reader, start: int, size: int) -> KallsymsTables | None:
    """
    Seek the tables in a range of memory, from its end.

    :param start: Where the kernel's text begins (``_stext``).
    :return: Their addresses, or ``None``.
    """
    search = _Search(read, start)
    for place, image in _chunks(read, start, size):
        at = image.find(_DIGITS)
        while at >= 0:
            found = search.around(place + at + 1)
            if found:
                return found
            at = image.find(_DIGITS, at + 1)
    return None


def _chunks(read: Reader, start: int, size: int, step: int = _CHUNK) -> Iterator[tuple[int, bytes]]:
    """Iterate backwards over the pieces that can be read, each with the beginning of the next."""
    for place in range(start + (size - 1) // step * step, start - 1, -step):
        count = min(step, start + size - place)
        try:
            yield place, read(place, count + len(_DIGITS))
        except FaultError:
            if step > _PAGE:
                yield from _chunks(read, place, count, _PAGE)
            else:
                yield from _page(read, place)


def _page(read: Reader, place: int) -> Iterator[tuple[int, bytes]]:
    """Read a page without the one after it."""
    with suppress(FaultError):
        yield place, read(place, _PAGE)


class _Search:
    def __init__(self, read: Reader, start: int) -> None:
        self._read = read
        self._start = start

    def around(self, digits: int) -> KallsymsTables | None:
        """Return the tables if the digits at an address are those of ``kallsyms_token_table``."""
        try:
            tokens = self._token_table(digits)
            return self._before(*tokens) if tokens else None
        except (FaultError, struct.error):
            return None

    def _up_to_hole(self, place: int, size: int) -> bytes:
        """Read up to *size* bytes; less if the page after that of *place* is missing."""
        try:
            return self._read(place, size)
        except FaultError:
            return self._read(place, _PAGE - place % _PAGE)

    def _token_table(self, digits: int) -> tuple[int, int] | None:
        """Return the addresses of ``kallsyms_token_table`` and ``kallsyms_token_index``."""
        first = _aligned(digits)
        after = self._up_to_hole(first, _MAX_TOKENS)
        for at in range(0, len(after) - 512, 8):
            index = array("H", after[at : at + 512])
            if index[0] == 0 and all(index[i + 1] - index[i] == 2 for i in range(48, 57)):
                table = digits - index[48]
                if table % 8 == 0 and table + index[255] < first + at:
                    return table, first + at
        return None

    def _before(self, table: int, index: int) -> KallsymsTables | None:
        """Find markers, names and the rest, backwards from ``kallsyms_token_table``."""
        for find in (self._markers, self._markers_before_seqs):
            for code in ("I", "Q"):
                for place, markers in find(table, code):
                    num = self._num_syms(place - markers[-1], markers)
                    if num and (found := self._addresses(num, table, index)):
                        return found
        return None

    def _markers(self, table: int, code: str) -> Iterator[tuple[int, "array[int]"]]:
        """Iterate over address and values of ``kallsyms_markers``: ascending numbers from 0 that end at *table*."""
        words = self._words_before(table, code, _MAX_MARKERS)
        end = len(words) if words[-1] else len(words) - 1
        start = end - 1
        while start > 0 and words[start] > words[start - 1]:
            start -= 1
        if not words[start] and end - start > 1:
            yield table - (len(words) - start) * words.itemsize, words[start:end]

    def _markers_before_seqs(self, table: int, code: str) -> Iterator[tuple[int, "array[int]"]]:
        """The same, where ``kallsyms_seqs_of_names`` is in front of *table*; its size tells how many markers there are."""
        words = self._words_before(table, code, _MAX_SEQS)
        for start in _zeros(words):
            rest = (len(words) - start) * words.itemsize
            least = max(rest - 14, 0) // (words.itemsize + _SEQ * _BLOCK)
            for count in range(max(least, 2), least + 3):
                found = words[start : start + count]
                if rest % 8 == 0 and all(a < b for a, b in pairwise(found)):
                    yield table - rest, found

    def _words_before(self, table: int, code: str, limit: int) -> "array[int]":
        size = min(limit, table - self._start) // 8 * 8
        return array(code, self._read(table - size, size))

    def _num_syms(self, latest: int, markers: "array[int]") -> int | None:
        """Return the address of ``kallsyms_num_syms``: the names follow it, and begin at *latest* at most."""
        for names in range(latest // 8 * 8, max(latest - _SLACK, self._start + 8), -8):
            (count,) = struct.unpack("<Q", self._read(names - 8, 8))
            if -(-count // 256) == len(markers):
                block = split_names(self._read(names, markers[1]))
                if sum(1 for _ in block) == 256:
                    return names - 8
        return None

    def _addresses(self, num: int, table: int, index: int) -> KallsymsTables | None:
        """
        Tell offsets from whole addresses: before ``kallsyms_num_syms`` is their base or the last of them.

        Or neither is, and the offsets and their base follow ``kallsyms_token_index``.
        """
        count = int.from_bytes(self._read(num, 4), "little")
        last = int.from_bytes(self._read(num - 8, 8), "little")
        if self._start < last < self._start + _MAX_SPAN:
            return KallsymsTables(num, num + 8, table, index, addresses=num - 8 * count)
        after, size = index + _INDEX_SIZE, _aligned(4 * count)
        for offsets in (num - 8 - size, after):
            base = int.from_bytes(self._read(offsets + size, 8), "little")
            if self._start - _MAX_SPAN < base <= self._start:
                return KallsymsTables(num, num + 8, table, index, offsets, offsets + size)
        return None


def _zeros(words: "array[int]") -> Iterator[int]:
    """Iterate over the numbers of the words that are 0."""
    with suppress(ValueError):
        at = -1
        while True:
            yield (at := words.index(0, at + 1))


def _aligned(size: int) -> int:
    return -(-size // 8) * 8
