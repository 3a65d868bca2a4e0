"""Entry point: runs the command line and turns every end into an exit status."""

import errno
import gc
import io
import os
import resource
import signal
import sys
from typing import NoReturn

_UNWRITABLE = (errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.ENOSPC)
"""What only writing ends with."""
_UNREACHABLE = (errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG, errno.EPERM, errno.ESTALE)
"""What asking for any file by its name may end with."""
_NO_MEMORY = (
    "map segment",
    "allocate memory",
    "without exception set",
    "NULL without setting an exception",
)
"""What the loader says of a library; and Python, when it lost its own ``MemoryError``."""
_TOLD: list[int] = []
"""Signals that told this process to end."""


def main() -> None:
    """
    Run the command line.

    Exit status: 0 nothing at or above ``--fail-on``; 1 findings; 2 usage, or an input could not be read at all;
    3 internal error; 130 interrupted, 143 told to end.
    """
    # Little here is cyclic; looking for it took a tenth of a run, and a sixth at its end.
    gc.set_threshold(100_000, 20, 100)
    _fill_standard_files()
    _settle_standard_files()
    _end_in_order()
    status = _status()
    gc.freeze()
    sys.exit(status)


def _status() -> int:
    """Run the command line; return the exit status."""
    from rdmadiag.errors import UserError

    try:
        return _run()
    except UserError as error:
        return _say(f"rdmadiag: {error}", 2)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output has gone: nothing is left to say, and flushing at exit must not try to.
        from rdmadiag.commands.output import forget_stdout

        forget_stdout()
        return 141
    except MemoryError as error:
        # What the program held goes first: saying something takes memory too.
        error.__traceback__ = error.__context__ = error.__cause__ = None
        return _say(f"rdmadiag: {_too_little_memory()}", 2)
    except (OSError, ImportError, SystemError) as error:
        return _denied(error)
    except Exception as error:  # noqa: BLE001 - the one place: no traceback reaches a user
        return _internal(error)


def _fill_standard_files() -> None:
    """
    Open standard files that are closed.

    No other file may get their numbers. Those of input and output fail when they are used, so it is said.
    """
    for number, flags in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _settle_standard_files() -> None:
    """
    Have the standard files wait, and take in all that they are given.

    Other programs that have them, too, may have left them such that they do not wait. And what Python does not buffer,
    as ``PYTHONUNBUFFERED`` asks for, is cut short on a full disk without an error.
    """
    for number in range(3):
        os.set_blocking(number, True)
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        encoding, errors = sys.stdout.encoding, sys.stdout.errors
        sys.stdout = os.fdopen(1, "w", 1, encoding=encoding, errors=errors, closefd=False)


def _end_in_order() -> None:
    """Leave no half-written file and no child behind when told to end."""

    def end(number: int, _frame: object) -> NoReturn:
        _TOLD.append(number)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    _TOLD.clear()
    usual = (signal.SIG_DFL, signal.default_int_handler)  # nohup has it ignored
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) in usual:
            signal.signal(number, end)


def _run() -> int:
    # Asked for most often, and the parser is most of a start.
    if sys.argv[1:] == ["--version"]:
        from rdmadiag import __version__

        return _print(f"rdmadiag {__version__}\n")
    if sys.argv[1:] in (["--help"], ["-h"], []):
        from rdmadiag.help import HELP

        return _print(HELP, 0 if sys.argv[1:] else 2)
    import typer

    from rdmadiag.cli import app
    from rdmadiag.commands import Result
    from rdmadiag.commands.output import emit

    try:
        result = app(standalone_mode=False)
    except typer.TyperException as error:
        return _say(f"rdmadiag: {error.format_message()} (rdmadiag --help says more)", 2)
    except typer.Abort:
        return 130
    if not isinstance(result, Result):  # --help, --version: said already
        return result if isinstance(result, int) else 0
    emit(result.text, result.path)
    return _say(f"rdmadiag: {result.said}", result.status) if result.said else result.status


def _print(text: str, status: int = 0) -> int:
    sys.stdout.write(text)
    sys.stdout.flush()
    return status


def _denied(error: Exception) -> int:
    """Say what the system did not give: memory, files, or room for the output."""
    if isinstance(error, OSError):
        return _refused(error)
    limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    lost = limited and isinstance(error, SystemError)  # Python's, for a MemoryError that it lost
    if lost or any(word in str(error) for word in _NO_MEMORY):
        return _say(f"rdmadiag: {_too_little_memory()}", 2)
    return _internal(error)


def _refused(error: OSError) -> int:
    if error.errno in _UNWRITABLE:
        return _unwritten(error)
    if error.errno in (errno.EMFILE, errno.ENFILE):
        allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return _say(f"rdmadiag: too few files can be open at once (ulimit -n allows {allowed})", 2)
    if error.errno in _UNREACHABLE and isinstance(error.filename, str):
        return _say(f"rdmadiag: {error.filename}: {error.strerror}", 2)
    if error.errno == errno.ENOMEM:
        return _say(f"rdmadiag: {_too_little_memory()}", 2)
    return _internal(error)


def _unwritten(error: OSError) -> int:
    """Say that what the parser itself prints (help) could not be written; commands' output has :func:`emit`."""
    from rdmadiag.commands.output import forget_stdout

    forget_stdout()
    return _say(f"rdmadiag: standard output: cannot be written: {error.strerror}", 2)


def _too_little_memory() -> str:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    allowed = "" if limit == resource.RLIM_INFINITY else f" (ulimit -v allows {limit >> 20} MiB)"
    return f"there is not enough memory for this{allowed}"


def _internal(error: Exception) -> int:
    if _TOLD:  # Python wrapped what the signal raised, or a child that had it too was gone sooner
        return 128 + _TOLD[-1]
    import traceback

    from rdmadiag import __version__

    last = traceback.extract_tb(error.__traceback__)[-1]
    return _say(
        f"rdmadiag {__version__}: internal error: {type(error).__name__}: {error} "
        f"({last.filename.rpartition('/')[2]}:{last.lineno}). Please report it; RDMADIAG_TRACEBACK=1 shows all of it.",
        3,
        error if os.environ.get("RDMADIAG_TRACEBACK") else None,
    )


def _say(text: str, status: int, error: Exception | None = None) -> int:
    if error is not None:
        raise error
    try:
        sys.stderr.write("".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text) + "\n")
        sys.stderr.flush()
    except OSError:  # the status still tells; what is left must not be tried again at exit, which would change it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return status


if __name__ == "__main__":
    main()
