"""
Deadlines
---------

A bound on how long something is done with a socket, whatever comes through it.

drgn holds the interpreter while it waits for an answer, and a trickle of bytes keeps it waiting: so another process
has to look at the clock.
"""

import os
import select
import signal
import socket
import struct
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ("Deadline",)

_MESSAGE = struct.Struct("d")
"""How many seconds what begins now may take; 0 when it has ended."""


class Deadline:
    """
    Shuts a socket down if what is done with it takes too long.

    :param link: The socket; it is left open in the process that looks at the clock, as long as this object lives.
    """

    def __init__(self, link: socket.socket) -> None:
        reading, self._writing = os.pipe()
        watcher = os.fork()
        if not watcher:
            try:
                os.close(self._writing)
                _watch(reading, link)
            finally:
                os._exit(0)
        os.close(reading)
        weakref.finalize(self, _end, os.getpid(), watcher, self._writing)

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """
        Shut the socket down if the block takes longer.

        :raises OSError: if the socket was shut down before
        """
        os.write(self._writing, _MESSAGE.pack(seconds))
        try:
            yield
        finally:
            os.write(self._writing, _MESSAGE.pack(0))


def _watch(reading: int, link: socket.socket) -> None:
    limit: float | None = None
    while select.select([reading], [], [], limit)[0]:
        message = os.read(reading, _MESSAGE.size)
        if not message:
            return
        limit = _MESSAGE.unpack(message)[0] or None
    link.shutdown(socket.SHUT_RDWR)


def _end(owner: int, watcher: int, writing: int) -> None:
    os.close(writing)
    # A process that was forked meanwhile has a copy of the object, but the watcher is not its own.
    if os.getpid() == owner:
        os.kill(watcher, signal.SIGKILL)
        os.waitpid(watcher, 0)
