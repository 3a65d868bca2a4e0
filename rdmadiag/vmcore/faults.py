"""What a damaged dump raises, and how it is put in words: the same whatever kind of file it is."""

from drgn import FaultError

__all__ = ("TYPE_ERRORS", "fault_text")

TYPE_ERRORS = (LookupError, AttributeError, TypeError, ValueError, OverflowError)
"""What reading an object raises when its type is missing, damaged, or not the one that was expected."""


def fault_text(error: Exception) -> str:
    """
    Return why an object cannot be read.

    drgn's own text and address differ between formats of dumps (and between a dump and its capsule) for the
    same missing page; where it matters what it is, the caller says it.
    """
    if isinstance(error, FaultError):
        return "its memory is not in the dump"
    return str(error)
