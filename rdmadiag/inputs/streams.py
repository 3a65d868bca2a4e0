"""Streams of bytes; nothing here trusts a size or an end."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, Protocol

COUNTED = 1 << 20

Report = Callable[[str, int], None]
"""Takes what is wrong with a stream, and at which of its bytes."""


class Stream(Protocol):
    """What can be read to its end, once."""

    def read(self, size: int, /) -> bytes:
        """Return at most *size* bytes, ``b""`` at the end."""
        ...


class FileStream:
    """
    A regular file read with ``pread``.

    A file that is cut short while it is read ends early here; under mmap it would be a SIGBUS.

    :ivar size: Its size when it was opened: what a logger appends later is not read.
    :ivar report: Takes what is wrong with it.
    """

    def __init__(self, fd: int, report: Report) -> None:
        """:param fd: Is not closed here."""
        self.fd = fd
        self.size = os.fstat(fd).st_size
        self.position = 0
        self.report = report

    def read(self, size: int, /) -> bytes:
        """Return at most *size* bytes from the position, ``b""`` at the end."""
        buffer = bytearray(max(0, min(size, self.size - self.position)))
        return bytes(buffer[: self.readinto(memoryview(buffer))])

    def readinto(self, view: memoryview) -> int:
        """Fill *view* from the position; return how many bytes there were."""
        size = min(len(view), self.size - self.position)
        try:
            count = os.preadv(self.fd, [view[:size]], self.position) if size > 0 else 0
        except OSError as error:
            self.report(f"cannot be read: {error.strerror}", self.position)
            self.size = self.position
            return 0
        self.position += count
        if not count and self.position < self.size:
            self._cut_short()
            self.size = self.position
        return count

    def pread(self, size: int, offset: int) -> bytes:
        """Return at most *size* bytes at *offset*."""
        try:
            data = os.pread(self.fd, size, offset) if size > 0 else b""
        except OSError as error:
            self.report(f"cannot be read: {error.strerror}", offset)
            self.size = min(self.size, offset)
            return b""
        if not data and size > 0 and offset < self.size:
            self._cut_short()
        return data

    def _cut_short(self) -> None:
        """Say that less is there than when it was opened, and where it ends now: whoever finds that says the same."""
        self.report("the file became shorter while it was read", os.fstat(self.fd).st_size)

    def part(self, start: int, end: int) -> "FileStream":
        """Return another stream, of the bytes from *start* to *end*."""
        other = FileStream(self.fd, self.report)
        other.position, other.size = start, min(end, self.size)
        return other

    def count_lines(self, start: int, end: int) -> int:
        """Return how many line ends there are between two offsets."""
        count = 0
        while start < end and (data := self.pread(min(COUNTED, end - start), start)):
            count += data.count(b"\n")
            start += len(data)
        return count


class PipeStream:
    """What has no size: standard input, or a file of /proc."""

    def __init__(self, file: BinaryIO, report: Report) -> None:
        """:param file: Is not closed here."""
        self._file = file
        self._position = 0
        self._report = report

    def read(self, size: int, /) -> bytes:
        """Return at most *size* bytes, ``b""`` at the end."""
        try:
            data = self._file.read(size)
        except OSError as error:
            self._report(f"cannot be read: {error.strerror}", self._position)
            return b""
        self._position += len(data)
        return data


class Joined:
    """Bytes that were already read, then the stream that they came from."""

    def __init__(self, head: bytes, rest: Stream) -> None:
        """:param head: Comes first."""
        self._head = memoryview(head)
        self._rest = rest

    def read(self, size: int, /) -> bytes:
        """Return at most *size* bytes, ``b""`` at the end."""
        if not self._head:
            return self._rest.read(size)
        data, self._head = bytes(self._head[:size]), self._head[size:]
        return data


class Utf8:
    """UTF-16 text as UTF-8 (what some Windows tools make of a pasted log)."""

    def __init__(self, source: Stream) -> None:
        """:param source: Begins with a byte order mark."""
        import codecs

        self._source = source
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        self._pending = b""
        self._ended = False

    def read(self, size: int, /) -> bytes:
        """Return at most *size* bytes, ``b""`` at the end."""
        while not self._pending and not self._ended:
            data = self._source.read(size)
            self._ended = not data
            with suppress(UnicodeError):
                self._pending = self._decoder.decode(data, final=self._ended).encode(
                    "utf-8", "replace"
                )
        data, self._pending = self._pending[:size], self._pending[size:]
        return data
