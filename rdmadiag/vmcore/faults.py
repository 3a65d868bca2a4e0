"""What a damaged dump raises, and how it is put in words: the same whatever kind of file it is."""

from collections.abc import Iterator
from contextlib import contextmanager

from drgn import FaultError

__all__ = ("TYPE_ERRORS", "DrgnError", "drgn_errors", "fault_text")

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


class DrgnError(Exception):
    """What drgn could not do with a file or a socket, in its own words."""


@contextmanager
def drgn_errors(*documented: type[Exception]) -> Iterator[None]:
    """
    Turn what drgn raises into a :class:`DrgnError`, with the other as its cause.

    What libkdumpfile and a monitor's answers make it raise has no class of its own: it is a bare ``Exception``
    (``DRGN_ERROR_OTHER``). So everything has to be caught; what is of any class but these is raised again.

    :param documented: The classes that drgn documents for what is done.
    """
    try:
        yield
    except documented as error:
        raise DrgnError(str(error)) from error
    except Exception as error:
        if type(error) is not Exception:
            raise
        raise DrgnError(str(error)) from error
