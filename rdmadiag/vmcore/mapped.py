"""
Mapped files
------------

libkdumpfile maps the file that it reads. Where that becomes shorter meanwhile, or its disk fails, the kernel ends the
program with SIGBUS, which says nothing of what happened.
"""

import os
import signal
from pathlib import Path

__all__ = ("say_when_lost",)

_sizes: dict[Path, int] = {}
"""Bytes of each file when it was opened; those of a split dump are read side by side."""
_handlers: list[object] = []
"""Kept for as long as the kernel may call them."""


def say_when_lost(path: Path) -> None:
    """
    Have the program end with a sentence and status 2 when what is mapped of *path* is lost.

    :param path: Is read from now on.
    """
    _sizes[path] = path.stat().st_size
    if _handlers or signal.getsignal(signal.SIGBUS) != signal.SIG_DFL:
        return
    import ctypes

    # Python's own handlers run when the instruction that failed is done: never.
    handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(_end)
    _handlers.append(handler)
    ctypes.CDLL(None).signal(signal.SIGBUS, handler)


def _end(_number: int) -> None:
    """Say it and end, whatever else is under way: there is no way back into the code that reads."""
    lost = " or ".join(repr(str(path)) for path in filter(_is_shorter, _sizes)) or "the dump"
    text = f"rdmadiag: {lost} is lost: it became shorter while it was read, or its disk failed\n"
    os.write(2, text.encode("utf-8", "backslashreplace"))
    os._exit(2)


def _is_shorter(path: Path) -> bool:
    try:
        return path.stat().st_size < _sizes[path]
    except OSError:
        return False
