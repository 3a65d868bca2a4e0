"""
Frame chains of x86-64
----------------------

Kernels with CONFIG_FRAME_POINTER (``arch/x86/kernel/unwind_frame.c``): ``bp`` points to the caller's ``bp``, and the
return address is behind it. The chain ends below the registers saved at the entry from user mode, which are at the
stack's top; kernel threads leave room for these.

Since Linux kernel commit 946c191161ce ("x86/entry/unwind: Create stack frames for saved interrupt registers") (in
v4.10) an exception leaves the address of its registers in ``bp``, marked by bit 0.
"""

import re

from drgn import Object, Program, offsetof, sizeof

from rdmadiag.vmcore.frame_chain import FrameChain, Link
from rdmadiag.vmcore.symbols import Symbol, SymbolTable
from rdmadiag.vmcore.unwind import Registers

__all__ = ("X86Chain",)

_PROLOGUE = re.compile(rb"\x55.{0,48}?\x48\x89\xe5", re.DOTALL)
"""``push %rbp`` and ``mov %rsp,%rbp``; compilers put other instructions between them."""
_IN_FIRST = 64
_WITH_FRAMES = ("schedule", "schedule_timeout", "kthread", "worker_thread", "vfs_read")
_AT_TOP = 48
"""How far below the saved registers the outermost frame may begin: itself, alignment, and padding of the stack's top."""
_KERNEL_CS = 0x10


class X86Chain(FrameChain):
    """
    Unwinds x86-64.

    :raises LookupError: if types are missing, or the kernel was built without frame pointers
    """

    def __init__(self, prog: Program, symbols: SymbolTable) -> None:
        super().__init__(prog, symbols)
        task, regs = prog.type("struct task_struct"), prog.type("struct pt_regs")
        self._thread_sp = offsetof(task, "thread.sp")
        self._regs = {name: offsetof(regs, name) for name in ("ip", "sp", "bp", "cs")}
        self._regs_size = sizeof(regs)
        self._saved = _saved_frame(prog)
        self._framed: dict[int, bool] = {}
        known = [symbol for name in _WITH_FRAMES if (symbol := symbols.find(name, ""))]
        if 2 * sum(map(self._keeps_frames, known)) <= len(known):
            raise LookupError("this kernel has neither ORC tables nor frame pointers")

    def _keeps_frames(self, function: Symbol) -> bool:
        """Tell whether a function begins by making a frame."""
        start = function.address
        if start not in self._framed:
            code = self.prog.read(start, min(function.size, _IN_FIRST))
            self._framed[start] = bool(_PROLOGUE.search(code))
        return self._framed[start]

    def sleeping(self, task: Object) -> Registers:
        """
        Return the registers that a task saved when it was switched out.

        Since Linux kernel commit 0100301bfdf5 ("sched/x86: Rewrite the switch_to() code") (in v4.9) they are a
        ``struct inactive_task_frame``; before, ``bp`` alone is at the stack's top, and the place in the
        scheduler where it goes on is not saved.

        :param task: ``struct task_struct *``
        """
        sp = self.prog.read_u64(task.value_() + self._thread_sp)
        if not self._saved:
            return Registers(0, sp, self.prog.read_u64(sp))
        bp, pc, size = self._saved
        return Registers(self.prog.read_u64(sp + pc), sp + size, self.prog.read_u64(sp + bp))

    def first(self, regs: Registers) -> Link:
        """Return the frame of *regs*."""
        return (
            Link(regs.pc, regs.sp, regs.bp)
            if regs.call
            else self._interrupted(regs.pc, regs.sp, regs.bp)
        )

    def _interrupted(self, pc: int, sp: int, bp: int) -> Link:
        """Return a frame; if its function keeps none, ``bp`` is its caller's and tells only who called that."""
        function = self.code_at(pc, call=False)
        gap = function is not None and not self._keeps_frames(function)
        return Link(pc, sp, bp, call=False, gap=gap)

    def callers(self, link: Link, stack: range) -> list[Link]:
        """Return the frame behind a frame pointer, and what an exception interrupted there."""
        top = stack.stop - self._regs_size
        if link.fp & 1:
            return self._exception(link.fp - 1, top)
        following, pc = self.words(link.fp, 2)
        caller = Link(pc, link.fp + 16, following)
        caller.last = top - _AT_TOP <= link.fp < top
        function = self.code_at(pc, call=True)
        if caller.last or not function or self._keeps_frames(function):
            return [caller]
        return [caller, *self._unmarked(link.fp + 16, stack)]

    def _exception(self, base: int, top: int) -> list[Link]:
        """Return what was interrupted; nothing if that was a process, or these are the registers at the stack's top."""
        at = {name: self.prog.read_u64(base + offset) for name, offset in self._regs.items()}
        if top - _AT_TOP <= base or at["cs"] & 3:
            return []
        return [self._interrupted(at["ip"], at["sp"], at["bp"])]

    def _unmarked(self, base: int, stack: range) -> list[Link]:
        """Return what was interrupted if the caller, which keeps no frames, has left registers at *base*."""
        if base + self._regs_size > stack.stop:
            return []
        at = {name: self.prog.read_u64(base + offset) for name, offset in self._regs.items()}
        inside = at["sp"] in stack and at["sp"] >= base + self._regs_size
        if at["cs"] != _KERNEL_CS or not inside or not self.code_at(at["ip"], call=False):
            return []
        return [self._interrupted(at["ip"], at["sp"], at["bp"])]


def _saved_frame(prog: Program) -> tuple[int, int, int] | None:
    """Return where ``bp`` and the return address are in what a sleeping task saved, and its size."""
    try:
        type_ = prog.type("struct inactive_task_frame")
    except LookupError:
        return None
    return offsetof(type_, "bp"), offsetof(type_, "ret_addr"), sizeof(type_)
