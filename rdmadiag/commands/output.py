"""Where a command's text goes: standard output, or a file that is there whole or not at all."""

import os
import sys
import tempfile
from pathlib import Path

from rdmadiag.errors import UserError


def emit(text: str, path: Path | None = None) -> None:
    """
    Write *text* to *path*, or to standard output.

    :raises UserError: If the file cannot be written.
    """
    if path is None:
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()
        return
    if path.exists() and not path.is_file():  # /dev/stdout, a pipe: nothing to replace
        path.write_text(text, "utf-8", "backslashreplace")
        return
    try:
        with tempfile.NamedTemporaryFile(
            "wb", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            file.write(text.encode("utf-8", "backslashreplace"))
        umask = os.umask(0)
        os.umask(umask)
        Path(file.name).chmod(0o666 & ~umask)
        Path(file.name).replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error


def terminal() -> tuple[int, bool]:
    """Return how wide the output is, and whether it may have colours (a terminal, and NO_COLOR is not set)."""
    if not sys.stdout.isatty():
        return 80, False
    return os.get_terminal_size(sys.stdout.fileno()).columns, "NO_COLOR" not in os.environ
