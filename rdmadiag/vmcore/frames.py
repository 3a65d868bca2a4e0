"""Frames of a kernel stack, as every unwinder here gives them."""

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from rdmadiag.vmcore.symbols import SymbolTable

__all__ = ("Frame", "Stack", "frame_at")


class Frame(msgspec.Struct, frozen=True):
    """
    One frame.

    :ivar pc: Address of the instruction: a return address, except in the frame that was interrupted.
    :ivar sp: Stack pointer in this frame.
    :ivar name: Function, as the kernel names it (with ``.cold``, ``.isra.0``), ``""`` when no symbol is known.
    :ivar offset: Bytes from the start of the function.
    :ivar size: Bytes of the function.
    :ivar module: Name of the module, or ``""``.
    :ivar guess: Found without unwind data: may be left over from an earlier call.
    """

    pc: int
    sp: int
    name: str = ""
    offset: int = 0
    size: int = 0
    module: str = ""
    guess: bool = False

    def __str__(self) -> str:
        """Render as the kernel does: ``func+0x1b1/0x2c0 [rds_rdma]``."""
        text = f"{self.name}+{self.offset:#x}/{self.size:#x}" if self.name else f"{self.pc:#x}"
        if self.module:
            text += f" [{self.module}]"
        return "? " + text if self.guess else text


class Stack(list[Frame]):
    """
    The frames of one task, innermost first.

    :ivar problem: Why the stack ends before its end, or which frame is not certain; ``""`` when it is whole.
    """

    problem: str = ""


def frame_at(symbols: "SymbolTable", pc: int, sp: int, *, call: bool) -> Frame:
    """
    Return the frame at an address.

    :param call: Whether *pc* is a return address: then the function is looked up one byte before it, as a
        call may be the last instruction of a function.
    """
    symbol = symbols.at(pc - 1 if call else pc)
    if not symbol:
        return Frame(pc, sp)
    return Frame(pc, sp, symbol.name, pc - symbol.address, symbol.size, symbol.module)
