"""
Members of a zip archive as streams; nothing is unpacked.

Only stored and deflated members are read: of those no call gives more than it is asked for.
"""

import calendar
import io
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

import msgspec

from rdmadiag.inputs.decompress import OUTPUT_CHUNK, Growth
from rdmadiag.inputs.limits import Limits
from rdmadiag.inputs.streams import FileStream, Report

DIRECTORY = 64 << 20
"""Bytes of the list of members that are read: it is read as a whole."""

_END, _END_SIZE, _COMMENT = b"PK\x05\x06", 22, 1 << 16
_ENCRYPTED = 1
_READ = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError),
    *(ValueError, struct.error),  # of a name that is not UTF-8, of a place past the end
)
_UNSAFE = re.compile(r"[/\\]|[A-Za-z]:|(?:.*[/\\])?\.\.(?:[/\\]|\Z)", re.DOTALL)


class ZipMember(msgspec.Struct, eq=False):
    """A member; its data can be read until the next one is asked for."""

    name: str
    size: int
    mtime: float
    is_file: bool
    why_not: str
    _info: zipfile.ZipInfo
    _archive: zipfile.ZipFile
    _growth: Growth
    _report: Report
    _data: IO[bytes] | None = None
    _done: bool = False

    def read(self, size: int, /) -> bytes:
        """Return at most *size* bytes of it, ``b""`` at the end."""
        if self._done:
            return b""
        try:
            self._data = self._data or self._archive.open(self._info)
            out = self._data.read(min(size, OUTPUT_CHUNK))
        except _ERRORS as error:
            return self._stop(f"zip data are damaged ({error})")
        if why := self._growth.excess("zip", out):
            return self._stop(why)
        return out

    def _stop(self, why: str) -> bytes:
        self._done = True
        self._report(f"{self.name}: {why}", self._info.header_offset)
        return b""


def members(stream: FileStream, limits: Limits, report: Report) -> Iterator[ZipMember]:
    """Yield the members of the archive *stream*; *report* takes what is wrong with it, and where."""
    if (size := _directory_size(stream)) > DIRECTORY:
        report(f"a list of members of {size >> 20} MiB, which is not read", 0)
        return
    growth = Growth(limits, consumed=stream.size)
    try:
        archive = zipfile.ZipFile(_Seekable(stream))
    except _ERRORS as error:
        report(f"the archive is damaged or was cut short ({error}): nothing of it was read", 0)
        return
    with archive:
        for info in archive.infolist():
            why, when, is_file = _why_not(info), _written(info), not info.is_dir()
            yield ZipMember(
                info.filename, info.file_size, when, is_file, why, info, archive, growth, report
            )


def _why_not(info: zipfile.ZipInfo) -> str:
    if _UNSAFE.match(info.orig_filename):
        return "members whose names point out of the archive"
    if info.flag_bits & _ENCRYPTED:
        return "encrypted members"
    return "" if info.compress_type in _READ else "members that are neither stored nor deflated"


def _written(info: zipfile.ZipInfo) -> float:
    """Return when the member was written; 0 for a date that does not exist."""
    try:
        return float(calendar.timegm(info.date_time))
    except ValueError:
        return 0.0


def _directory_size(stream: FileStream) -> int:
    """Return how long the archive says that its list of members is; 0 when it does not say."""
    tail = stream.pread(_COMMENT + _END_SIZE, max(0, stream.size - _COMMENT - _END_SIZE))
    at = tail.rfind(_END)
    return int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0


class _Seekable(io.RawIOBase):
    """A file as ``zipfile`` wants it."""

    def __init__(self, stream: FileStream) -> None:
        self._stream = stream
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._stream.size}[
            whence
        ]
        if start + offset < 0:
            raise OSError("before the beginning")
        self._position = start + offset
        return self._position

    def read(self, size: int = -1, /) -> bytes:
        left = max(0, self._stream.size - self._position)
        data = self._stream.pread(left if size < 0 else min(size, left), self._position)
        self._position += len(data)
        return data
