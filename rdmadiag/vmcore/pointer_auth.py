"""
Pointer authentication
----------------------

On arm64 a return address on the stack may be signed: its upper bits are a code made from its place and a key. Since
Linux kernel commit 74afda4016a7 ("arm64: compile the kernel with ptrauth return address signing") (in v5.7) the
kernel does so.
"""

from collections.abc import Callable

from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("strip_signature",)

_KERNEL = 1 << 55
"""Tells addresses of the kernel from those of processes; never part of the code."""


def strip_signature(info: VmcoreInfo) -> Callable[[int], int]:
    """
    Return a function that takes the code out of an address of the kernel.

    VMCOREINFO tells its bits (``KERNELPACMASK``); there are none on a machine that cannot sign.
    """
    mask = info.number("KERNELPACMASK") or 0
    return lambda address: address | mask if address & _KERNEL else address
