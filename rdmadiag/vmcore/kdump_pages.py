"""
Pages of a kdump file
---------------------

Which pages are really in a file that is cut short: libkdumpfile reads zeros where an uncompressed page lies
after the end of the file.
"""

import mmap
import struct
from pathlib import Path

from rdmadiag.vmcore.kdump_header import DESCRIPTOR, KdumpHeader

__all__ = ("KdumpPages",)

_CHUNK = 512
"""Bytes of the bitmap between two counts that are kept."""


class KdumpPages:
    """
    The page descriptors of a kdump file.

    :raises OSError: if the file cannot be read
    """

    def __init__(self, path: Path, header: KdumpHeader, size: int) -> None:
        self._size = size
        self._table = header.descriptors
        start, length = header.second_bitmap
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        self._bitmap = self._data[start : start + length]
        self._known: dict[int, bool] = {}
        self._before = [0]
        for place in range(0, length, _CHUNK):
            chunk = self._bitmap[place : place + _CHUNK]
            self._before.append(self._before[-1] + int.from_bytes(chunk, "little").bit_count())

    def is_lost(self, pfn: int) -> bool:
        """Tell whether a page frame should be in the file, but lies after its end."""
        if pfn not in self._known:
            self._known[pfn] = self._is_lost(pfn)
        return self._known[pfn]

    def _is_lost(self, pfn: int) -> bool:
        byte, bit = divmod(pfn, 8)
        if byte >= len(self._bitmap) or not self._bitmap[byte] >> bit & 1:
            return False
        place = self._table + self._rank(byte, bit) * DESCRIPTOR
        if place + DESCRIPTOR > self._size:
            return True
        offset, size = struct.unpack_from("<QI", self._data, place)
        return bool(offset + size > self._size)

    def _rank(self, byte: int, bit: int) -> int:
        """Return how many pages of lower frames are in the file."""
        chunk = byte // _CHUNK
        part = int.from_bytes(self._bitmap[chunk * _CHUNK : byte + 1], "little")
        below = part & ((1 << (8 * (byte % _CHUNK) + bit)) - 1)
        return self._before[chunk] + below.bit_count()
