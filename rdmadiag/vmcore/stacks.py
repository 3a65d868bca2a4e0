"""
Stacks
------

Stacks of tasks: with the kernel's own ORC tables where it has them, whether or not there is debug info, so
that a finding does not depend on it; else with drgn's unwinder.
"""

from functools import cached_property

from drgn import FaultError, Object, Program, StackFrame
from drgn.helpers.linux.sched import task_on_cpu

from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.faults import TYPE_ERRORS, fault_text
from rdmadiag.vmcore.frames import Frame, Stack, frame_at
from rdmadiag.vmcore.kallsyms import KERNEL_HALF
from rdmadiag.vmcore.running import running_registers
from rdmadiag.vmcore.symbols import SymbolTable
from rdmadiag.vmcore.unwind import OrcUnwinder, Registers

__all__ = ("Stacks",)


class Stacks:
    """
    Stacks of one dump.

    :param prstatus: ``struct elf_prstatus`` of the CPUs that saved their registers.
    :param use_drgn: Whether drgn can unwind: it has debug info, or the architecture keeps frame pointers.
    :param problems: Why stacks cannot be unwound at all is added to it.
    """

    def __init__(
        self,
        prog: Program,
        symbols: SymbolTable,
        prstatus: list[bytes],
        problems: list[Problem],
        *,
        use_drgn: bool,
    ) -> None:
        self._prog = prog
        self._symbols = symbols
        self._prstatus = prstatus
        self._problems = problems
        self._use_drgn = use_drgn

    @cached_property
    def _unwinder(self) -> OrcUnwinder | None:
        try:
            return OrcUnwinder(self._prog, self._symbols)
        except TYPE_ERRORS as error:
            if not self._use_drgn:
                self._problems.append(Problem(f"stacks cannot be unwound: {error}"))
            return None

    def of(self, task: Object) -> Stack:
        """
        Return the frames of a task.

        :param task: ``struct task_struct *``
        """
        stack = Stack()
        try:
            if self._unwinder:
                return self._unwinder.unwind(self._registers(task, self._unwinder))
            if self._use_drgn:
                return self._by_drgn(task)
            stack.problem = "stacks cannot be unwound in this dump"
        except (FaultError, *TYPE_ERRORS) as error:
            stack.problem = fault_text(error)
        return stack

    def _registers(self, task: Object, unwinder: OrcUnwinder) -> Registers:
        if task_on_cpu(task):
            return running_registers(task, self._prstatus)
        return unwinder.sleeping(task)

    def _by_drgn(self, task: Object) -> Stack:
        stack = Stack()
        for frame in self._prog.stack_trace(task):
            if frame.pc < KERNEL_HALF:
                break
            if not frame.is_inline:
                stack.append(self._frame(frame))
        return stack

    def _frame(self, frame: StackFrame) -> Frame:
        call = not frame.interrupted
        return frame_at(self._symbols, frame.pc, frame.sp, call=call)
