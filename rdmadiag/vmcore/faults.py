"""How unreadable memory is put in words: the same whatever kind of file the dump is."""

from drgn import FaultError

__all__ = ("fault_text",)


def fault_text(error: FaultError) -> str:
    """Return ``0xffff... is not in the dump``; drgn's own text differs between formats."""
    return f"{error.address & 0xFFFFFFFFFFFFFFFF:#x} is not in the dump"
