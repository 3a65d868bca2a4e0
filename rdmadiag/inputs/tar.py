"""
Members of a tar archive as streams; nothing is unpacked.

``tarfile`` reads long-name and extended headers of any claimed size into memory and ends at the first
damaged header, so only its header parser is used here.
"""

import tarfile
from collections.abc import Callable, Iterator

import msgspec

from rdmadiag.inputs.streams import Stream

BLOCK = tarfile.BLOCKSIZE
MAX_EXTENDED = 1 << 20
_SKIP = 1 << 20

_PAX = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
_LONG = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_DEVICES = (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)


class Member(msgspec.Struct, eq=False):
    """A member; its data can be read until the next one is asked for."""

    name: str
    size: int
    mtime: float
    type: bytes
    _stream: Stream
    _left: int = 0

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file with its data here (no link, device or sparse file)."""
        return self.type in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)

    @property
    def why_not(self) -> str:
        """What it is, if that is never read."""
        if self.is_unsafe:
            return "members whose names point out of the archive"
        return "members that are devices or pipes" if self.is_device else ""

    @property
    def is_device(self) -> bool:
        """Whether it is a device or a pipe."""
        return self.type in _DEVICES

    @property
    def is_unsafe(self) -> bool:
        """Whether its name points out of the archive."""
        return self.name.startswith("/") or ".." in self.name.split("/")

    def read(self, size: int, /) -> bytes:
        """Return at most *size* bytes of it, ``b""`` at the end."""
        data = self._stream.read(min(size, self._left)) if self._left else b""
        self._left -= len(data)
        return data

    @property
    def missing(self) -> int:
        """How many bytes were not read yet."""
        return self._left


def members(stream: Stream, report: Callable[[str, int], None]) -> Iterator[Member]:
    """Yield the members of the archive *stream*; *report* takes what is wrong with it, and where."""
    position = 0
    extra: dict[str, str] = {}
    while True:
        block = _exactly(stream, BLOCK)
        position += len(block)
        if len(block) < BLOCK or not block.strip(b"\0"):
            if block.strip(b"\0"):
                report("the archive ends inside a header", position)
            return
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "backslashreplace")
        except tarfile.HeaderError as error:
            report(f"the archive is damaged ({error}): the rest of it was not read", position)
            return
        size = _number(extra.get("size"), info.size) if info.type not in _PAX else info.size
        padded = -(-size // BLOCK) * BLOCK
        member = Member(info.name, size, float(info.mtime), info.type, stream, size)
        if info.type in _PAX or info.type in _LONG:
            extra |= _extended(member)
        elif info.type != tarfile.XGLTYPE:
            member.name = extra.get("path", info.name)
            extra = {}
            yield member
        if not _skip(stream, member.missing + padded - size):
            report("the archive ends inside a member", position + size)
            return
        position += padded


def _extended(member: Member) -> dict[str, str]:
    """Read what an extended header says of the next member."""
    data = _exactly(member, min(member.size, MAX_EXTENDED))
    text = data.decode("utf-8", "backslashreplace")
    if member.type == tarfile.GNUTYPE_LONGNAME:
        return {"path": text.rstrip("\0")}
    if member.type == tarfile.GNUTYPE_LONGLINK:
        return {}
    pairs = (line.partition(" ")[2].partition("=") for line in text.split("\n"))
    return {key: value for key, _, value in pairs if key in ("path", "size")}


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() else default


def _exactly(stream: Stream, size: int) -> bytes:
    """Read *size* bytes, fewer only at the end."""
    parts = []
    while size > 0 and (data := stream.read(size)):
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


def _skip(stream: Stream, size: int) -> bool:
    while size > 0 and (data := stream.read(min(size, _SKIP))):
        size -= len(data)
    return size <= 0
