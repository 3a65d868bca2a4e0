"""A kdump-compressed file again with other page compressions: what makedumpfile writes when it has them built in.

Debian 12's makedumpfile has neither snappy nor zstd, takes the option, and leaves pages uncompressed.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import mmap
import struct
import zlib
from typing import TYPE_CHECKING

import zstandard

from .paths import LabError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ZLIB, SNAPPY, ZSTD = 0x1, 0x4, 0x20
STATUS = 424  # of struct disk_dump_header: status, block_size, sub_hdr_size, bitmap_blocks
DESCRIPTOR = struct.Struct("<QIIQ")  # struct page_desc: offset, size, flags, page_flags


def _snappy() -> Callable[[bytes], bytes]:
    library = ctypes.CDLL(ctypes.util.find_library("snappy") or "libsnappy.so.1")

    def compress(data: bytes) -> bytes:
        size = ctypes.c_size_t(library.snappy_max_compressed_length(ctypes.c_size_t(len(data))))
        out = ctypes.create_string_buffer(size.value)
        if library.snappy_compress(data, ctypes.c_size_t(len(data)), out, ctypes.byref(size)):
            raise LabError("snappy failed")
        return out.raw[: size.value]

    return compress


COMPRESSIONS: dict[str, tuple[int, Callable[[], Callable[[bytes], bytes]]]] = {
    "snappy": (SNAPPY, _snappy),
    "zstd": (ZSTD, lambda: zstandard.ZstdCompressor(level=1).compress),
}


def recompress(source: Path, to: Path, form: str) -> None:
    """Write a zlib dump again, its pages compressed as ``snappy`` or ``zstd``.

    :raises LabError: the source is no kdump-compressed file with zlib pages
    """
    flag, make = COMPRESSIONS[form]
    compress = make()
    with source.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as dump:
        if dump[:8] != b"KDUMP   ":
            raise LabError(f"{source}: not kdump-compressed")
        status, block, sub, bitmaps = struct.unpack_from("<IiiI", dump, STATUS)
        table = (1 + sub + bitmaps) * block
        second = dump[table - bitmaps * block // 2 : table]
        count = int.from_bytes(second, "little").bit_count()
        header = bytearray(dump[:table])
        struct.pack_into("<I", header, STATUS, status & ~0x27 | flag)
        at = table + count * DESCRIPTOR.size
        places: dict[int, tuple[int, int, int]] = {}
        rows = []
        with to.open("wb") as out:
            out.seek(at)
            for offset, size, flags, page_flags in DESCRIPTOR.iter_unpack(dump[table:at]):
                if offset not in places:
                    data = dump[offset : offset + size]
                    page = zlib.decompress(data) if flags & ZLIB else data
                    packed = compress(page)
                    small = len(packed) < len(page)
                    places[offset] = (at, len(packed if small else page), flag if small else 0)
                    at += out.write(packed if small else page)
                rows.append(DESCRIPTOR.pack(*places[offset], page_flags))
            out.seek(0)
            out.write(header + b"".join(rows))
