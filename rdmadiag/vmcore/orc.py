"""
ORC
---

The kernel's unwind tables (``arch/x86/include/asm/orc_types.h``), read in memory: for each range of
instructions, where the previous frame's stack pointer and frame pointer are.

The layout of ``struct orc_entry`` is taken from the dump's own types. Since Linux kernel commit
fb799447ae29 ("x86,objtool: Split UNWIND_HINT_EMPTY in two") (in v6.4) ``type`` has a value for the end of the
stack, and the member ``end`` is gone; the member tells which numbering it is. The registers (``ORC_REG_*``) were
numbered anew without any change of the layout (after v6.12): the entries themselves tell, as nearly all count from
``sp`` and ``prev_sp``.
"""

from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from drgn import FaultError, Program, Type, sizeof

if TYPE_CHECKING:
    from rdmadiag.vmcore.modules import Module
    from rdmadiag.vmcore.symbols import SymbolTable

__all__ = ("OrcEntry", "OrcTables", "Reg", "Unwind")


class Reg:
    """``ORC_REG_*``: where an address is counted from, in the numbers of v4.14."""

    UNDEFINED = 0
    PREV_SP = 1
    DX = 2
    DI = 3
    BP = 4
    SP = 5
    R10 = 6
    R13 = 7
    BP_INDIRECT = 8
    SP_INDIRECT = 9
    AX = 10


_REGS_BY_NEW_NUMBER = (
    Reg.UNDEFINED,
    Reg.AX,
    Reg.DX,
    Reg.SP,
    Reg.BP,
    Reg.DI,
    Reg.R10,
    Reg.R13,
    Reg.PREV_SP,
    Reg.SP_INDIRECT,
    Reg.BP_INDIRECT,
)
_OLD_SP, _OLD_PREV_SP, _NEW_SP, _NEW_PREV_SP = 5, 1, 3, 8
_PAGE = 4096


class Unwind:
    """What kind of frame it is, whatever number ``ORC_TYPE_*`` or ``UNWIND_HINT_TYPE_*`` has."""

    UNDEFINED = "undefined"
    END = "end"
    CALL = "call"
    REGS = "regs"
    REGS_PARTIAL = "regs_partial"


_OLD_TYPES = (Unwind.CALL, Unwind.REGS, Unwind.REGS_PARTIAL, Unwind.UNDEFINED)
_NEW_TYPES = (Unwind.UNDEFINED, Unwind.END, Unwind.CALL, Unwind.REGS, Unwind.REGS_PARTIAL)


class OrcEntry(NamedTuple):
    """``struct orc_entry``, decoded."""

    sp_offset: int
    bp_offset: int
    sp_reg: int
    bp_reg: int
    kind: str
    signal: bool


class _Table(NamedTuple):
    ips: int
    entries: int
    length: int


class OrcTables:
    """
    All ORC tables of a dump.

    :raises LookupError: if the kernel has none, or its ``struct orc_entry`` is not known
    """

    def __init__(self, prog: Program, symbols: "SymbolTable") -> None:
        self._prog = prog
        self._symbols = symbols
        type_ = prog.type("struct orc_entry")
        self._size = sizeof(type_)
        self._decode = _decoder(type_)
        self._vmlinux = _vmlinux_table(symbols)
        self._text = _text(symbols)
        self._tables: dict[str, _Table | None] = {}
        self._renumbered: bool | None = None
        self._cache: dict[int, OrcEntry | None] = {}

    def at(self, pc: int) -> OrcEntry | None:
        """
        Return the entry for an instruction, or ``None`` when no table has one.

        :raises FaultError: if the table cannot be read
        """
        try:
            return self._cache[pc]
        except KeyError:
            entry = self._cache[pc] = self._at(pc)
            return entry

    def _at(self, pc: int) -> OrcEntry | None:
        modules = self._symbols.modules
        module = modules.containing(pc) if modules else None
        table = self._module_table(module) if module else self._vmlinux
        if table is None or not (module or any(pc in text for text in self._text)):
            return None
        index = self._bisect(table, pc)
        if index < 0:
            return None
        place = table.entries + index * self._size
        raw = self._prog.read(place, self._size)
        if self._renumbered is None:
            self._renumbered = self._are_renumbered(table, index)
        entry = self._decode(int.from_bytes(raw, "little"))
        return _renumber(entry) if self._renumbered else entry

    def _are_renumbered(self, table: _Table, index: int) -> bool | None:
        """Tell from an entry and its neighbours in the same page how registers are numbered; ``None``: cannot be told."""
        place = table.entries + index * self._size
        before = min(index, place % _PAGE // self._size)
        after = min(table.length - index, max(1, (_PAGE - place % _PAGE) // self._size))
        first, size = place - before * self._size, self._size
        raw = self._prog.read(first, (before + after) * size)
        entries = [
            self._decode(int.from_bytes(raw[i : i + size], "little"))
            for i in range(0, len(raw), size)
        ]
        old = sum((e.sp_reg == _OLD_SP) + (e.bp_reg == _OLD_PREV_SP) for e in entries)
        new = sum((e.sp_reg == _NEW_SP) + (e.bp_reg == _NEW_PREV_SP) for e in entries)
        return None if old == new else new > old

    def _module_table(self, module: "Module") -> _Table | None:
        """Return the table of a module: ``module.arch`` is a ``struct mod_arch_specific``."""
        if module.name not in self._tables:
            try:
                arch = module.object.arch
                table = _Table(
                    arch.orc_unwind_ip.value_(), arch.orc_unwind.value_(), arch.num_orcs.value_()
                )
            except (AttributeError, FaultError):
                table = _Table(0, 0, 0)
            self._tables[module.name] = table if table.length and table.ips else None
        return self._tables[module.name]

    def _bisect(self, table: _Table, pc: int) -> int:
        """Return the number of the last entry at or before *pc*, -1 when there is none."""
        read, ips = self._prog.read_u32, table.ips

        def address(index: int) -> int:
            place = ips + 4 * index
            offset: int = read(place)
            return place + offset - ((offset & 0x80000000) << 1)

        return bisect_right(range(table.length), pc, key=address) - 1


def _text(symbols: "SymbolTable") -> list[range]:
    """Return the addresses of the kernel's code: all of it, and that for booting."""
    ranges = []
    for names in (("_stext", "_etext"), ("_sinittext", "_einittext")):
        start, end = (symbols.find(name, "") for name in names)
        if start and end:
            ranges.append(range(start.address, end.address))
    if not ranges:
        raise LookupError("the bounds of the kernel's code (_stext, _etext) were not found")
    return ranges


def _vmlinux_table(symbols: "SymbolTable") -> _Table:
    names = ("__start_orc_unwind_ip", "__stop_orc_unwind_ip", "__start_orc_unwind")
    start, stop, entries = (symbols.find(name, "") for name in names)
    if not start or not stop or not entries:
        raise LookupError("this kernel has no ORC tables (CONFIG_UNWINDER_ORC)")
    return _Table(start.address, entries.address, (stop.address - start.address) // 4)


def _decoder(type_: Type) -> Callable[[int], OrcEntry]:
    """Return a function that decodes the bits of a ``struct orc_entry`` of this layout."""
    fields = {
        member.name: (member.bit_offset, member.bit_field_size or 8 * sizeof(member.type))
        for member in type_.members or ()
    }
    old = "end" in fields or fields.get("type", (0, 0))[1] < 3
    kinds = _OLD_TYPES if old else _NEW_TYPES

    def field(raw: int, name: str) -> int:
        offset, bits = fields.get(name, (0, 0))
        value: int = raw >> offset & ((1 << bits) - 1)
        return value

    def decode(raw: int) -> OrcEntry:
        kind = field(raw, "type")
        name = kinds[kind] if kind < len(kinds) else Unwind.UNDEFINED
        if old and field(raw, "sp_reg") == Reg.UNDEFINED:
            name = Unwind.END if field(raw, "end") else Unwind.UNDEFINED
        return OrcEntry(
            _signed16(field(raw, "sp_offset")),
            _signed16(field(raw, "bp_offset")),
            field(raw, "sp_reg"),
            field(raw, "bp_reg"),
            name,
            bool(field(raw, "signal")),
        )

    return decode


def _renumber(entry: OrcEntry) -> OrcEntry:
    """Return an entry with the old numbers of its registers; what has none stays a number that is no register."""
    sp_reg, bp_reg = (
        _REGS_BY_NEW_NUMBER[reg] if reg < len(_REGS_BY_NEW_NUMBER) else reg
        for reg in (entry.sp_reg, entry.bp_reg)
    )
    return entry._replace(sp_reg=sp_reg, bp_reg=bp_reg)


def _signed16(value: int) -> int:
    return value - 0x10000 if value & 0x8000 else value
