"""Where a command's text goes: standard output, or a file that is there whole or not at all."""

import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from rdmadiag.errors import UserError

_WIDEST = 1000


def refuse_loss(output: Path | None, inputs: Iterable[Path | str | None]) -> None:
    """
    Refuse an output that would replace what is to be read.

    :raises UserError: If *output* is one of *inputs*, or a log or dump in one that is a folder; or a folder itself.
    """
    if output is None:
        return
    try:
        if output.is_dir():
            raise UserError(f"{output}: is a folder; name a file to write to")
        if any(name and _holds(Path(name), output) for name in inputs):
            raise UserError(f"{output}: is an input too; it would be lost")
    except OSError as error:
        raise UserError(f"{output}: cannot be written: {error.strerror}") from error


def _holds(path: Path, output: Path) -> bool:
    real, place = Path(os.path.realpath(path)), Path(os.path.realpath(output))
    if real == place:
        return True
    if not output.is_file():
        return False
    if os.path.isdir(path):  # noqa: PTH112 - no error where the folder above is closed
        return place.is_relative_to(real) and _is_read(place.relative_to(real))
    return os.path.isfile(path) and output.samefile(path)  # noqa: PTH113 - as above


def _is_read(path: Path) -> bool:
    """Tell whether a file in an input folder is looked at: a report in HTML, say, is not."""
    from rdmadiag.inputs.members import Interest, interest

    return interest(str(path)) is not Interest.NO


def emit(text: str, path: Path | None = None) -> None:
    """
    Write *text* to *path*, or to standard output.

    :raises UserError: If it cannot be written.
    :raises BrokenPipeError: If nobody reads it any more.
    """
    data = text.encode("utf-8", "backslashreplace")
    try:
        if path is None:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        elif path.exists() and not path.is_file():  # /dev/stdout, a pipe: nothing to replace
            path.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(path)), data)
    except BrokenPipeError:
        raise
    except OSError as error:
        if path is None:
            forget_stdout()
        name = path or "standard output"
        raise UserError(f"{name}: cannot be written: {error.strerror}") from error


def _replace(path: Path, data: bytes) -> None:
    """Write another file first: whatever ends the program, *path* is whole and nothing else is left."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        part.chmod(0o666 & ~umask)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def forget_stdout() -> None:
    """Give up on standard output: what could not be written must not be tried again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Screen(NamedTuple):
    """
    What the output is shown on.

    :ivar width: Columns: those of the terminal, or of ``COLUMNS``, else 80.
    :ivar color: It may have colours: a terminal, and ``NO_COLOR`` is not set.
    :ivar terminal: It is a terminal.
    """

    width: int
    color: bool
    terminal: bool


def screen(path: Path | None = None) -> Screen:
    """
    Return what standard output is shown on.

    :param path: The output goes there instead.
    """
    wished = os.environ.get("COLUMNS", "")
    width = min(int(wished), _WIDEST) if wished.isascii() and wished.isdigit() else 0
    if path is not None or not sys.stdout.isatty():
        return Screen(width or 80, False, False)
    width = width or os.get_terminal_size(sys.stdout.fileno()).columns
    return Screen(width, "NO_COLOR" not in os.environ, True)
