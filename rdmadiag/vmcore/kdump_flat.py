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
        self._starts, self._sizes, self._places = _pieces(file)

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


def _pieces(file: int) -> tuple["array[int]", "array[int]", "array[int]"]:
    """Return where in the whole file each piece belongs, its size, and where it is in this one; in that order."""
    # Where it belongs and its number in one integer: there may be millions, and a tuple of both takes three times as much.
    found: list[int] = []
    sizes, places = array("Q"), array("Q")
    size, place = os.fstat(file).st_size, _FIRST
    while len(found) < _MAX_PIECES:
        head = os.pread(file, _PIECE.size, place)
        if len(head) < _PIECE.size:
            raise ValueError("the flattened dump is damaged")
        offset, length = _PIECE.unpack(head)
        if offset < 0:
            return _in_order(found, sizes, places)
        place += _PIECE.size
        if length <= 0 or place + length > size:
            raise ValueError("the flattened dump is damaged")
        found.append(offset * _MAX_PIECES + len(found))
        sizes.append(length)
        places.append(place)
        place += length
    raise ValueError("the flattened dump has too many pieces")


def _in_order(
    found: list[int], sizes: "array[int]", places: "array[int]"
) -> tuple["array[int]", "array[int]", "array[int]"]:
    found.sort()
    starts = array("Q", (one // _MAX_PIECES for one in found))
    return (
        starts,
        array("Q", (sizes[one % _MAX_PIECES] for one in found)),
        array("Q", (places[one % _MAX_PIECES] for one in found)),
    )
