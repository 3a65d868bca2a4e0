"""Hands a dump file to drgn, and says in one sentence why it cannot."""

import logging

from drgn import BadDataError, FaultError, Program

from rdmadiag.errors import UserError
from rdmadiag.vmcore.corefile import CoreFile
from rdmadiag.vmcore.faults import DrgnError, drgn_errors
from rdmadiag.vmcore.kdump_pages import KdumpPages
from rdmadiag.vmcore.mapped import say_when_lost
from rdmadiag.vmcore.notes import pack_note
from rdmadiag.vmcore.physical import MemoryReader, by_pages, platform_of
from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("open_program",)

_OTHER_PAGES = (
    "has pages that are not of the kernel's size and compressed with lzo or snappy, which cannot be read: write it "
    "without compression or with zlib"
)

logging.getLogger("drgn").addHandler(logging.NullHandler())
# drgn logs hints for people at a prompt; what matters of them is said in problems.


def open_program(core: CoreFile) -> Program:
    """
    Return a program with the dump's memory.

    :raises UserError: if drgn cannot read it
    """
    try:
        with drgn_errors(ValueError, OSError, BadDataError, FaultError):
            return _open(core)
    except DrgnError as error:
        raise UserError(f"{core.path}: {_sentence(str(error))}") from error


def _open(core: CoreFile) -> Program:
    if core.parts:
        return _open_parts(core)
    if core.is_cut or _has_other_pages(core):
        return by_pages(core, _page_reader(core))
    return _open_running(core) if core.is_running else _open_whole(core)


def _open_whole(core: CoreFile) -> Program:
    prog = _program_of(core)
    if core.kind == "elf" or (not core.by_pages and _translates(prog, core)):
        return prog
    return by_pages(core, _reader_of(prog))


def _program_of(core: CoreFile) -> Program:
    """Return drgn's own program on a file."""
    prog = Program(platform_of(core))
    say_when_lost(core.path)
    prog.set_core_dump(core.path)
    return prog


def _open_running(core: CoreFile) -> Program:
    """Open a kernel that runs, and take its VMCOREINFO."""
    if core.kind == "guest":
        from rdmadiag.vmcore.guest import Guest

        guest = Guest(core.path)
        core.notes = pack_note(b"VMCOREINFO", 0, guest.vmcoreinfo)
        return by_pages(core, guest.read)
    prog = Program()
    prog.set_kernel()
    core.notes = pack_note(b"VMCOREINFO", 0, prog["VMCOREINFO"].string_())
    return prog


def _reader_of(prog: Program) -> MemoryReader:
    def read(address: int, count: int, _offset: int, _physical: bool) -> bytes:
        raw: bytes = prog.read(address, count, True)
        return raw

    return read


def _has_other_pages(core: CoreFile) -> bool:
    """
    Tell whether the pages of a kdump file are not of the kernel's size.

    QEMU writes pages of 64 KiB for arm64, whatever the guest's are; libkdumpfile goes by VMCOREINFO.
    """
    size = VmcoreInfo(core.vmcoreinfo).get("PAGESIZE")
    return bool(core.kdump and size.isdecimal() and int(size) != core.kdump.block_size)


def _page_reader(core: CoreFile) -> MemoryReader:
    """Return a reader of the pages of a kdump file that libkdumpfile cannot read."""
    if not core.kdump:
        raise ValueError("no kdump file")
    prog = Program(platform_of(core))

    def other(address: int, count: int) -> bytes:
        if _has_other_pages(core):
            raise UserError(f"{core.path}: {_OTHER_PAGES}")
        if prog.core_dump_path is None:
            say_when_lost(core.path)
            prog.set_core_dump(core.path)
        raw: bytes = prog.read(address, count, True)
        return raw

    return KdumpPages(core.path, core.kdump, other, flat=core.kind == "flattened").read


def _open_parts(core: CoreFile) -> Program:
    """Open the files of a split dump: drgn takes one file, so each gets a program, and the page frame says which is asked."""
    readers: list[tuple[range, MemoryReader]] = []
    for part in core.parts:
        header = part.kdump
        if header and header.part:
            size = header.block_size
            addresses = range(header.part.start * size, header.part.stop * size)
            readers.append((addresses, _reader_of_part(part)))

    def read(address: int, count: int, _offset: int, _physical: bool) -> bytes:
        found = b""
        while len(found) < count:
            at = address + len(found)
            addresses, reader = _part_with(readers, at)
            found += reader(at, min(count - len(found), addresses.stop - at), 0, True)
        return found

    return by_pages(core, read)


def _reader_of_part(part: CoreFile) -> MemoryReader:
    if part.is_cut:
        return _page_reader(part)
    return _reader_of(_program_of(part))


def _part_with(
    readers: list[tuple[range, MemoryReader]], address: int
) -> tuple[range, MemoryReader]:
    for addresses, reader in readers:
        if address in addresses:
            return addresses, reader
    raise FaultError("page is in a part of the dump that is not there", address)


def _translates(prog: Program, core: CoreFile) -> bool:
    """
    Tell whether the kernel's page table can be read by its virtual address.

    libkdumpfile starts from the page table of the process that ran last, where the dump has it; when that
    page is missing it can translate nothing, though the kernel's own table may be there.
    """
    try:
        prog.read(VmcoreInfo(core.vmcoreinfo).symbol("swapper_pg_dir") or 0, 1)
    except FaultError:
        return False
    return True


def _sentence(text: str) -> str:
    """Shorten libkdumpfile's chain of reasons to the last one, the first cause."""
    if "flattened" in text.lower():
        return f"the flattened dump is damaged ({text.rsplit(': ', 1)[-1]})"
    return f"cannot be opened: {text.rsplit(': ', 1)[-1]}"
