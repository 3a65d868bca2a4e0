"""Hands a dump file to drgn, and says in one sentence why it cannot."""

import logging

from drgn import Architecture, BadDataError, FaultError, Platform, PlatformFlags, Program

from rdmadiag.errors import UserError
from rdmadiag.vmcore.corefile import CoreFile
from rdmadiag.vmcore.kdump_pages import KdumpPages
from rdmadiag.vmcore.physical import PAGE, MemoryReader, by_pages
from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("open_program",)

logging.getLogger("drgn").addHandler(logging.NullHandler())
# drgn logs hints for people at a prompt; what matters of them is said in problems.

_BITS = PlatformFlags.IS_64_BIT | PlatformFlags.IS_LITTLE_ENDIAN


def open_program(core: CoreFile) -> Program:
    """
    Return a program with the dump's memory.

    :raises UserError: if drgn cannot read it
    """
    prog = Program(_platform(core))
    try:
        if core.kind == "live":
            prog.set_kernel()
        else:
            prog.set_core_dump(core.path)
    except Exception as error:
        # libkdumpfile's errors come as bare Exception: only these, and what drgn documents.
        known = (ValueError, OSError, BadDataError, FaultError)
        if type(error) is not Exception and not isinstance(error, known):
            raise
        raise UserError(f"{core.path}: {_sentence(str(error))}") from error
    if core.is_cut:
        return by_pages(prog, core, _checked(prog, core))
    if core.kind in ("live", "elf") or (not core.by_pages and _translates(prog, core)):
        return prog
    return by_pages(prog, core)


def _checked(prog: Program, core: CoreFile) -> MemoryReader | None:
    """Return a reader of physical memory that does not take what was cut off for zeros."""
    if not core.kdump:
        return None
    pages = KdumpPages(core.path, core.kdump, core.size)

    def read(address: int, count: int, _offset: int, _physical: bool) -> bytes:
        for pfn in range(address // PAGE, (address + count - 1) // PAGE + 1):
            if pages.is_lost(pfn):
                raise FaultError("page is cut off", pfn * PAGE)
        raw: bytes = prog.read(address, count, True)
        return raw

    return read


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


def _platform(core: CoreFile) -> Platform | None:
    """
    Return the platform, where the file does not tell it: QEMU leaves the header's utsname empty.

    VMCOREINFO has ``phys_base`` on x86-64 only and ``VA_BITS`` on arm64 and riscv.
    """
    if not core.kdump or core.kdump.machine:
        return None
    if b"NUMBER(phys_base)" in core.vmcoreinfo:
        return Platform(Architecture.X86_64, _BITS)
    if b"NUMBER(VA_BITS)" in core.vmcoreinfo:
        return Platform(Architecture.AARCH64, _BITS)
    return None


def _sentence(text: str) -> str:
    """Shorten libkdumpfile's chain of reasons to the last one, the first cause."""
    if "flattened" in text.lower():
        return f"the flattened dump is damaged ({text.rsplit(': ', 1)[-1]})"
    return f"cannot be opened: {text.rsplit(': ', 1)[-1]}"
