"""The kernel's page tables of arm64, in physical memory made by hand."""

import struct

import drgn
import pytest

from rdmadiag.vmcore.page_tables import kernel_page_tables
from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

OFFSET = 0xFFFF_8000_3FE0_0000
TABLE, BLOCK = 0b11, 0b01


class Memory:
    """Physical memory of tables; all else is not there."""

    def __init__(self, page: int) -> None:
        self.page = page
        self.tables: dict[int, bytearray] = {}
        self.prog = drgn.Program(drgn.Platform(drgn.Architecture.AARCH64))
        self.prog.add_memory_segment(0, 1 << 52, self._read, True)

    def _read(self, address: int, count: int, _offset: int, _physical: bool) -> bytes:
        if address not in self.tables:
            raise drgn.FaultError("not there", address)
        return bytes(self.tables[address][:count])

    def table(self, place: int, **entries: int) -> None:
        self.tables[place] = bytearray(self.page)
        for name, entry in entries.items():
            struct.pack_into("<Q", self.tables[place], 8 * int(name[1:]), entry)


def told(page: int, t1sz: int, root: int) -> str:
    lines = (
        *(f"SYMBOL(swapper_pg_dir)={OFFSET + root:x}", f"NUMBER(kimage_voffset)={OFFSET:#x}"),
        *(f"PAGESIZE={page}", f"NUMBER(TCR_EL1_T1SZ)={t1sz:#x}"),
    )
    return "\n".join(lines)


def info(page: int, t1sz: int, root: int) -> VmcoreInfo:
    return VmcoreInfo(told(page, t1sz, root).encode())


def test_48_bits():
    """Four levels; the last level's entries, blocks and what is not there lead nowhere."""
    memory = Memory(4096)
    memory.table(0x4000_0000, e511=0x4000_1000 | TABLE, e3=0x4000_9000 | TABLE)
    memory.table(0x4000_1000, e0=0x4000_2000 | TABLE, e1=0x4000_5000 | BLOCK, e2=0x4000_6000)
    memory.table(0x4000_2000, e5=0x4000_3000 | TABLE | 1 << 54)
    memory.table(0x4000_3000, e7=0x4000_7000 | TABLE)
    for place in (0x4000_5000, 0x4000_6000, 0x4000_7000):
        memory.table(place)
    found = kernel_page_tables(memory.prog, info(4096, 16, 0x4000_0000))
    assert sorted(found) == [0x40000, 0x40001, 0x40002, 0x40003]
    assert found[0x40001] == bytes(memory.tables[0x4000_1000])


def test_39_bits():
    memory = Memory(4096)
    memory.table(0x4000_0000, e511=0x4000_1000 | TABLE)
    memory.table(0x4000_1000, e0=0x4000_2000 | TABLE)
    memory.table(0x4000_2000, e0=0x4000_3000 | TABLE)
    memory.table(0x4000_3000)
    assert len(kernel_page_tables(memory.prog, info(4096, 25, 0x4000_0000))) == 3


def test_52_bits_with_pages_of_4_kib():
    """Five levels, sixteen entries in the first; bits 8 and 9 are bits 50 and 51 of the address."""
    memory = Memory(4096)
    memory.table(0x4000_0000, e15=0x4000_1000 | TABLE, e16=0x4000_8000 | TABLE)
    memory.table(0x4000_1000, e0=0x4000_2000 | TABLE | 0x3 << 8 | 1 << 48)
    memory.table(0x000D_0000_4000_2000)
    memory.table(0x4000_8000)
    found = kernel_page_tables(memory.prog, info(4096, 12, 0x4000_0000))
    assert sorted(found) == [0x40000, 0x40001, 0xD_0000_4000_2]


def test_52_bits_with_pages_of_64_kib():
    """Three levels; bits 12 to 15 are bits 48 to 51. A table is sixteen pages of a dump."""
    memory = Memory(65536)
    memory.table(0x4000_0000, e1023=0x4001_0000 | TABLE)
    memory.table(0x4001_0000, e0=0x4002_0000 | TABLE | 0x9 << 12)
    memory.table(0x0009_0000_4002_0000)
    found = kernel_page_tables(memory.prog, info(65536, 12, 0x4000_0000))
    assert len(found) == 3 * 16
    assert 0x9_0000_4002_F in found


def test_circle():
    memory = Memory(4096)
    memory.table(0x4000_0000, e0=0x4000_0000 | TABLE, e1=0x4000_1000 | TABLE)
    memory.table(0x4000_1000, e0=0x4000_0000 | TABLE, e1=0x4000_1000 | TABLE)
    assert sorted(kernel_page_tables(memory.prog, info(4096, 16, 0x4000_0000))) == [
        0x40000,
        0x40001,
    ]


@pytest.mark.parametrize(
    "change", [("=4096", "=8192"), ("T1SZ)=0x10", "T1SZ)=0x3f"), ("T1SZ", "X")]
)
def test_what_cannot_be(change):
    memory = Memory(4096)
    memory.table(0x4000_0000)
    text = told(4096, 16, 0x4000_0000)
    assert kernel_page_tables(memory.prog, VmcoreInfo(text.encode()))
    assert not kernel_page_tables(memory.prog, VmcoreInfo(text.replace(*change).encode()))
