"""
Unwinding
---------

Stacks of tasks with the kernel's own ORC tables, in the steps of ``arch/x86/kernel/unwind_orc.c``: from the
``struct inactive_task_frame`` of a sleeping task, or from saved registers, to the entry from user mode.
"""

from typing import TYPE_CHECKING

import msgspec
from drgn import FaultError, Object, Program, offsetof, sizeof

from rdmadiag.vmcore.faults import fault_text
from rdmadiag.vmcore.frames import Stack, frame_at
from rdmadiag.vmcore.orc import OrcEntry, OrcTables, Reg, Unwind

if TYPE_CHECKING:
    from rdmadiag.vmcore.symbols import SymbolTable

__all__ = ("OrcUnwinder", "Registers")

MAX_FRAMES = 512
_MASK = (1 << 64) - 1


class _BrokenError(Exception):
    """The stack cannot be followed further; the text says why."""


class Registers(msgspec.Struct):
    """
    Registers of a frame.

    :ivar call: Whether *pc* is a return address (the function is looked up one byte before it).
    :ivar others: Values of ``r10``, ``r13``, ``di``, ``dx``, ``ax`` where they are known.
    """

    pc: int
    sp: int
    bp: int = 0
    call: bool = True
    user: bool = False
    others: dict[int, int] = {}


class OrcUnwinder:
    """
    Unwinds with ORC.

    :raises LookupError: if tables or types are missing
    """

    def __init__(self, prog: Program, symbols: "SymbolTable") -> None:
        self._prog = prog
        self._symbols = symbols
        self._orc = OrcTables(prog, symbols)
        task, saved = prog.type("struct task_struct"), prog.type("struct inactive_task_frame")
        self._thread_sp = offsetof(task, "thread.sp")
        self._saved_size = sizeof(saved)
        self._saved_bp = offsetof(saved, "bp")
        self._saved_pc = offsetof(saved, "ret_addr")
        regs = prog.type("struct pt_regs")
        self._regs = {name: offsetof(regs, name) for name in ("ip", "sp", "bp", "cs")}
        names = {Reg.R10: "r10", Reg.R13: "r13", Reg.DI: "di", Reg.DX: "dx", Reg.AX: "ax"}
        self._other_regs = {number: offsetof(regs, name) for number, name in names.items()}

    def sleeping(self, task: Object) -> Registers:
        """
        Return the registers at which a task that is on no CPU goes on.

        :param task: ``struct task_struct *``
        :raises FaultError: if its stack cannot be read
        """
        sp = self._prog.read_u64(task.value_() + self._thread_sp)
        pc = self._prog.read_u64(sp + self._saved_pc)
        return Registers(pc, sp + self._saved_size, self._prog.read_u64(sp + self._saved_bp))

    def _read(self, address: int) -> int:
        value: int = self._prog.read_u64(address & _MASK)
        return value

    def unwind(self, regs: Registers, _task: Object | None = None) -> Stack:
        """Follow the stack from *regs* to its end."""
        stack, seen = Stack(), set[tuple[int, int]]()
        while len(stack) < MAX_FRAMES and not regs.user:
            if (regs.pc, regs.sp) in seen:
                stack.problem = f"the stack runs in a circle at {regs.sp:#x}"
                return stack
            seen.add((regs.pc, regs.sp))
            try:
                stack.append(frame_at(self._symbols, regs.pc, regs.sp, call=regs.call))
                following = self._step(regs)
            except FaultError as error:
                stack.problem = fault_text(error)
                return stack
            except _BrokenError as error:
                stack.problem = str(error)
                return stack
            if following is None:
                return stack
            regs = following
        if not regs.user:
            stack.problem = f"more than {MAX_FRAMES} frames"
        return stack

    def _step(self, regs: Registers) -> Registers | None:
        """Return the registers of the caller, ``None`` at the end of the stack."""
        entry = self._orc.at(regs.pc - 1 if regs.call else regs.pc)
        if entry is None:
            raise _BrokenError(f"no unwind data for {regs.pc:#x}")
        if entry.kind == Unwind.END:
            return None
        if entry.kind == Unwind.UNDEFINED:
            raise _BrokenError(f"the unwind data for {regs.pc:#x} is undefined")
        cfa = self._cfa(entry, regs)
        return self._caller(entry, cfa, regs)

    def _cfa(self, entry: OrcEntry, regs: Registers) -> int:
        """Return the stack pointer before the call (or the address of the saved registers)."""
        if entry.sp_reg == Reg.SP:
            return regs.sp + entry.sp_offset
        if entry.sp_reg == Reg.BP:
            return regs.bp + entry.sp_offset
        if entry.sp_reg == Reg.SP_INDIRECT:
            return self._read(regs.sp) + entry.sp_offset
        if entry.sp_reg == Reg.BP_INDIRECT:
            return self._read(regs.bp + entry.sp_offset)
        if entry.sp_reg in regs.others:
            return regs.others[entry.sp_reg]
        raise _BrokenError(f"the stack pointer at {regs.pc:#x} is in a register that is not known")

    def _caller(self, entry: OrcEntry, cfa: int, regs: Registers) -> Registers:
        read = self._read
        if entry.kind == Unwind.CALL:
            return Registers(read(cfa - 8), cfa, self._caller_bp(entry, cfa, regs))
        base = cfa if entry.kind == Unwind.REGS else cfa - self._regs["ip"]
        place = {name: base + offset for name, offset in self._regs.items()}
        caller = Registers(read(place["ip"]), read(place["sp"]), regs.bp, call=False)
        caller.user = bool(read(place["cs"]) & 3)
        if entry.kind == Unwind.REGS:
            caller.bp = read(place["bp"])
            others = self._other_regs.items()
            caller.others = {number: read(base + offset) for number, offset in others}
        return caller

    def _caller_bp(self, entry: OrcEntry, cfa: int, regs: Registers) -> int:
        if entry.bp_reg == Reg.PREV_SP:
            return self._read(cfa + entry.bp_offset)
        if entry.bp_reg == Reg.BP:
            return self._read(regs.bp + entry.bp_offset)
        return regs.bp
