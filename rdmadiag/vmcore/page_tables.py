"""The kernel's own page tables (x86-64, arm64), for those who want all of them and not only what a walk needs."""

import struct
from collections.abc import Callable, Iterator

import msgspec
from drgn import FaultError, Program

from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("kernel_page_tables",)

PAGE = 4096
MAX_TABLES = 1 << 16
_KERNEL_MAP = 0xFFFFFFFF80000000


class _Format(msgspec.Struct, frozen=True):
    """
    What page tables look like.

    :ivar root: Physical address of the first table.
    :ivar entries: Which entries of it are the kernel's.
    :ivar shift: log2 of the bytes of a table.
    :ivar next_table: Function from an entry to the physical address of the table it points to; ``None``: to none.
    """

    root: int
    entries: range
    levels: int
    shift: int
    next_table: Callable[[int], int | None]


def kernel_page_tables(prog: Program, info: VmcoreInfo) -> dict[int, bytes]:
    """
    Return the pages of all tables of the upper half, by page frame number; those that can be read.

    :param prog: Program with the dump's physical memory.
    """
    form = _x86(info) or _arm64(info)
    if not form:
        return {}
    pages: dict[int, bytes] = {}
    seen = set[int]()
    waiting = [(form.root, form.levels)]
    while waiting and len(seen) < MAX_TABLES:
        place, level = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        try:
            table = prog.read(place, 1 << form.shift, True)
        except FaultError:
            continue
        pages |= _pages_of(table, place)
        if level > 1:
            entries = form.entries if level == form.levels else range(len(table) // 8)
            waiting += ((found, level - 1) for found in _tables_in(table, entries, form))
    return pages


def _pages_of(table: bytes, place: int) -> dict[int, bytes]:
    return {(place + at) // PAGE: table[at : at + PAGE] for at in range(0, len(table), PAGE)}


def _tables_in(table: bytes, entries: range, form: _Format) -> Iterator[int]:
    """Iterate over the places of the tables that a table points to."""
    words = struct.unpack_from(f"<{len(entries)}Q", table, 8 * entries.start)
    for word in words:
        found = form.next_table(word)
        if found is not None:
            yield found


def _x86(info: VmcoreInfo) -> _Format | None:
    root, base = info.symbol("swapper_pg_dir"), info.number("phys_base")
    if root is None or base is None:
        return None
    levels = 5 if info.number("pgtable_l5_enabled") else 4
    present, huge, frame = 1, 1 << 7, 0x000FFFFFFFFFF000

    def next_table(entry: int) -> int | None:
        return entry & frame if entry & present and not entry & huge else None

    return _Format(root - _KERNEL_MAP + base, range(256, 512), levels, 12, next_table)


def _arm64(info: VmcoreInfo) -> _Format | None:
    """
    Return the format of arm64: pages of 4, 16 or 64 KiB, addresses of 39 to 52 bits (``TCR_EL1.T1SZ``).

    Where addresses have more than 48 bits, a table may lie above 2^48: the bits that do not fit are bits 8 and 9 of an
    entry, with pages of 64 KiB bits 12 to 15 (Arm Architecture Reference Manual, D8.3).
    """
    root, offset = info.symbol("swapper_pg_dir"), info.number("kimage_voffset")
    size, free = info.get("PAGESIZE"), info.number("TCR_EL1_T1SZ")
    if root is None or offset is None or free is None or size not in ("4096", "16384", "65536"):
        return None
    shift, bits = int(size).bit_length() - 1, 64 - free
    if not shift < bits <= 52:
        return None
    levels = -(-(bits - shift) // (shift - 3))
    top = bits - shift - (levels - 1) * (shift - 3)
    wide, frame = bits > 48, ((1 << 48) - 1) & -(1 << shift)
    table, kind = 0b11, 0b11

    def next_table(entry: int) -> int | None:
        if entry & kind != table:
            return None
        if not wide:
            return entry & frame
        if shift == 16:
            return (entry & frame) | (entry >> 12 & 0xF) << 48
        return (entry & (0x3 << 48 | frame)) | (entry >> 8 & 0x3) << 50

    return _Format(root - offset & (1 << 64) - 1, range(1 << top), levels, shift, next_table)
