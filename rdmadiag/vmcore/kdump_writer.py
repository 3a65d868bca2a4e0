"""
Kdump writer
------------

Writes pages as a dump in the kdump-compressed format, version 6 (makedumpfile's ``diskdump_mod.h``), which
drgn, crash and this package read.

The file is: header, sub-header with the notes, one bitmap (of the pages in the file), page descriptors, pages.
"""

import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import BinaryIO

import msgspec

from rdmadiag.vmcore.notes import pack_note

__all__ = ("KdumpContents", "write_kdump")

PAGE = 4096
_VERSION, _ZLIB = 6, 1
_DESCRIPTOR = struct.Struct("<QIIQ")


class KdumpContents(msgspec.Struct, frozen=True):
    """
    What is written.

    :ivar utsname: ``struct new_utsname``, 390 bytes.
    :ivar notes: ELF notes (NT_PRSTATUS of the CPUs), without VMCOREINFO.
    :ivar vmcoreinfo: Text of the VMCOREINFO note.
    :ivar max_mapnr: Number of page frames of the machine.
    :ivar dump_level: What makedumpfile left out of the dump that the pages come from.
    :ivar pages: Page frame number to page.
    """

    utsname: bytes
    notes: bytes
    vmcoreinfo: bytes
    phys_base: int
    max_mapnr: int
    nr_cpus: int
    dump_level: int
    pages: Mapping[int, bytes]


def write_kdump(out: BinaryIO, contents: KdumpContents) -> None:
    """Write a dump; parts of the bitmap without pages are left as holes in the file."""
    notes_at = PAGE + 128
    notes = contents.notes + pack_note(b"VMCOREINFO", 0, contents.vmcoreinfo)
    sub_blocks = _blocks(notes_at + len(notes) - PAGE)
    bitmap_blocks = _blocks(-(-contents.max_mapnr // 8))
    out.write(_header(contents, sub_blocks, bitmap_blocks))
    out.seek(PAGE)
    out.write(_sub_header(contents, notes_at, notes))
    out.seek(notes_at)
    out.write(notes)
    _write_bitmap(out, (1 + sub_blocks) * PAGE, contents.pages)
    _write_pages(out, (1 + sub_blocks + bitmap_blocks) * PAGE, contents.pages)


def _blocks(size: int) -> int:
    return -(-size // PAGE)


def _header(contents: KdumpContents, sub_blocks: int, bitmap_blocks: int) -> bytes:
    """Pack a ``struct disk_dump_header``."""
    head = struct.pack("<8si390s", b"KDUMP   ", _VERSION, contents.utsname)
    mapnr = min(contents.max_mapnr, 0xFFFFFFFF)
    rest = struct.pack(
        "<IiiIIIIIIi",
        _ZLIB,
        PAGE,
        sub_blocks,
        bitmap_blocks,
        mapnr,
        0,
        0,
        len(contents.pages),
        0,
        contents.nr_cpus,
    )
    return head.ljust(424, b"\0") + rest


def _sub_header(contents: KdumpContents, notes_at: int, notes: bytes) -> bytes:
    """Pack a ``struct kdump_sub_header``; the text of VMCOREINFO is the last of the notes."""
    info_at = notes_at + notes.rindex(contents.vmcoreinfo)
    return struct.pack(
        "<QiiQQQQQQQQQQQ",
        contents.phys_base & 0xFFFFFFFFFFFFFFFF,
        contents.dump_level,
        0,
        0,
        0,
        info_at,
        len(contents.vmcoreinfo),
        notes_at,
        len(notes),
        0,
        0,
        0,
        0,
        contents.max_mapnr,
    )


def _write_bitmap(out: BinaryIO, start: int, pages: Iterable[int]) -> None:
    blocks: dict[int, bytearray] = {}
    for pfn in pages:
        block, bit = divmod(pfn, 8 * PAGE)
        blocks.setdefault(block, bytearray(PAGE))[bit // 8] |= 1 << bit % 8
    for block, bits in blocks.items():
        out.seek(start + block * PAGE)
        out.write(bits)


def _write_pages(out: BinaryIO, start: int, pages: Mapping[int, bytes]) -> None:
    """Write descriptors and pages, in the order of page frames; equal pages (zeros) are written once."""
    place = start + len(pages) * _DESCRIPTOR.size
    descriptors, bodies = bytearray(), list[bytes]()
    known: dict[bytes, tuple[int, int, int]] = {}
    for pfn in sorted(pages):
        page = pages[pfn]
        if page not in known:
            body, flags = _compress(page)
            known[page] = place, len(body), flags
            bodies.append(body)
            place += len(body)
        descriptors += _DESCRIPTOR.pack(*known[page], 0)
    out.seek(start)
    out.write(descriptors)
    out.writelines(bodies)


def _compress(page: bytes) -> tuple[bytes, int]:
    body = zlib.compress(page, 9)
    return (body, _ZLIB) if len(body) < len(page) else (page, 0)
