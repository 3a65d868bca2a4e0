"""Streams of bytes: files, and what decompressors make of them; nothing here trusts a size or an end."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, Protocol, cast

from rdmadiag.inputs.limits import Limits
from rdmadiag.inputs.sniff import Kind

INPUT_CHUNK = 64 << 10
SMALL_CHUNK = 1 << 10
OUTPUT_CHUNK = 1 << 20
_LONG_LINE = 4096

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
    """

    def __init__(self, fd: int, report: Report) -> None:
        """:param fd: Is not closed here."""
        self.fd = fd
        self.size = os.fstat(fd).st_size
        self.position = 0
        self._report = report

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
            self._report(f"cannot be read: {error.strerror}", self.position)
            self.size = self.position
            return 0
        self.position += count
        if not count and self.position < self.size:
            self._report("the file became shorter while it was read", self.position)
            self.size = self.position
        return count

    def pread(self, size: int, offset: int) -> bytes:
        """Return at most *size* bytes at *offset*."""
        try:
            return os.pread(self.fd, size, offset) if size > 0 else b""
        except OSError as error:
            self._report(f"cannot be read: {error.strerror}", offset)
            self.size = min(self.size, offset)
            return b""

    def part(self, start: int, end: int) -> "FileStream":
        """Return another stream, of the bytes from *start* to *end*."""
        other = FileStream(self.fd, self._report)
        other.position, other.size = start, min(end, self.size)
        return other

    def count_lines(self, start: int, end: int) -> int:
        """Return how many line ends there are between two offsets."""
        count = 0
        while start < end and (data := self.pread(min(OUTPUT_CHUNK, end - start), start)):
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


class _Decompressor(Protocol):
    """The interface of the standard library's ``bz2`` and ``lzma``, which ``isal`` has, too."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Zstd:
    """
    zstandard's decompressor with the interface of the others.

    It has no limit on what one call gives, but so few bytes go in that some MiB at most come out.
    """

    @property
    def needs_input(self) -> bool:
        return True

    def __init__(self, window: int) -> None:
        import zstandard

        self._object = zstandard.ZstdDecompressor(max_window_size=window).decompressobj()

    @property
    def eof(self) -> bool:
        return self._object.eof

    @property
    def unused_data(self) -> bytes:
        return self._object.unused_data

    def decompress(self, data: bytes, _max_length: int = -1) -> bytes:
        return self._object.decompress(data)


def _decompressor(kind: Kind, limits: Limits) -> _Decompressor:
    if kind is Kind.GZIP:
        from isal import igzip_lib

        gzip: _Decompressor = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        return gzip
    if kind is Kind.XZ:
        import lzma

        return lzma.LZMADecompressor(memlimit=limits.window)
    if kind is Kind.BZIP2:
        import bz2

        return bz2.BZ2Decompressor()
    return _Zstd(limits.window)


def _errors(kind: Kind) -> tuple[type[Exception], ...]:
    """What a decompressor raises on bad data."""
    if kind is Kind.GZIP:
        from isal import igzip_lib

        # isal's stubs call the exception an instance
        return (cast(type[Exception], igzip_lib.IsalError), OSError, EOFError)
    if kind is Kind.XZ:
        import lzma

        return (lzma.LZMAError, EOFError)
    if kind is Kind.ZSTD:
        import zstandard

        return (zstandard.ZstdError,)
    return (OSError, EOFError, ValueError)


class Decompressed:
    """
    A decompressed stream, with all its concatenated parts.

    What comes before damage, or before the end of a file that was cut short, is given; then the stream ends
    and the damage is reported. So it is when the stream grows beyond all measure.
    """

    def __init__(self, source: Stream, kind: Kind, limits: Limits, report: Report) -> None:
        """:param kind: One of :data:`rdmadiag.inputs.sniff.COMPRESSED`."""
        self._source = source
        self._kind = kind
        self._limits = limits
        self._report = report
        self._errors = _errors(kind)
        self._decoder = _decompressor(kind, limits)
        self._chunk = SMALL_CHUNK if kind is Kind.ZSTD else INPUT_CHUNK
        self._pending = memoryview(b"")
        self._waiting = b""
        self._begun = self._done = False
        self.consumed = self.produced = 0

    def read(self, size: int, /) -> bytes:
        """Return at most *size* bytes, ``b""`` at the end."""
        while not self._pending and not self._done:
            self._pending = memoryview(self._step())
        data, self._pending = bytes(self._pending[:size]), self._pending[size:]
        return data

    def _step(self) -> bytes:
        if self._decoder.eof and not self._next_part():
            return b""
        data = self._input() if self._decoder.needs_input else b""
        if self._done:
            return b""
        try:
            out = self._decoder.decompress(data, OUTPUT_CHUNK)
        except self._errors as error:
            self._stop(f"{self._kind.value} data are damaged ({error})")
            return b""
        self._begun = self._begun or bool(data)
        self.produced += len(out)
        self._check_growth(out)
        return out

    def _input(self) -> bytes:
        data, self._waiting = self._waiting, b""
        if not data:
            data = self._source.read(self._chunk)
            self.consumed += len(data)
        if len(data) > self._chunk:
            data, self._waiting = data[: self._chunk], data[self._chunk :]
        if not data:
            self._stop(f"{self._kind.value} data end too early" if self._begun else "")
        return data

    def _next_part(self) -> bool:
        """Begin the next of the concatenated parts; padding of NULs after the last one is no part."""
        rest = self._decoder.unused_data + self._waiting
        rest = rest.lstrip(b"\0") or self._source.read(self._chunk).lstrip(b"\0")
        if not rest:
            self._done = True
            return False
        self._decoder = _decompressor(self._kind, self._limits)
        self._waiting, self._begun = rest, False
        return True

    def _check_growth(self, out: bytes) -> None:
        limits = self._limits
        allowed = max(limits.free, limits.ratio * self.consumed)
        if self.produced <= allowed:
            return
        if self.produced > allowed + limits.total or out.count(b"\n") * _LONG_LINE < len(out):
            self._stop(
                f"cut: {self.consumed} {self._kind.value} bytes became more than "
                f"{self.produced >> 20} MiB that do not look like a log"
            )

    def _stop(self, why: str) -> None:
        self._done = True
        if why:
            self._report(why, self.produced)


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
