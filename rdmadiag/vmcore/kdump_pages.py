"""
Pages of a kdump file
---------------------

Reads the pages of a kdump file one by one where libkdumpfile cannot: of a damaged file (where a page lies after the
end of the file it reads zeros, or dies), and of one whose pages are not of the kernel's size.
"""

import os
import struct
import weakref
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import zstandard
from drgn import FaultError

from rdmadiag.vmcore.kdump_flat import FlatFile
from rdmadiag.vmcore.kdump_header import DESCRIPTOR, KdumpHeader

__all__ = ("KdumpPages",)

_CHUNK = 512
"""Bytes of the bitmap between two counts that are kept."""
_KEPT = 64 << 20
"""Bytes of pages that are kept: most reads are of a few bytes, and most of them are near each other."""
_RAW, _ZLIB, _ZSTD = 0, 0x1, 0x20
"""``DUMP_DH_COMPRESSED_*``; lzo and snappy are left to others."""


class KdumpPages:
    """
    The pages of a kdump file.

    :param other: Reads a page that is compressed in another way than this can undo, by address and size.
    :param flat: Whether the file is flattened.
    :raises OSError: if the file cannot be read
    """

    def __init__(
        self,
        path: Path,
        header: KdumpHeader,
        other: Callable[[int, int], bytes],
        *,
        flat: bool = False,
    ) -> None:
        self._page_size = header.block_size
        self._table = header.descriptors
        self._other = other
        # Not mapped: where another program cuts the file short meanwhile, that would be the end of this one.
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._file)
        self._size = os.fstat(self._file).st_size
        self._flat = FlatFile(self._file) if flat else None
        start, length = header.second_bitmap
        self._bitmap = self._bytes(start, length)
        # What the header says of a damaged file may be far more than it has.
        length = len(self._bitmap)
        self._frames = header.part if header.part is not None else range(8 * length)
        self._page = lru_cache(_KEPT // self._page_size)(self._read_page)
        self._before = [0]
        for place in range(0, length, _CHUNK):
            chunk = self._bitmap[place : place + _CHUNK]
            self._before.append(self._before[-1] + int.from_bytes(chunk, "little").bit_count())
        self._skipped = self._rank(*divmod(self._frames.start, 8))

    def read(self, address: int, count: int, _offset: int, _physical: bool) -> bytes:
        """
        Read physical memory: the interface of drgn's memory segments.

        :raises FaultError: if a page is not in the file, or damaged
        """
        size = self._page_size
        pages = range(address // size, (address + count - 1) // size + 1)
        start = address % size
        return b"".join([self._page(pfn) for pfn in pages])[start : start + count]

    def _bytes(self, place: int, count: int) -> bytes:
        """Return a part of the file; less of it where that ends."""
        if self._flat:
            return self._flat.read(place, count)
        if place >= self._size:
            return b""
        return os.pread(self._file, min(count, self._size - place), place)

    def _read_page(self, pfn: int) -> bytes:
        address = pfn * self._page_size
        byte, bit = divmod(pfn, 8)
        if (
            pfn not in self._frames
            or byte >= len(self._bitmap)
            or not self._bitmap[byte] >> bit & 1
        ):
            raise FaultError("page is not in the dump", address)
        place = self._table + (self._rank(byte, bit) - self._skipped) * DESCRIPTOR
        descriptor = self._bytes(place, DESCRIPTOR)
        if len(descriptor) < DESCRIPTOR:
            raise FaultError("page is cut off", address)
        offset, size, flags = struct.unpack_from("<QII", descriptor)
        body = self._bytes(offset, size) if size <= self._page_size else b""
        if len(body) < size:
            raise FaultError("page is cut off", address)
        page = self._decompress(body, flags, address)
        if len(page) != self._page_size:
            raise FaultError("page is damaged", address)
        return page

    def _decompress(self, body: bytes, flags: int, address: int) -> bytes:
        try:
            if flags == _RAW:
                return body
            if flags & _ZLIB:
                return zlib.decompressobj().decompress(body, self._page_size + 1)
            if flags & _ZSTD:
                return zstandard.ZstdDecompressor().decompress(body, self._page_size)
        except (zlib.error, zstandard.ZstdError) as error:
            raise FaultError("page is damaged", address) from error
        return self._other(address, self._page_size)

    def _rank(self, byte: int, bit: int) -> int:
        """Return how many pages of lower frames are in the file."""
        chunk = min(byte // _CHUNK, len(self._before) - 1)
        part = int.from_bytes(self._bitmap[chunk * _CHUNK : byte + 1], "little")
        below = part & ((1 << (8 * (byte % _CHUNK) + bit)) - 1)
        return self._before[chunk] + below.bit_count()
