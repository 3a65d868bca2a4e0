"""
Processes that read for this one.

A signal that ends a program often goes to all of its processes, by the terminal or the service manager. Then this
one says how it ends, and ends the others, which have nothing to put right. If it cannot, as it was killed, the kernel
does.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


@contextmanager
def held_signals() -> Iterator[None]:
    """Hold signals back while processes are begun: one that comes in between would find a process half made."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_the_end_to_the_parent() -> None:
    """Let only the parent, or its death, end this process; it was begun under :func:`held_signals`."""
    import ctypes  # few runs have more than one process

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # with it multiprocessing ends what is left
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
