"""Where a plain file may be parted: no line, and no record, may be read as two."""

from typing import TYPE_CHECKING

from rdmadiag.inputs.streams import FileStream

if TYPE_CHECKING:
    from rdmadiag.logs.census import Census

NEAR, FAR = 4 << 10, 1 << 20
"""Bytes in which a line mostly ends; and by which it is followed when it does not."""

HEAD = 400
MAX_LINES = 512
"""Lines that a record is followed for."""


def line_start(file: FileStream, offset: int) -> int:
    """Return where the next line at or after *offset* begins, however long the one before is."""
    if offset <= 0 or offset >= file.size:
        return min(max(offset, 0), file.size)
    position, size = offset - 1, NEAR
    while data := file.pread(min(size, file.size - position), position):
        found = data.find(b"\n")
        if found >= 0:
            return position + found + 1
        position, size = position + len(data), FAR
    return file.size


def record_start(file: FileStream, offset: int, census: "Census") -> int:
    """Return where the next record at or after *offset* begins; a line, where there are none for long."""
    start = line_start(file, offset)
    for _ in range(MAX_LINES):
        line = file.pread(HEAD, start).partition(b"\n")[0]
        if start >= file.size or census.is_head(line):
            break
        start = line_start(file, start + len(line) + 1)
    return start
