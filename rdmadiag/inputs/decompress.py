"""Decompressed streams: what comes before damage is given, and no stream grows beyond all measure."""

from typing import Protocol, cast

from rdmadiag.inputs.limits import Limits
from rdmadiag.inputs.sniff import Kind
from rdmadiag.inputs.streams import Report, Stream

INPUT_CHUNK = 64 << 10
SMALL_CHUNK = 1 << 10
OUTPUT_CHUNK = 512 << 10
_LONG_LINE = 4096


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


class _Lz4:
    """lz4's decompressor with the interface of the others."""

    def __init__(self) -> None:
        import lz4.frame

        self._object = lz4.frame.LZ4FrameDecompressor()
        self._full = False

    @property
    def needs_input(self) -> bool:
        """Whether nothing is left to give; the library forgets the rest of a block that it has decompressed itself."""
        return bool(self._object.needs_input) and not self._full

    @property
    def eof(self) -> bool:
        return bool(self._object.eof)

    @property
    def unused_data(self) -> bytes:
        return self._object.unused_data or b""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        out: bytes = self._object.decompress(data, max_length)
        self._full = len(out) == max_length
        return out


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
    if kind is Kind.LZ4:
        return _Lz4()
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
    if kind is Kind.LZ4:
        return (RuntimeError,)
    return (OSError, EOFError, ValueError)


class Growth:
    """
    Keeps a stream from growing beyond all measure.

    :ivar consumed: Compressed bytes so far.
    :ivar produced: Decompressed bytes so far.
    """

    def __init__(self, limits: Limits, consumed: int = 0) -> None:
        self._limits = limits
        self.consumed = consumed
        self.produced = 0

    def excess(self, what: str, out: bytes) -> str:
        """Take in some decompressed bytes; say in words when there are too many by now."""
        limits = self._limits
        self.produced += len(out)
        allowed = max(limits.free, limits.ratio * self.consumed)
        if self.produced <= allowed:
            return ""
        if self.produced <= allowed + limits.total and out.count(b"\n") * _LONG_LINE >= len(out):
            return ""
        return (
            f"cut: {self.consumed} {what} bytes became more than "
            f"{self.produced >> 20} MiB that do not look like a log"
        )


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
        self._growth = Growth(limits)
        self._report = report
        self._errors = _errors(kind)
        self._decoder = _decompressor(kind, limits)
        self._chunk = SMALL_CHUNK if kind is Kind.ZSTD else INPUT_CHUNK
        self._pending = memoryview(b"")
        self._waiting = b""
        self._begun = self._done = False

    def read(self, size: int, /) -> bytes:
        """Return at most *size* bytes, ``b""`` at the end."""
        while not self._pending and not self._done:
            out = self._step()
            if 0 < len(out) <= size:
                return out
            self._pending = memoryview(out)
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
        if why := self._growth.excess(self._kind.value, out):
            self._stop(why)
        return out

    def _input(self) -> bytes:
        data, self._waiting = self._waiting, b""
        if not data:
            data = self._source.read(self._chunk)
            self._growth.consumed += len(data)
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

    def _stop(self, why: str) -> None:
        self._done = True
        if why:
            self._report(why, self._growth.produced)
