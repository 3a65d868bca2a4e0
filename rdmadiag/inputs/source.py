"""One thing to read: a dump, or a stream of log bytes."""

from pathlib import Path
from typing import Literal

import msgspec

from rdmadiag.facts.model import Problem
from rdmadiag.inputs.sniff import Kind
from rdmadiag.inputs.streams import FileStream, Stream

SourceKind = Literal["vmcore", "log", "live", "unknown"]


class Source(msgspec.Struct, eq=False):
    """
    One thing to read.

    :ivar name: As the user gave it; members of archives as ``archive!member``.
    :ivar kind: What it is good for. An ``unknown`` one has a problem that says why.
    :ivar format: What the bytes are, after decompression.
    :ivar stream: The (decompressed) bytes of a log; ``None`` for dumps, which are opened by *path*.
    :ivar path: Where it is in the file system, unless it is a member of an archive or standard input.
    :ivar size: Bytes on disk, when known.
    :ivar mtime: When it was last written: the reference for dates without a year.
    :ivar series: Logs of equal, non-empty series are one log in several files, and come one after another.
    :ivar archive: Name of the archive or directory that it was found in.
    :ivar problems: What went wrong so far; grows while *stream* is read.
    """

    name: str
    kind: SourceKind
    format: Kind
    stream: Stream | None = None
    path: Path | None = None
    size: int | None = None
    mtime: float | None = None
    series: str = ""
    archive: str = ""
    problems: list[Problem] = []

    @property
    def seekable(self) -> FileStream | None:
        """The stream, when any byte of it can be read at once: a plain file."""
        return self.stream if isinstance(self.stream, FileStream) else None

    def report(self, what: str, offset: int) -> None:
        """Note a problem at byte *offset* of the (decompressed) stream; each one once."""
        problem = Problem(what, f"{self.name}: byte {offset}")
        if problem not in self.problems:
            self.problems.append(problem)
