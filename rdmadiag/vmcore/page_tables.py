"""The kernel's own page tables (x86-64), for those who want all of them and not only what a walk needs."""

import struct
from collections.abc import Iterator

from drgn import FaultError, Program

from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("kernel_page_tables",)

PAGE = 4096
MAX_TABLES = 1 << 16
_KERNEL_MAP = 0xFFFFFFFF80000000
_PRESENT, _HUGE, _FRAME = 1, 1 << 7, 0x000FFFFFFFFFF000


def kernel_page_tables(prog: Program, info: VmcoreInfo) -> dict[int, bytes]:
    """
    Return the pages of all tables of the upper half, by page frame number; those that can be read.

    :param prog: Program with the dump's physical memory.
    """
    root, base = info.symbol("swapper_pg_dir"), info.number("phys_base")
    if root is None or base is None:
        return {}
    levels = 5 if info.number("pgtable_l5_enabled") else 4
    tables: dict[int, bytes] = {}
    waiting = [((root - _KERNEL_MAP + base) // PAGE, levels)]
    while waiting and len(tables) < MAX_TABLES:
        pfn, level = waiting.pop()
        if pfn in tables:
            continue
        try:
            tables[pfn] = prog.read(pfn * PAGE, PAGE, True)
        except FaultError:
            continue
        if level > 1:
            first = 256 if level == levels else 0
            waiting += ((entry, level - 1) for entry in _tables_in(tables[pfn], first))
    return tables


def _tables_in(table: bytes, first: int) -> Iterator[int]:
    """Iterate over the page frame numbers of the tables that a table points to."""
    for (entry,) in struct.iter_unpack("<Q", table[8 * first :]):
        if entry & _PRESENT and not entry & _HUGE:
            yield (entry & _FRAME) // PAGE
