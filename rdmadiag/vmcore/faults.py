"""How unreadable memory is put in words: the same whatever kind of file the dump is."""

from drgn import FaultError

__all__ = ("fault_text",)


def fault_text(_error: FaultError) -> str:
    """
    Return why memory cannot be read.

    drgn's own text and address differ between formats of dumps (and between a dump and its capsule) for the
    same missing page; where it matters what it is, the caller says it.
    """
    return "its memory is not in the dump"
