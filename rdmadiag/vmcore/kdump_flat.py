"""
Flattened files
---------------

A kdump file as a stream (``makedumpfile -F``, QEMU): pieces of it in the order in which they were written, each with its
place and size before it.
"""

import os
import struct
from array import array
from bisect import bisect_right

__all__ = ("FlatFile",)

_FIRST = 4096
_MAX_PIECES = 1 << 24
_PIECE = struct.Struct(">qq")


class FlatFile:
    """
    A flattened file, read as the file that it stands for.

    :param file: Descriptor of the open file.
    :raises ValueError: if it is damaged
    """

    def __init__(self, file: int) -> None:
        self._file = file
        pieces = sorted(_pieces(file))
        self._starts = array("Q", [piece[0] for piece in pieces])
        self._sizes = array("Q", [piece[1] for piece in pieces])
        self._places = array("Q", [piece[2] for piece in pieces])

    def read(self, place: int, count: int) -> bytes:
        """Return a part of it; less where a piece is missing."""
        parts = []
        while count > 0:
            index = bisect_right(self._starts, place) - 1
            if index < 0 or place >= self._starts[index] + self._sizes[index]:
                break
            skip = place - self._starts[index]
            part = os.pread(
                self._file, min(count, self._sizes[index] - skip), self._places[index] + skip
            )
            if not part:
                break
            parts.append(part)
            place += len(part)
            count -= len(part)
        return b"".join(parts)


def _pieces(file: int) -> list[tuple[int, int, int]]:
    """Return where in the whole file each piece belongs, its size, and where it is in this one."""
    found: list[tuple[int, int, int]] = []
    size, place = os.fstat(file).st_size, _FIRST
    while len(found) < _MAX_PIECES:
        head = os.pread(file, _PIECE.size, place)
        if len(head) < _PIECE.size:
            raise ValueError("the flattened dump is damaged")
        offset, length = _PIECE.unpack(head)
        if offset < 0:
            return found
        place += _PIECE.size
        if length <= 0 or place + length > size:
            raise ValueError("the flattened dump is damaged")
        found.append((offset, length, place))
        place += length
    raise ValueError("the flattened dump has too many pieces")
