"""
Frame chains of arm64
---------------------

``arch/arm64/kernel/stacktrace.c``: ``x29`` points to a record of two words, the caller's ``x29`` and the return
address. The chain ends in a record of zeros in the registers saved at the entry from user mode (since Linux kernel commit
7d7b720a4b80 ("arm64: Implement stack trace termination record") (in v5.13) for kernel threads, too), or in assembly
code that keeps no record. An exception within the kernel leaves a record in the registers that it saves, whose
second word is the interrupted instruction; since Linux kernel commit c2c6b27b5aa1 ("arm64: stacktrace: unwind exception
boundaries") (in v6.13) it is marked instead. ``struct pt_regs`` had no place for it before Linux kernel commit
732674980139 ("arm64: unwind: reference pt_regs via embedded stack frame").
"""

from collections.abc import Callable

from drgn import Object, Program, Type, offsetof, sizeof

from rdmadiag.vmcore.frame_chain import BrokenChainError, FrameChain, Link
from rdmadiag.vmcore.symbols import SymbolTable
from rdmadiag.vmcore.unwind import Registers

__all__ = ("LR", "Arm64Chain")

LR = 30
"""Number of the link register."""
_FINAL, _PT_REGS = 1, 2
"""``FRAME_META_TYPE_*``."""
_EL_MASK, _KERNEL_HALF = 0xF, 1 << 63
_ENTRIES = ("ret_from_fork", "ret_to_user", "work_pending", "el0_")
_BOOT = ("__primary_switched", "__mmap_switched", "__secondary_switched", "secondary_startup")


class Arm64Chain(FrameChain):
    """
    Unwinds arm64.

    :param strip: Takes the code of pointer authentication out of an address.
    :raises LookupError: if types are missing
    """

    def __init__(self, prog: Program, symbols: SymbolTable, strip: Callable[[int], int]) -> None:
        super().__init__(prog, symbols)
        self._strip = strip
        task, regs = prog.type("struct task_struct"), prog.type("struct pt_regs")
        names = ("fp", "sp", "pc")
        self._saved = [offsetof(task, f"thread.cpu_context.{name}") for name in names]
        self._regs = {name: offsetof(regs, name) for name in ("regs", "sp", "pc", "pstate")}
        self._record = _record_offset(regs)
        self._from_top = sizeof(regs) - (self._record or 0)

    def sleeping(self, task: Object) -> Registers:
        """
        Return the registers that ``cpu_switch_to()`` saved.

        :param task: ``struct task_struct *``
        """
        fp, sp, pc = (self.prog.read_u64(task.value_() + place) for place in self._saved)
        return Registers(self._strip(pc), sp, fp)

    def first(self, regs: Registers) -> Link:
        """Return the frame of *regs*."""
        lr = 0 if regs.call else regs.others.get(LR, 0)
        return Link(regs.pc, regs.sp, regs.bp, call=regs.call, lr=lr)

    def callers(self, link: Link, stack: range) -> list[Link]:
        """Return the frame of a record, and what an exception interrupted where it leads there."""
        following, saved = self.words(link.fp, 2)
        pc = self._strip(saved)
        between = self._unrecorded(link, pc)
        if not following and not saved:
            return between + self._marked(link.fp, stack)
        if self._is_in_registers(link.fp, (following, saved), stack):
            return between + self._exception(link.fp)
        caller = self.code_at(pc, call=True)
        last = not following and caller is not None and caller.name.startswith(_ENTRIES + _BOOT)
        if not following and not last:
            raise BrokenChainError(f"the frame at {link.fp:#x} names no caller")
        return [*between, Link(pc, link.fp + 16, following, last=last)]

    def _unrecorded(self, link: Link, recorded: int) -> list[Link]:
        """
        Return the caller of an interrupted frame if that may have written no record yet, or never does.

        Then the link register is its return address. Else it is the recorded one, one of its own, or something else.
        """
        lr = self._strip(link.lr)
        caller = self.code_at(lr, call=True) if lr else None
        own = self.code_at(link.pc, call=False)
        if not caller or not own or lr == recorded:
            return []
        if own.name.removesuffix(".cold") == caller.name.removesuffix(".cold"):
            return []
        return [Link(lr, link.sp, link.fp, guess=True)]

    def _is_in_registers(self, fp: int, record: tuple[int, int], stack: range) -> bool:
        """Tell whether a record is part of registers that an exception has saved: it repeats two of these."""
        if self._record is None or fp - self._record not in stack:
            return False
        base = fp - self._record
        found = (base + self._regs["regs"] + 8 * 29, base + self._regs["pc"])
        return record == tuple(self.prog.read_u64(place) for place in found)

    def _marked(self, fp: int, stack: range) -> list[Link]:
        """Return what follows a record of zeros: nothing at the stack's top, else what was interrupted."""
        try:
            mark = self.prog.type("struct frame_record_meta")
            kind = self.prog.read_u64(fp + offsetof(mark, "type"))
        except LookupError:
            kind = _FINAL
        if kind == _PT_REGS and self._record is not None and fp - self._record in stack:
            return self._exception(fp)
        if kind != _FINAL or fp != stack.stop - self._from_top:
            raise BrokenChainError(f"there is no frame at {fp:#x}")
        return []

    def _exception(self, record: int) -> list[Link]:
        """Return what was interrupted, from the saved registers that a record is part of."""
        base = record - (self._record or 0)
        place = {name: base + offset for name, offset in self._regs.items()}
        fp, lr = self.words(place["regs"] + 8 * 29, 2)
        pc, pstate = self.prog.read_u64(place["pc"]), self.prog.read_u64(place["pstate"])
        if not pstate & _EL_MASK or pc < _KERNEL_HALF:
            return []
        return [Link(pc, self.prog.read_u64(place["sp"]), fp, call=False, lr=lr)]


def _record_offset(regs: Type) -> int | None:
    try:
        offset: int = offsetof(regs, "stackframe")
    except LookupError:
        return None
    return offset
