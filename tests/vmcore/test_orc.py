"""ORC tables made by hand, with the register numbers of both generations."""

import struct

import drgn
import pytest

from rdmadiag.vmcore.orc import OrcTables, Reg, Unwind
from rdmadiag.vmcore.symbols import Symbol

from .test_printk import PLATFORM

TEXT, IPS, ENTRIES = 0xFFFFFFFF81000000, 0xFFFFFFFF82000000, 0xFFFFFFFF82100FFC
"""The first entry lies over the end of a page."""
CALL, REGS = 2, 3
OLD = {"prev_sp": 1, "dx": 2, "di": 3, "bp": 4, "sp": 5, "r10": 6, "r13": 7, "": 0}
NEW = {"ax": 1, "dx": 2, "sp": 3, "bp": 4, "di": 5, "r10": 6, "r13": 7, "prev_sp": 8, "": 0}
FUNCTIONS = [
    *((8, 0, "sp", "", CALL), (16, -16, "sp", "prev_sp", CALL), (16, -16, "bp", "prev_sp", CALL)),
    (0, 0, "di", "", REGS),
    (0, 0, "r10", "bp", CALL),
]


class Symbols:
    modules = None

    def __init__(self, count):
        self.places = {
            "_stext": TEXT,
            "_etext": TEXT + 0x10000,
            "__start_orc_unwind_ip": IPS,
            "__stop_orc_unwind_ip": IPS + 4 * count,
            "__start_orc_unwind": ENTRIES,
        }

    def find(self, name, module):
        assert module == ""
        place = self.places.get(name)
        return None if place is None else Symbol(name, place, 0)


def tables(functions, numbers):
    prog = drgn.Program(PLATFORM)
    short, small = prog.int_type("short", 2, True), prog.int_type("unsigned int", 4, False)
    members = [drgn.TypeMember(short, "sp_offset", 0), drgn.TypeMember(short, "bp_offset", 16)]
    at = 32
    for name, bits in (("sp_reg", 4), ("bp_reg", 4), ("type", 3), ("signal", 1)):
        field = drgn.Object(prog, small, value=0, bit_field_size=bits)
        members.append(drgn.TypeMember(field, name, at))
        at += bits
    found = prog.struct_type("orc_entry", 6, members)
    prog.register_type_finder("made", lambda *_: found, enable_index=0)
    entries = b"".join(
        struct.pack("<hhH", sp, bp, numbers[sp_reg] | numbers[bp_reg] << 4 | kind << 8)
        for sp, bp, sp_reg, bp_reg, kind in functions
    )
    ips = b"".join(struct.pack("<i", TEXT + 16 * i - IPS - 4 * i) for i in range(len(functions)))
    for place, data in ((IPS, ips), (ENTRIES, entries)):
        prog.add_memory_segment(
            place, len(data), lambda _a, n, at, _p, data=data: data[at : at + n], False
        )
    return OrcTables(prog, Symbols(len(functions)))


@pytest.mark.parametrize("numbers", [OLD, NEW], ids=["v4.14", "later"])
def test_registers_are_told_in_both_numberings(numbers):
    orc = tables(FUNCTIONS, numbers)
    got = [orc.at(TEXT + 16 * i + 3)[:5] for i in range(len(FUNCTIONS))]
    assert got == [
        (8, 0, Reg.SP, Reg.UNDEFINED, Unwind.CALL),
        (16, -16, Reg.SP, Reg.PREV_SP, Unwind.CALL),
        (16, -16, Reg.BP, Reg.PREV_SP, Unwind.CALL),
        (0, 0, Reg.DI, Reg.UNDEFINED, Unwind.REGS),
        (0, 0, Reg.R10, Reg.BP, Unwind.CALL),
    ]


def test_ax_is_a_register_of_the_later_numbering():
    orc = tables([*FUNCTIONS, (0, 0, "ax", "", CALL)], NEW)
    assert orc.at(TEXT + 16 * len(FUNCTIONS)).sp_reg == Reg.AX


def test_a_number_that_is_no_register_stays_one():
    orc = tables([*FUNCTIONS, (0, 0, "odd", "", CALL)], {**NEW, "odd": 15})
    assert orc.at(TEXT + 16 * len(FUNCTIONS)).sp_reg == 15


def test_what_cannot_be_told_yet_is_told_by_a_later_page():
    frames = [(16, -16, "bp", "bp", CALL)] * 700
    orc = tables([*frames, *FUNCTIONS], NEW)
    assert orc.at(TEXT).sp_reg == Reg.BP
    assert orc.at(TEXT + 16 * 700).sp_reg == Reg.SP
