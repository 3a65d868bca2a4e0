"""
Kdump headers
-------------

``struct disk_dump_header`` and ``struct kdump_sub_header`` of the kdump-compressed format (makedumpfile's
``diskdump_mod.h``), and what they tell of the file.
"""

import struct
from collections.abc import Callable, Iterator

import msgspec

from rdmadiag.facts.model import Problem

__all__ = (
    "DESCRIPTOR",
    "FileReader",
    "KdumpHeader",
    "count_pages",
    "end_of_pages",
    "marks_of",
    "parse_header",
)

FileReader = Callable[[int, int], bytes]
"""Reads a part of a file, by place and size; as much of it as there is."""

DESCRIPTOR = 24
"""Bytes of a ``struct page_desc``."""

INCOMPLETE, EXCLUDED_VMEMMAP = 0x8, 0x10
"""``DUMP_DH_COMPRESSED_INCOMPLETE`` and ``DUMP_DH_EXCLUDED_VMEMMAP`` of the status."""

_CHUNK = 24 << 16
_HEADER = "<8xi412xIiiII16xi"
"""What is wanted of the first header: version, status, sizes, number of CPUs."""
_SUB_HEADER, _SUB_HEADER_SIZE = (("<Qi", 0), ("<6Q", 32)), 104
"""What is wanted of the second: base and level; places and sizes of VMCOREINFO, notes, erased information."""


class KdumpHeader(msgspec.Struct, frozen=True):
    """
    Both headers.

    :ivar bitmap_blocks: Blocks of both bitmaps: pages that exist, and pages that are in the file; in a dump
        that is part of another (a capsule) of the second alone.
    :ivar part: Page frames of which this file has the pages, when the dump was split into several files; the
        bitmaps are the whole dump's in each.
    :ivar vmcoreinfo: Place and size; so *notes*, *eraseinfo*.
    """

    version: int
    utsname: bytes
    status: int
    block_size: int
    sub_hdr_size: int
    bitmap_blocks: int
    nr_cpus: int
    dump_level: int
    phys_base: int
    max_mapnr: int
    part: range | None
    vmcoreinfo: tuple[int, int]
    notes: tuple[int, int]
    eraseinfo: tuple[int, int]

    @property
    def machine(self) -> str:
        """Architecture of the kernel; empty in QEMU's dumps."""
        return self.utsname[4 * 65 : 5 * 65].split(b"\0", 1)[0].decode("ascii", "replace")

    @property
    def is_part(self) -> bool:
        """Whether the dump is part of another, as a capsule is: it has one bitmap."""
        return self.max_mapnr > 4 * self.bitmap_blocks * self.block_size

    @property
    def second_bitmap(self) -> tuple[int, int]:
        """Place and size of the bitmap of pages that are in the file."""
        start = (1 + self.sub_hdr_size) * self.block_size
        size = self.bitmap_blocks * self.block_size
        if self.is_part:
            return start, size
        return start + size // 2, size // 2

    @property
    def descriptors(self) -> int:
        """Place of the page descriptors."""
        return (1 + self.sub_hdr_size + self.bitmap_blocks) * self.block_size


def parse_header(read: FileReader) -> KdumpHeader:
    """
    Parse the headers of a file.

    :raises struct.error: if it ends inside them
    :raises ValueError: if they cannot be right
    """
    raw = read(0, 464)
    version, status, block, sub, bitmap, mapnr, nr_cpus = struct.unpack_from(_HEADER, raw)
    if not 512 <= block <= 1 << 20 or sub < 1:
        raise ValueError("the kdump header is damaged")
    more = read(block, _SUB_HEADER_SIZE)
    (phys_base, level), places = (struct.unpack_from(form, more, at) for form, at in _SUB_HEADER)
    part, mapnr = _frames(more, version, mapnr)
    return KdumpHeader(
        version=version,
        utsname=raw[12:402],
        status=status,
        block_size=block,
        sub_hdr_size=sub,
        bitmap_blocks=bitmap,
        nr_cpus=nr_cpus,
        dump_level=level,
        phys_base=phys_base,
        max_mapnr=mapnr,
        part=part,
        vmcoreinfo=places[0:2],
        notes=places[2:4],
        eraseinfo=places[4:6],
    )


def _frames(more: bytes, version: int, mapnr: int) -> tuple[range | None, int]:
    """Return the page frames of a part of a split dump, and how many there are in all; numbers of 64 bits since version 6."""
    split, start, end = struct.unpack_from("<iQQ", more, 12)
    if version >= 6:
        start, end, mapnr = struct.unpack_from("<3Q", more, 80)
    return range(start, max(start, end)) if split else None, mapnr


def marks_of(header: KdumpHeader) -> Iterator[Problem]:
    """Iterate over what the writer of the dump says is missing."""
    if header.status & INCOMPLETE:
        yield Problem("the dump is marked as incomplete: its writer ran out of space")
    if header.status & EXCLUDED_VMEMMAP:
        yield Problem("the dump was written without the pages of vmemmap")
    if header.eraseinfo[1]:
        yield Problem("parts of the dump were erased by its writer (eraseinfo)")


def end_of_pages(header: KdumpHeader, read: FileReader, size: int) -> int:
    """
    Return where the last page ends; when the page descriptors are not all there, where they end.

    All are looked at: libkdumpfile would die of a page that lies after the end of the file.

    :param size: Size of the file.
    """
    pages = count_pages(header, read, header.part)
    end = header.descriptors + pages * DESCRIPTOR
    if end > size:
        return end
    for part in _parts(read, header.descriptors, pages * DESCRIPTOR):
        end = max(end, _end_in(part, header.block_size))
    return end


def count_pages(header: KdumpHeader, read: FileReader, frames: range | None = None) -> int:
    """
    Return how many pages the second bitmap has.

    :param frames: Count those of these page frames only.
    """
    start, length = header.second_bitmap
    first, last = (frames.start, frames.stop) if frames is not None else (0, 8 * length)
    count = 0
    for at in range(first // 8, min(-(-last // 8), length), _CHUNK):
        bits = int.from_bytes(read(start + at, min(_CHUNK, length - at)), "little")
        bits &= (1 << min(last - 8 * at, 8 * _CHUNK)) - 1
        count += (bits >> max(first - 8 * at, 0)).bit_count()
    return count


def _parts(read: FileReader, start: int, length: int) -> Iterator[bytes]:
    for offset in range(start, start + length, _CHUNK):
        yield read(offset, min(_CHUNK, start + length - offset))


def _end_in(descriptors: bytes, block_size: int) -> int:
    """Return the highest end of a page; an impossible length counts as an impossible end."""
    offsets = memoryview(descriptors).cast("Q")[0::3]
    sizes = memoryview(descriptors).cast("I")[2::6]
    if max(sizes) > block_size:
        return 1 << 63
    last = max(offsets)
    ends = (offset + size for offset, size in zip(offsets, sizes, strict=True) if offset == last)
    return max(ends)
