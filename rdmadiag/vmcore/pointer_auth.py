"""
Pointer authentication
----------------------

On arm64 a return address on the stack may be signed: its upper bits are a code made from its place and a key.
"""

from collections.abc import Callable

from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("strip_signature",)

_KERNEL = 1 << 55
"""Tells addresses of the kernel from those of processes; never part of the code."""


def strip_signature(info: VmcoreInfo) -> Callable[[int], int]:
    """
    Return a function that takes the code out of an address of the kernel.

    Since Linux kernel commit ec6e822d1a22 ("arm64: expose user PAC bit positions via ptrace") (in v5.0) there are such codes; VMCOREINFO tells their
    bits (``KERNELPACMASK``) on a machine that makes them.
    """
    mask = info.number("KERNELPACMASK") or 0
    return lambda address: address | mask if address & _KERNEL else address
