"""One module a sub-command."""

from pathlib import Path
from typing import NamedTuple


class Result(NamedTuple):
    """
    What a command has to say, and how the program ends.

    :ivar text: Goes to *path*, or to standard output.
    :ivar said: Goes to standard error; empty: nothing.
    """

    text: str
    status: int
    path: Path | None = None
    said: str = ""
