"""
Core files
----------

What a dump file says of itself before anything in it is interpreted: its format, whether it is whole, and
its notes. The formats are ELF cores, the kdump-compressed format, and that format flattened, as QEMU and
``makedumpfile -F`` write it.
"""

import json
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec.structs import astuple

from rdmadiag import __version__
from rdmadiag.errors import UserError
from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.kdump_header import (
    FileReader,
    KdumpHeader,
    end_of_pages,
    marks_of,
    parse_header,
)
from rdmadiag.vmcore.notes import NT_PRSTATUS, notes_of, pack_note

__all__ = ("LIVE", "CoreFile", "KdumpHeader", "pack_origin", "read_core_file")

LIVE = "/proc/kcore"
"""The running kernel: opened only under this very name."""

ELF, KDUMP, FLATTENED = b"\x7fELF", b"KDUMP   ", b"makedumpfile\0\0\0\0"

_FLAT_HEADER, _FLAT_RECORDS, _FLAT_END = 4096, 256, b"\xff" * 16
_MAX_NOTES, _MAX_HEADERS, _MAX_PIECES = 64 << 20, 256 << 20, 256 << 20
_PHDR = 56
_PLAUSIBLE = 256
"""A file that is cut to less than a 256th of what its page descriptors say is not cut but damaged."""
_PN_XNUM = 0xFFFF
_PT_NOTE, _ET_CORE = 4, 4
_NOTE = b"RDMADIAG"


class CoreFile(msgspec.Struct):
    """
    A dump file.

    :ivar kind: ``elf``, ``kdump``, ``flattened``; ``live`` (the running kernel) or ``guest`` (a running guest's).
    :ivar notes: ELF notes: NT_PRSTATUS of the CPUs, VMCOREINFO.
    :ivar is_cut: Whether pages of a kdump file lie, or seem to lie, after its end.
    :ivar by_pages: Whether it was cut out of a dump that had to be read by pages.
    :ivar cut_by: Version of the rdmadiag that has cut it out of another dump; ``""`` where it does not tell, ``None``
        when it is no capsule.
    :ivar parts: Of a split dump the files of it that are read together, this one among them, by their page frames.
    """

    path: Path
    kind: str
    size: int
    notes: bytes = b""
    kdump: KdumpHeader | None = None
    problems: list[Problem] = []
    is_cut: bool = False
    by_pages: bool = False
    cut_by: str | None = None
    parts: tuple["CoreFile", ...] = ()

    @property
    def is_running(self) -> bool:
        """Whether it is no dump but memory in use."""
        return self.kind in ("live", "guest")

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
        return _running(path, "live", "the running kernel")
    try:
        if Path(path).is_socket():
            return _running(path, "guest", "a running guest")
        _refuse_live(Path(path))
        if not Path(path).is_file():
            raise UserError(f"{path}: {_no_file(Path(path))}")
        with Path(path).open("rb") as file:
            core = _identify(Path(path), file)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{path}: {error}") from error
    except struct.error as error:
        raise UserError(f"{path}: is cut short inside its headers") from error
    _unpack_origin(core)
    if not core.vmcoreinfo:
        raise UserError(f"{path}: has no VMCOREINFO note, so it is not a dump of a Linux kernel")
    return core


def _running(path: str | Path, kind: str, name: str) -> CoreFile:
    """Return what the notes are read from only when it is opened."""
    what = f"was read from {name}, not from a dump: what is read changes while it is read"
    return CoreFile(Path(path), kind, 0, problems=[Problem(what, remark=True)])


def _no_file(path: Path) -> str:
    if path.is_dir():
        return "is a directory"
    return (
        "is no plain file: save it as one first" if path.exists() else "No such file or directory"
    )


def pack_origin(core: CoreFile, *, by_pages: bool) -> bytes:
    """Return a note for a dump that is cut out of another: by whom, how that one was read, and what was wrong with it."""
    problems = [astuple(problem) for problem in core.problems]
    # A capsule that is cut out of another has no more than that one.
    version = __version__ if core.cut_by is None else core.cut_by
    origin = {"problems": problems, "by_pages": by_pages, "version": version}
    return pack_note(_NOTE, 1, json.dumps(origin).encode())


def _unpack_origin(core: CoreFile) -> None:
    if core.kdump and core.kdump.is_part:
        core.cut_by = ""
    for name, _, text in notes_of(core.notes):
        if name == _NOTE:
            with suppress(ValueError, TypeError, KeyError):
                origin = json.loads(text)
                core.by_pages = bool(origin["by_pages"])
                for what, where, *remark in origin["problems"]:
                    core.problems.append(Problem(str(what), str(where), any(remark)))
                core.cut_by = str(origin["version"])


def _refuse_live(path: Path) -> None:
    if path.resolve() == Path(LIVE) or str(path.resolve()).startswith("/dev/"):
        raise UserError(f"{path}: leads to the running system, which is read only as {LIVE}")


def _identify(path: Path, file: BinaryIO) -> CoreFile:
    size = file.seek(0, os.SEEK_END)
    if not size:
        raise UserError(f"{path}: is empty")

    def read(offset: int, count: int) -> bytes:
        # The headers may say anything.
        file.seek(min(offset, size))
        return file.read(max(0, min(count, size - offset)))

    magic = read(0, 16)
    if magic.startswith(ELF):
        return _elf(CoreFile(path, "elf", size), read)
    if magic.startswith(KDUMP):
        return _kdump(CoreFile(path, "kdump", size), read)
    if magic == FLATTENED:
        return _flattened(CoreFile(path, "flattened", size), read)
    raise UserError(f"{path}: is not a kernel crash dump (neither an ELF core nor a kdump file)")


def _elf(core: CoreFile, read: FileReader) -> CoreFile:
    """Read the program headers of a 64-bit little-endian core."""
    head = read(0, 64)
    if head[4:6] != b"\x02\x01":
        raise UserError(f"{core.path}: only dumps of 64-bit little-endian kernels can be read")
    (kind,) = struct.unpack_from("<H", head, 16)
    if kind != _ET_CORE:
        raise UserError(f"{core.path}: is an ELF file, but not a core")
    end = 0
    for type_, offset, size in _program_headers(head, read):
        end = max(end, offset + size)
        if type_ == _PT_NOTE:
            core.notes += read(offset, min(size, _MAX_NOTES - len(core.notes)))
    if end > core.size:
        core.problems.append(_cut(core.size, end))
    return core


def _program_headers(head: bytes, read: FileReader) -> Iterator[tuple[int, int, int]]:
    """Iterate over type, place and size in the file of the segments."""
    phoff, shoff = struct.unpack_from("<QQ", head, 32)
    entry, count = struct.unpack_from("<HH", head, 54)
    if count == _PN_XNUM:
        (count,) = struct.unpack_from("<I", read(shoff + 44, 4))
    if count and not _PHDR <= entry <= _MAX_HEADERS // count:
        raise ValueError("the ELF program headers are damaged")
    table = read(phoff, entry * count)
    for i in range(count):
        type_, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", table, i * entry)
        yield type_, offset, size


def _cut(size: int, end: int) -> Problem:
    missing = 100 * (end - size) / end
    what = f"the dump is cut short: {size} of {end} bytes are there ({missing:.0f} % missing)"
    return Problem(what)


def _kdump(core: CoreFile, read: FileReader) -> CoreFile:
    header = parse_header(read)
    if header.descriptors > core.size:
        raise UserError(f"{core.path}: is cut short inside its headers")
    _take_header(core, header, read)
    end = end_of_pages(header, read, core.size)
    parts = (header.notes, header.vmcoreinfo, header.eraseinfo)
    damaged = any(place + size > core.size for place, size in parts)
    core.is_cut = damaged or end > core.size
    if damaged:
        core.problems.append(Problem("the dump's header names parts that lie after the dump's end"))
    if end > _PLAUSIBLE * core.size:
        core.problems.append(Problem("the dump's page descriptors are damaged"))
    elif end > core.size:
        core.problems.append(_cut(core.size, end))
    return core


def _take_header(core: CoreFile, header: KdumpHeader, read: FileReader) -> None:
    """Take in the notes; the bare text of VMCOREINFO as one more note, which does no harm."""
    core.kdump = header
    core.problems += marks_of(header)
    notes, info = (
        read(at, min(size, _MAX_NOTES)) for at, size in (header.notes, header.vmcoreinfo)
    )
    core.notes = notes + (pack_note(b"VMCOREINFO", 0, info) if info else b"")


def _flattened(core: CoreFile, read: FileReader) -> CoreFile:
    if read(core.size - 16, 16) != _FLAT_END:
        # What is missing would be read as zeros.
        raise UserError(f"{core.path}: is a flattened dump that is cut short")
    pieces = _first_pieces(core, read)

    def read_piece(at: int, size: int) -> bytes:
        for offset, piece in pieces.items():
            if offset <= at < offset + len(piece):
                return piece[at - offset : at - offset + size]
        return b""

    _take_header(core, parse_header(read_piece), read_piece)
    return core


def _first_pieces(core: CoreFile, read: FileReader) -> dict[int, bytes]:
    """Return the first pieces of a flattened dump by their place in it: the headers are among them."""
    pieces: dict[int, bytes] = {}
    place, left = _FLAT_HEADER, _MAX_PIECES
    for _ in range(_FLAT_RECORDS):
        offset, size = struct.unpack(">qq", read(place, 16))
        if offset < 0 or size <= 0:
            break
        if place + size > core.size:
            raise UserError(f"{core.path}: is a flattened dump that is damaged")
        pieces[offset] = read(place + 16, min(size, left))
        left -= len(pieces[offset])
        place += 16 + size
    return pieces
