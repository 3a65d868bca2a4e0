"""Hands a dump file to drgn, and says in one sentence why it cannot."""

import logging

from drgn import Architecture, Platform, PlatformFlags, Program

from rdmadiag.errors import UserError
from rdmadiag.vmcore.corefile import CoreFile

__all__ = ("open_program",)

logging.getLogger("drgn").addHandler(logging.NullHandler())
# drgn logs hints for people at a prompt; what matters of them is said in problems.

_BITS = PlatformFlags.IS_64_BIT | PlatformFlags.IS_LITTLE_ENDIAN


def open_program(core: CoreFile) -> Program:
    """
    Return a program with the dump's memory.

    :raises UserError: if drgn cannot read it
    """
    prog = Program(_platform(core))
    try:
        if core.kind == "live":
            prog.set_kernel()
        else:
            prog.set_core_dump(core.path)
    except Exception as error:
        # libkdumpfile's errors come as bare Exception: only these, and what drgn documents.
        if type(error) is not Exception and not isinstance(error, (ValueError, OSError)):
            raise
        raise UserError(f"{core.path}: {_sentence(str(error))}") from error
    return prog


def _platform(core: CoreFile) -> Platform | None:
    """
    Return the platform, where the file does not tell it: QEMU leaves the header's utsname empty.

    VMCOREINFO has ``phys_base`` on x86-64 only and ``VA_BITS`` on arm64 and riscv.
    """
    if not core.kdump or core.kdump.machine:
        return None
    if b"NUMBER(phys_base)" in core.vmcoreinfo:
        return Platform(Architecture.X86_64, _BITS)
    if b"NUMBER(VA_BITS)" in core.vmcoreinfo:
        return Platform(Architecture.AARCH64, _BITS)
    return None


def _sentence(text: str) -> str:
    """Shorten libkdumpfile's chain of reasons to the last one, the first cause."""
    if "flattened" in text.lower():
        return f"the flattened dump is cut short or damaged ({text.rsplit(': ', 1)[-1]})"
    return f"cannot be opened: {text.rsplit(': ', 1)[-1]}"
