"""
Frame chains
------------

Stacks of kernels that keep frame pointers and have no unwind tables: each frame holds the address of the one that
called it, and the return address beside it. :mod:`.chain_arm64` and :mod:`.chain_x86` say where.

Only what is in the task's stack is followed, always upwards, and only to code. Local variables are not known.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import msgspec
from drgn import FaultError, Object, Program
from msgspec.structs import replace

from rdmadiag.vmcore.faults import fault_text
from rdmadiag.vmcore.frames import Stack, frame_at

if TYPE_CHECKING:
    from rdmadiag.vmcore.symbols import Symbol, SymbolTable
    from rdmadiag.vmcore.unwind import Registers

__all__ = ("BrokenChainError", "FrameChain", "Link", "stack_size")

MAX_FRAMES = 512
_RECORD = 16
_GAP = "the caller of {}, which was interrupted, is not known for certain"
_MIN_STACK = 16384
"""Bytes of a stack of both architectures with pages of 4 KiB, since v3.15."""


class BrokenChainError(Exception):
    """The chain cannot be followed further; the text says why."""


class Link(msgspec.Struct):
    """
    One frame of a chain.

    :ivar pc: Where it goes on; 0 if that is not known, in a task that was switched out before v4.9.
    :ivar fp: Frame pointer: where its record of the caller is.
    :ivar call: Whether *pc* is a return address.
    :ivar last: Whether it is the outermost one.
    :ivar lr: Link register of an interrupted frame (arm64).
    :ivar guess: Whether it may be none: it is from a register that may hold something else.
    :ivar gap: Whether its caller may be missing.
    """

    pc: int
    sp: int
    fp: int
    call: bool = True
    last: bool = False
    lr: int = 0
    guess: bool = False
    gap: bool = False


class FrameChain(ABC):
    """
    Unwinds by frame pointers.

    :raises LookupError: if types are missing, or the kernel keeps no frame pointers
    """

    def __init__(self, prog: Program, symbols: "SymbolTable") -> None:
        self.prog = prog
        self.symbols = symbols
        self._stack_size = stack_size(prog)

    @abstractmethod
    def sleeping(self, task: Object) -> "Registers":
        """
        Return the registers at which a task that is on no CPU goes on.

        :param task: ``struct task_struct *``
        """

    @abstractmethod
    def first(self, regs: "Registers") -> Link:
        """Return the innermost frame."""

    @abstractmethod
    def callers(self, link: Link, stack: range) -> list[Link]:
        """
        Return the frames that called a frame, nearest first; none if it is the outermost one.

        :param stack: Addresses of the task's stack.
        :raises BrokenChainError: if what is there cannot be a frame
        """

    def unwind(self, regs: "Registers", task: Object) -> Stack:
        """
        Follow the chain from *regs* to its end.

        :param task: ``struct task_struct *``
        """
        found = Stack()
        base = task.stack.value_()
        stack = range(base, base + self._stack_size)
        try:
            if not regs.user:
                self._follow(found, regs, stack)
        except FaultError as error:
            found.problem = f"the stack is cut short: {fault_text(error)}"
        except BrokenChainError as error:
            found.problem = f"the stack is cut short: {error}"
        return found

    def _follow(self, found: Stack, regs: "Registers", stack: range) -> None:
        link = self.first(regs)
        symbol = self.symbols.at(regs.pc)
        if symbol and symbol.address == regs.pc:  # a task that has never run
            link.call = False
        low, on_stack = regs.sp, regs.sp in stack
        if not on_stack and regs.call:
            raise BrokenChainError(f"the saved stack pointer {low:#x} is not in the task's stack")
        if regs.pc:
            self._append(found, link)
        while not link.last:
            if not on_stack and link.fp in stack:  # an interrupt's stack leads to the task's, once
                low, on_stack = stack.start, True
            area = stack if on_stack else range(low, low + self._stack_size)
            self.check(link.fp & -2, low, area)
            low = (link.fp & -2) + _RECORD
            callers = self.callers(link, stack)
            if not callers:
                return
            for caller in callers:
                self._append(found, caller)
                link = caller

    def _append(self, found: Stack, link: Link) -> None:
        if len(found) >= MAX_FRAMES:
            raise BrokenChainError(f"it has more than {MAX_FRAMES} frames")
        if not self.code_at(link.pc, call=link.call):
            raise BrokenChainError(f"{link.pc:#x} is no address of code")
        frame = frame_at(self.symbols, link.pc, link.sp, call=link.call)
        if link.guess and found:
            frame = replace(frame, guess=True)
            found.problem = _GAP.format(found[-1].name)
        found.append(frame)
        if link.gap:
            found.problem = _GAP.format(frame.name)

    def check(self, fp: int, low: int, area: range) -> None:
        """
        Refuse a frame pointer that cannot be the next one.

        :raises BrokenChainError: saying why
        """
        if fp % 8:
            raise BrokenChainError(f"the frame pointer {fp:#x} is not aligned")
        if fp not in area or fp + _RECORD > area.stop:
            raise BrokenChainError(f"the frame pointer {fp:#x} is not in the task's stack")
        if fp < low:
            raise BrokenChainError(f"the frame pointer {fp:#x} does not lead upwards")

    def code_at(self, pc: int, *, call: bool) -> "Symbol | None":
        """Return the function that an address is in; ``None`` if it is in none."""
        symbol = self.symbols.at(pc - 1 if call else pc)
        return symbol if symbol and symbol.type in "tTwW" else None

    def words(self, address: int, count: int) -> tuple[int, ...]:
        """Return words of memory."""
        return tuple(memoryview(self.prog.read(address, 8 * count)).cast("Q"))


def stack_size(prog: Program) -> int:
    """Return the bytes of a task's stack."""
    try:
        return prog.type("union thread_union").size or _MIN_STACK
    except LookupError:
        return _MIN_STACK
