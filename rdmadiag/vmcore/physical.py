"""
Physical memory
---------------

A program over the physical pages of a dump, which finds virtual addresses itself: to see which pages are
read, and for dumps that libkdumpfile cannot translate because a page table is missing.
"""

from collections.abc import Callable
from functools import lru_cache

from drgn import Architecture, FaultError, Platform, PlatformFlags, Program

from rdmadiag.vmcore.corefile import CoreFile
from rdmadiag.vmcore.kallsyms import Kallsyms, tables_of_vmcoreinfo
from rdmadiag.vmcore.kallsyms_search import search_tables
from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("MemoryReader", "by_pages", "platform_of")

MemoryReader = Callable[[int, int, int, bool], bytes]
"""Reads memory: address, size, offset in the segment, whether the address is physical."""

_BITS = PlatformFlags.IS_64_BIT | PlatformFlags.IS_LITTLE_ENDIAN
_PHYSICAL_LIMIT = 1 << 52
_DIRECT_MAP_SIZE = 1 << 46
_KERNEL_HALF = 1 << 63
_PAGE, _KEPT_PAGES = 4096, 1 << 14
_KERNEL_MAP = 0xFFFFFFFF80000000
"""``__START_KERNEL_map`` of x86-64."""


def platform_of(core: CoreFile) -> Platform | None:
    """
    Return the platform of a kdump file, ``None`` when drgn has to find out.

    QEMU leaves the header's utsname empty. VMCOREINFO has ``phys_base`` on x86-64 only, and
    ``kimage_voffset`` on arm64.
    """
    if b"NUMBER(phys_base)" in core.vmcoreinfo:
        return Platform(Architecture.X86_64, _BITS)
    if b"NUMBER(kimage_voffset)" in core.vmcoreinfo:
        return Platform(Architecture.AARCH64, _BITS)
    return None


def by_pages(core: CoreFile, read: MemoryReader, *, linear: bool = True) -> Program:
    """
    Return a program over the physical memory of a dump.

    :param read: Reads physical memory.
    :param linear: Find the kernel's image and its direct map without page tables.
    """
    walker, prog = (_over(core, read) for _ in range(2))
    if linear:
        _map_linearly(walker, VmcoreInfo(core.vmcoreinfo))
    prog.add_memory_segment(_KERNEL_HALF, _KERNEL_HALF, _keeping_pages(walker))
    return prog


def _over(core: CoreFile, read: MemoryReader) -> Program:
    prog = Program(platform_of(core), vmcoreinfo=core.vmcoreinfo)
    prog.add_memory_segment(0, _PHYSICAL_LIMIT, read, True)
    prog.set_linux_kernel_custom(core.vmcoreinfo, False)
    return prog


def _keeping_pages(walker: Program) -> MemoryReader:
    """Return a reader of the kernel's memory that keeps what was read last: a walk through page tables is long in Python."""

    @lru_cache(_KEPT_PAGES)
    def page(address: int) -> bytes:
        raw: bytes = walker.read(address, _PAGE)
        return raw

    def read(address: int, count: int, _offset: int, _physical: bool) -> bytes:
        start = address & -_PAGE
        pages = [page(place) for place in range(start, address + count, _PAGE)]
        whole = pages[0] if len(pages) == 1 else b"".join(pages)
        return whole[address - start : address - start + count]

    return read


def _map_linearly(prog: Program, info: VmcoreInfo) -> None:
    """Map what is linear on x86-64: the kernel's image, and all memory at ``page_offset_base``."""
    phys_base, size = info.number("phys_base"), info.number("KERNEL_IMAGE_SIZE")
    if phys_base is None or size is None:
        return
    _add_linear(prog, _KERNEL_MAP, size, phys_base)
    tables = tables_of_vmcoreinfo(info) or search_tables(prog.read, info)
    try:
        kallsyms = Kallsyms(prog.read, tables) if tables else None
        base = next(kallsyms.symbols_named("page_offset_base"), None) if kallsyms else None
        if base:
            _add_linear(prog, prog.read_u64(base.address), _DIRECT_MAP_SIZE, 0)
    except (FaultError, LookupError, OverflowError):
        return


def _add_linear(prog: Program, start: int, size: int, physical: int) -> None:
    def read(_address: int, count: int, offset: int, _physical: bool) -> bytes:
        raw: bytes = prog.read(physical + offset, count, True)
        return raw

    prog.add_memory_segment(start, size, read, False)
