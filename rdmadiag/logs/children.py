"""
Processes that read for this one.

A signal that ends a program often goes to all of its processes, by the terminal or the service manager. Then this
one says how it ends, and ends the others, which have nothing to put right. If it cannot, as it was killed, the kernel
does.
"""

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from rdmadiag.errors import UserError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

T = TypeVar("T")

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>

NO_MORE = (
    "no more processes or threads can be begun (a limit of ulimit -u, or of the container's); "
    "diagnose --jobs 1 reads logs without any"
)
_KILLED = "a process that reads for this one was killed; perhaps memory ran short"


class Child:
    """
    The other end of a process that was begun by :func:`forked`; also what that one has of this.

    :ivar connection: Takes and gives anything that can be pickled.
    """

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self.connection = connection

    def send(self, what: object) -> None:
        """
        Send *what* to the other end.

        :raises UserError: If that is gone.
        """
        try:
            self.connection.send(what)
        except OSError as error:
            raise UserError(_KILLED) from error

    def receive(self) -> Any:
        """
        Return what the other end sends next; what its work ended with is raised here.

        :raises UserError: If that is gone.
        """
        try:
            what = self.connection.recv()
        except (EOFError, OSError) as error:
            raise UserError(_KILLED) from error
        if isinstance(what, Exception):
            raise what
        return what


def ready(children: Iterable[Child]) -> list[Child]:
    """Wait until some of *children* have sent something, or are gone; return those."""
    from multiprocessing.connection import wait

    some = set(wait([child.connection for child in children]))
    return [child for child in children if child.connection in some]


@contextmanager
def forked(work: Callable[[Child, T], None], arguments: Iterable[T]) -> Iterator[list[Child]]:
    """
    Do *work* for each of *arguments* in a process of its own, which has all that this one has; all end with the block.

    :raises UserError: If so many processes cannot be begun.
    """
    begun: list[tuple[BaseProcess, Connection[Any, Any]]] = []
    try:
        for argument in arguments:
            _begin(work, argument, begun)
        yield [Child(ours) for _, ours in begun]
    finally:
        for process, ours in begun:
            process.kill()  # before it is told that nobody listens
            ours.close()
            process.join()


def _begin(
    work: Callable[[Child, T], None],
    argument: T,
    begun: "list[tuple[BaseProcess, Connection[Any, Any]]]",
) -> None:
    import multiprocessing

    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(work, theirs, argument), daemon=True)
    try:
        with _held_signals():
            process.start()
            begun.append((process, ours))
    except BlockingIOError as error:  # EAGAIN of fork
        raise UserError(NO_MORE) from error
    theirs.close()


def _run(work: Callable[[Child, T], None], connection: "Connection[Any, Any]", argument: T) -> None:
    _leave_the_end_to_the_parent()
    parent = Child(connection)
    try:
        work(parent, argument)
    except Exception as error:  # noqa: BLE001 - the parent raises it
        import traceback

        error.add_note(traceback.format_exc())  # which is not sent with it
        parent.send(error)


@contextmanager
def _held_signals() -> Iterator[None]:
    """Hold signals back while processes are begun: one that comes in between would find a process half made."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave_the_end_to_the_parent() -> None:
    """Let only the parent, or its death, end this process; it was begun under :func:`_held_signals`."""
    import ctypes  # few runs have more than one process

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # with it multiprocessing ends what is left
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
