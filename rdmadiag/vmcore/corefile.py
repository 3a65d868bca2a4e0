"""
Core files
----------

What a dump file says of itself before anything in it is interpreted: its format, whether it is whole, and
its notes. The formats are ELF cores, the kdump-compressed format (makedumpfile's ``diskdump_mod.h``) and
that format flattened, as QEMU and ``makedumpfile -F`` write it.
"""

import json
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from rdmadiag.errors import UserError
from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.notes import NT_PRSTATUS, notes_of, pack_note

__all__ = ("LIVE", "CoreFile", "KdumpHeader", "pack_origin", "read_core_file")

LIVE = "/proc/kcore"
"""The running kernel: opened only under this very name."""

ELF, KDUMP, FLATTENED = b"\x7fELF", b"KDUMP   ", b"makedumpfile\0\0\0\0"
INCOMPLETE, EXCLUDED_VMEMMAP = 0x8, 0x10
"""``DUMP_DH_COMPRESSED_INCOMPLETE`` and ``DUMP_DH_EXCLUDED_VMEMMAP`` of the header's status."""

_FLAT_HEADER, _FLAT_RECORDS, _FLAT_END = 4096, 256, b"\xff" * 16
_MAX_NOTES = 64 << 20
_PLAUSIBLE = 256
"""A file that is cut to less than a 256th of what its page descriptors say is not cut but damaged."""
_DESCRIPTOR = 24
_PN_XNUM = 0xFFFF
_PT_NOTE, _ET_CORE = 4, 4
_NOTE = b"RDMADIAG"


@dataclass(frozen=True, slots=True)
class KdumpHeader:
    """
    ``struct disk_dump_header`` and ``struct kdump_sub_header``.

    :ivar bitmap_blocks: Blocks of both bitmaps: pages that exist, and pages that are in the file; in a dump that
        is part of another (a capsule) of the second alone.
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
    vmcoreinfo: tuple[int, int]
    notes: tuple[int, int]
    eraseinfo: tuple[int, int]

    @property
    def machine(self) -> str:
        """Architecture of the kernel; empty in QEMU's dumps."""
        return self.utsname[4 * 65 : 5 * 65].split(b"\0", 1)[0].decode("ascii", "replace")

    @property
    def second_bitmap(self) -> tuple[int, int]:
        """Place and size of the bitmap of pages that are in the file."""
        start = (1 + self.sub_hdr_size) * self.block_size
        size = self.bitmap_blocks * self.block_size
        if self.max_mapnr > 4 * size:
            return start, size
        return start + size // 2, size // 2

    @property
    def descriptors(self) -> int:
        """Place of the page descriptors."""
        return (1 + self.sub_hdr_size + self.bitmap_blocks) * self.block_size


@dataclass(slots=True)
class CoreFile:
    """
    A dump file.

    :ivar kind: ``elf``, ``kdump``, ``flattened`` or ``live``.
    :ivar notes: ELF notes: NT_PRSTATUS of the CPUs, VMCOREINFO.
    :ivar is_cut: Whether pages are missing at the end of a kdump file.
    :ivar by_pages: Whether it was cut out of a dump that had to be read by pages.
    """

    path: Path
    kind: str
    size: int
    notes: bytes = b""
    kdump: KdumpHeader | None = None
    problems: list[Problem] = field(default_factory=list)
    is_cut: bool = False
    by_pages: bool = False

    @property
    def prstatus(self) -> list[bytes]:
        """``struct elf_prstatus`` of the CPUs that saved their registers, in their order."""
        notes = notes_of(self.notes)
        return [text for name, kind, text in notes if (name, kind) == (b"CORE", NT_PRSTATUS)]

    @property
    def vmcoreinfo(self) -> bytes:
        """Text of the VMCOREINFO note; empty when there is none."""
        return next((text for name, _, text in notes_of(self.notes) if name == b"VMCOREINFO"), b"")


def read_core_file(path: str | Path) -> CoreFile:
    """
    Read what a dump file says of itself.

    :raises UserError: if it is not a dump, or not enough of one
    """
    if str(path) == LIVE:
        return CoreFile(Path(path), "live", 0)
    try:
        _refuse_live(Path(path))
        with Path(path).open("rb") as file:
            core = _identify(Path(path), file)
    except (OSError, struct.error) as error:
        reason = (
            "is cut short inside its headers" if isinstance(error, struct.error) else error.strerror
        )
        raise UserError(f"{path}: {reason}") from error
    _unpack_origin(core)
    if not core.vmcoreinfo:
        raise UserError(f"{path}: has no VMCOREINFO note, so it is not a dump of a Linux kernel")
    return core


def pack_origin(core: CoreFile, *, by_pages: bool) -> bytes:
    """Return a note for a dump that is cut out of another: how that one was read, and what was wrong with it."""
    problems = [[problem.what, problem.where] for problem in core.problems]
    text = json.dumps({"problems": problems, "by_pages": by_pages})
    return pack_note(_NOTE, 1, text.encode()) if problems or by_pages else b""


def _unpack_origin(core: CoreFile) -> None:
    for name, _, text in notes_of(core.notes):
        if name == _NOTE:
            with suppress(ValueError, TypeError, KeyError):
                origin = json.loads(text)
                core.by_pages = bool(origin["by_pages"])
                core.problems += [
                    Problem(str(what), str(where)) for what, where in origin["problems"]
                ]


def _refuse_live(path: Path) -> None:
    if path.resolve() == Path(LIVE) or str(path.resolve()).startswith("/dev/"):
        raise UserError(f"{path}: leads to the running system, which is read only as {LIVE}")


def _identify(path: Path, file: BinaryIO) -> CoreFile:
    size = file.seek(0, os.SEEK_END)
    if not size:
        raise UserError(f"{path}: is empty")
    magic = _read(file, 0, 16)
    if magic.startswith(ELF):
        return _elf(CoreFile(path, "elf", size), file)
    if magic.startswith(KDUMP):
        return _kdump(CoreFile(path, "kdump", size), file)
    if magic == FLATTENED:
        return _flattened(CoreFile(path, "flattened", size), file)
    raise UserError(f"{path}: is not a kernel crash dump (neither an ELF core nor a kdump file)")


def _read(file: BinaryIO, offset: int, size: int) -> bytes:
    """Read a part of a file, as much of it as there is; the header may say anything."""
    end = file.seek(0, os.SEEK_END)
    file.seek(min(offset, end))
    return file.read(max(0, min(size, end - offset)))


def _elf(core: CoreFile, file: BinaryIO) -> CoreFile:
    """Read the program headers of a 64-bit little-endian core."""
    head = _read(file, 0, 64)
    if head[4:6] != b"\x02\x01":
        raise UserError(f"{core.path}: only dumps of 64-bit little-endian kernels can be read")
    (kind,) = struct.unpack_from("<H", head, 16)
    if kind != _ET_CORE:
        raise UserError(f"{core.path}: is an ELF file, but not a core")
    end = 0
    for type_, offset, size in _program_headers(file, head):
        end = max(end, offset + size)
        if type_ == _PT_NOTE:
            core.notes += _read(file, offset, min(size, _MAX_NOTES))
    if end > core.size:
        core.problems.append(_cut(core.size, end))
    return core


def _program_headers(file: BinaryIO, head: bytes) -> Iterator[tuple[int, int, int]]:
    """Iterate over type, place and size in the file of the segments."""
    phoff, shoff = struct.unpack_from("<QQ", head, 32)
    entry, count = struct.unpack_from("<HH", head, 54)
    if count == _PN_XNUM:
        (count,) = struct.unpack_from("<I", _read(file, shoff + 44, 4))
    table = _read(file, phoff, entry * count)
    for i in range(count):
        type_, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", table, i * entry)
        yield type_, offset, size


def _cut(size: int, end: int) -> Problem:
    missing = 100 * (end - size) / end
    return Problem(
        f"the dump is cut short: {size} of {end} bytes are there ({missing:.0f} % missing)"
    )


def _kdump(core: CoreFile, file: BinaryIO) -> CoreFile:
    core.kdump = header = _kdump_header(_read(file, 0, 464), lambda at, size: _read(file, at, size))
    if header.descriptors > core.size:
        raise UserError(f"{core.path}: is cut short inside its headers")
    for offset, size in (header.notes, header.vmcoreinfo):
        core.notes += _note(
            _read(file, offset, min(size, _MAX_NOTES)), offset == header.vmcoreinfo[0]
        )
    core.problems += _kdump_problems(core, header, file)
    return core


def _note(raw: bytes, is_vmcoreinfo: bool) -> bytes:
    """Return notes as they are, and the bare text of VMCOREINFO as a note (a second one does no harm)."""
    if not is_vmcoreinfo or not raw:
        return raw
    return pack_note(b"VMCOREINFO", 0, raw)


def _kdump_header(raw: bytes, read: Callable[[int, int], bytes]) -> KdumpHeader:
    (version,) = struct.unpack_from("<i", raw, 8)
    status, block, sub, bitmap, mapnr = struct.unpack_from("<IiiII", raw, 424)
    (nr_cpus,) = struct.unpack_from("<i", raw, 460)
    if not 512 <= block <= 1 << 20 or sub < 1:
        raise UserError("the kdump header is damaged")
    more = read(block, 104)
    phys_base, level, _ = struct.unpack_from("<QiI", more)
    places = struct.unpack_from("<6Q", more, 32)
    if version >= 6:
        (mapnr,) = struct.unpack_from("<Q", more, 96)
    pairs = list(zip(places[0::2], places[1::2], strict=True))
    return KdumpHeader(
        version, raw[12:402], status, block, sub, bitmap, nr_cpus, level, phys_base, mapnr, *pairs
    )  # fmt: skip


def _kdump_problems(core: CoreFile, header: KdumpHeader, file: BinaryIO) -> Iterator[Problem]:
    if header.status & INCOMPLETE:
        yield Problem("the dump is marked as incomplete: its writer ran out of space")
    if header.status & EXCLUDED_VMEMMAP:
        yield Problem("the dump was written without the pages of vmemmap")
    if header.eraseinfo[1]:
        yield Problem("parts of the dump were erased by its writer (eraseinfo)")
    end = _kdump_end(header, file, core.size)
    if end > _PLAUSIBLE * core.size:
        yield Problem("the dump's page descriptors are damaged")
    elif end > core.size:
        core.is_cut = True
        yield _cut(core.size, end)


def _kdump_end(header: KdumpHeader, file: BinaryIO, size: int) -> int:
    """Return where the last page ends, or as much of it as can be told."""
    start, length = header.second_bitmap
    pages = 0
    for offset in range(start, start + length, 1 << 20):
        part = _read(file, offset, min(1 << 20, start + length - offset))
        pages += int.from_bytes(part, "little").bit_count()
    end = header.descriptors + pages * _DESCRIPTOR
    if end > size:
        return end
    tail = min(pages, 4096)
    table = _read(file, end - tail * _DESCRIPTOR, tail * _DESCRIPTOR)
    ends = (offset + length for offset, length, _, _ in struct.iter_unpack("<QIIQ", table))
    return max(ends, default=end)


def _flattened(core: CoreFile, file: BinaryIO) -> CoreFile:
    """Read the first pieces of a flattened dump: the headers are among them."""
    if _read(file, core.size - 16, 16) != _FLAT_END:
        # What is missing would be read as zeros.
        raise UserError(f"{core.path}: is a flattened dump that is cut short")
    pieces: dict[int, bytes] = {}
    place = _FLAT_HEADER
    for _ in range(_FLAT_RECORDS):
        head = _read(file, place, 16)
        offset, size = struct.unpack(">qq", head) if len(head) == 16 else (-1, 0)
        if offset < 0 or size <= 0:
            break
        if place + size > core.size:
            raise UserError(f"{core.path}: is a flattened dump that is damaged")
        pieces[offset] = _read(file, place + 16, min(size, _MAX_NOTES))
        place += 16 + size

    def read(at: int, size: int) -> bytes:
        for offset, piece in pieces.items():
            if offset <= at < offset + len(piece):
                return piece[at - offset : at - offset + size]
        return b""

    core.kdump = header = _kdump_header(read(0, 464), read)
    for at, size in (header.notes, header.vmcoreinfo):
        core.notes += _note(read(at, size), at == header.vmcoreinfo[0])
    return core
