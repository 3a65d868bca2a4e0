"""
Stacks
------

Stacks of tasks: with the kernel's own ORC tables where it has them, whether or not there is debug info, so
that a finding does not depend on it; on arm64 by frame pointers. x86-64 without ORC: with drgn's unwinder if there
is debug info, else by frame pointers, if the kernel keeps them. Other architectures: with drgn's.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

from drgn import Architecture, FaultError, Object, Program, StackFrame, sizeof
from drgn.helpers.linux.sched import task_on_cpu

from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.chain_arm64 import Arm64Chain
from rdmadiag.vmcore.chain_x86 import X86Chain
from rdmadiag.vmcore.faults import TYPE_ERRORS, fault_text
from rdmadiag.vmcore.frame_chain import stack_size
from rdmadiag.vmcore.frames import Frame, Stack, frame_at
from rdmadiag.vmcore.kallsyms import KERNEL_HALF
from rdmadiag.vmcore.running import running_registers
from rdmadiag.vmcore.symbols import SymbolTable
from rdmadiag.vmcore.unwind import OrcUnwinder, Registers

__all__ = ("Stacks",)

_AT_TOP = 64
"""How far below the registers at the stack's top the outermost frame may be."""


class _Unwinder(Protocol):
    def sleeping(self, task: Object) -> Registers: ...
    def unwind(self, regs: Registers, task: Object) -> Stack: ...


class Stacks:
    """
    Stacks of one dump.

    :param prstatus: ``struct elf_prstatus`` of the CPUs that saved their registers.
    :param strip: Takes the code of pointer authentication out of an address.
    :param problems: Why stacks cannot be unwound at all is added to it.
    :param debug_info: Whether there is debug info of the kernel.
    """

    def __init__(
        self,
        prog: Program,
        symbols: SymbolTable,
        prstatus: list[bytes],
        strip: Callable[[int], int],
        problems: list[Problem],
        *,
        debug_info: bool,
    ) -> None:
        self._prog = prog
        self._symbols = symbols
        self._prstatus = prstatus
        self._strip = strip
        self._problems = problems
        arch = prog.platform.arch if prog.platform else Architecture.UNKNOWN
        self._is_arm64, self._is_x86 = arch == Architecture.AARCH64, arch == Architecture.X86_64
        self._use_drgn = debug_info and not self._is_arm64
        self._use_drgn |= not self._is_arm64 and not self._is_x86

    @cached_property
    def _unwinder(self) -> _Unwinder | None:
        try:
            return self._own_unwinder()
        except (FaultError, *TYPE_ERRORS) as error:
            if not self._use_drgn:
                self._problems.append(Problem(f"stacks cannot be unwound: {fault_text(error)}"))
            return None

    def _own_unwinder(self) -> _Unwinder:
        if self._is_arm64:
            return Arm64Chain(self._prog, self._symbols, self._strip)
        if self._use_drgn or self._symbols.find("__start_orc_unwind", ""):
            return OrcUnwinder(self._prog, self._symbols)
        return X86Chain(self._prog, self._symbols)

    def of(self, task: Object) -> Stack:
        """
        Return the frames of a task.

        :param task: ``struct task_struct *``
        """
        stack = Stack()
        try:
            if self._unwinder:
                return self._unwinder.unwind(self._registers(task, self._unwinder), task)
            if self._use_drgn:
                return self._by_drgn(task)
            stack.problem = "stacks cannot be unwound in this dump"
        except (FaultError, *TYPE_ERRORS) as error:
            stack.problem = fault_text(error)
        return stack

    def _registers(self, task: Object, unwinder: _Unwinder) -> Registers:
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
        if stack and not self._is_at_top(task, stack[-1].sp):
            stack.problem = "the stack is cut short: drgn's unwinder goes no further"
        return stack

    def _is_at_top(self, task: Object, sp: int) -> bool:
        """Tell whether a frame of x86-64 is the outermost one: above it are the registers of user mode, or their room."""
        if not self._is_x86:
            return True
        top = task.stack.value_() + stack_size(self._prog)
        return bool(top - sizeof(self._prog.type("struct pt_regs")) - _AT_TOP <= sp <= top)

    def _frame(self, frame: StackFrame) -> Frame:
        call = not frame.interrupted
        return frame_at(self._symbols, frame.pc, frame.sp, call=call)
