"""Opening inputs: what each one is, and the stream of its bytes."""

import calendar
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rdmadiag.facts.model import Problem
from rdmadiag.inputs.decompress import Decompressed
from rdmadiag.inputs.files import STDIN, Target, expand, rotation_date
from rdmadiag.inputs.limits import DEFAULT, Limits
from rdmadiag.inputs.members import Interest, interest, looks_like_log
from rdmadiag.inputs.sniff import ARCHIVES, COMPRESSED, DUMPS, HEAD, LOGS, Kind, sniff
from rdmadiag.inputs.source import Source
from rdmadiag.inputs.streams import FileStream, Joined, PipeStream, Stream, Utf8

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdmadiag.inputs.tar import Member
    from rdmadiag.inputs.zip import ZipMember

KCORE = "/proc/kcore"
DAY = 86400.0

_BEFORE_JSON = b"\xef\xbb\xbf \t\r\n"
_COMMANDS = {
    Kind.JOURNAL: "journalctl --file {} -o export",
    Kind.COMPRESS: "zcat {}",
    Kind.LZ4_LEGACY: "lz4 -dc {}",
}
"""What prints the logs in files that are not read."""


def open_input(name: str, limits: Limits = DEFAULT) -> Iterator[Source]:
    """
    Yield what is to be read for one input of the user; each must be read before the next is asked for.

    :param name: A file, a directory, an archive, or ``-``.
    """
    for target in expand([name], limits):
        yield from open_target(target, limits)


def open_target(target: Target, limits: Limits = DEFAULT) -> Iterator[Source]:
    """Yield what is to be read of *target*; each must be read before the next is asked for."""
    if target.problems:
        yield Source(target.archive, "unknown", Kind.EMPTY, problems=list(target.problems))
    for name in target.names:
        for source in _open(name, target.archive, limits):
            source.series = source.series or target.series
            yield source


def _open(name: str, archive: str, limits: Limits) -> Iterator[Source]:
    if name == STDIN:
        source = Source("-", "log", Kind.TEXT)
        yield from _by_content(source, PipeStream(sys.stdin.buffer, source.report), limits)
        return
    path = Path(name)
    source = Source(name, "unknown", Kind.EMPTY, path=path, archive=archive)
    if archive and interest(os.path.relpath(name, archive)) is Interest.NO:
        return
    fd = _descriptor(source, path)
    if fd is None:
        yield source
        return
    with os.fdopen(fd, "rb") as file:
        _describe(source, fd, name)
        if stat.S_ISREG(os.fstat(fd).st_mode) and source.size:
            stream: Stream = FileStream(fd, source.report)
        else:
            os.set_blocking(fd, True)
            stream = PipeStream(file, source.report)
        yield from _by_content(source, stream, limits)


def _descriptor(source: Source, path: Path) -> int | None:
    """Open a file; return ``None`` where there is nothing to be read here: it is noted in *source* why."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISSOCK(mode) or str(path.absolute()) == KCORE:
            source.kind = "live"
            return None
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            # /dev/zero never ends; a terminal is read as -
            source.problems.append(Problem("is a device, not a file", source.name))
            return None
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        source.problems.append(Problem(f"cannot be read: {error.strerror}", source.name))
        return None


def _describe(source: Source, fd: int, name: str) -> None:
    """Take size and date; a rotated file that was copied has a younger date than its name says."""
    status = os.fstat(fd)
    source.size, source.mtime = status.st_size, status.st_mtime
    date = rotation_date(name)
    if date:
        named = calendar.timegm((int(date[:4]), int(date[4:6]), int(date[6:]), 0, 0, 0)) + DAY
        source.mtime = min(source.mtime, named)


def _by_content(source: Source, stream: Stream, limits: Limits) -> Iterator[Source]:
    """Find out what the stream is, decompressing it if need be, and yield it or its members."""
    head, stream = _peek(stream)
    kind = sniff(head)
    if kind in COMPRESSED:
        source.mtime = _written(head, kind, source.mtime)
        head, stream = _peek(Decompressed(stream, kind, limits, source.report))
        inner = sniff(head)
        if inner in DUMPS or inner in COMPRESSED:
            yield _unusable(source, f"{inner.value} inside {kind.value}: unpack it first")
            return
        kind = inner
    source.format = kind
    if kind is Kind.TAR:
        from rdmadiag.inputs import tar

        yield from _archive(source, tar.members(stream, source.report), limits)
    elif kind is Kind.ZIP and isinstance(stream, FileStream):
        from rdmadiag.inputs import zip as zips

        yield from _archive(source, zips.members(stream, limits, source.report), limits)
    elif kind is Kind.ZIP:
        yield _unusable(source, "a zip that is no plain file: save it as one first")
    else:
        yield from _single(source, head, stream, kind)


def _single(source: Source, head: bytes, stream: Stream, kind: Kind) -> Iterator[Source]:
    source.format = kind
    if kind in DUMPS:
        source.kind = "vmcore"
        if source.path is None:
            _unusable(source, f"{kind.value} that is no plain file: save it as one first")
        yield source
    elif kind not in LOGS:
        yield _unusable(source, f"{kind.value}: not read{_instead(source, stream, kind)}")
    elif kind is Kind.EMPTY and source.problems:
        # damaged from its beginning: anything may have been in it
        if not source.archive or _place(source) is Interest.YES:
            source.kind = "unknown"
            yield source
    elif not source.archive or _is_wanted(source, head, kind):
        source.kind = "log"
        if kind is Kind.UTF16:
            head, stream = _peek(Utf8(stream))
        source.stream = _lines(source, head, stream)
        if kind in (Kind.BINARY, Kind.EMPTY):
            source.report("most of this is not text" if kind is Kind.BINARY else "it is empty", 0)
        yield source


def _lines(source: Source, head: bytes, stream: Stream) -> Stream:
    """Return a stream of lines: an array of JSON may be one of any length."""
    if not head.lstrip(_BEFORE_JSON).startswith((b"{", b"[")):
        return stream
    from rdmadiag.inputs.unrolled import Unrolled, is_one_text

    if not is_one_text(head):
        return stream
    what = "one JSON text: what are called lines are its records"
    source.problems.append(Problem(what, source.name, remark=True))
    return Unrolled(stream, source.report)


def _instead(source: Source, stream: Stream, kind: Kind) -> str:
    """Say how to read what is not read as it is."""
    if kind is Kind.UNSUPPORTED:
        return "; unpack it first"
    if kind not in _COMMANDS:
        return ""
    import shlex

    plain = source.path is not None and isinstance(stream, FileStream)
    command = _COMMANDS[kind].format(shlex.quote(source.name) if plain else "FILE")
    return f"; {'' if plain else 'unpack it, then '}{command} | rdmadiag diagnose - reads it"


def _is_wanted(source: Source, head: bytes, kind: Kind) -> bool:
    """Tell whether a file that the user did not name is read as a log."""
    if kind is Kind.BINARY or kind is Kind.EMPTY:
        return False
    return _place(source) is Interest.YES or kind is Kind.UTF16 or looks_like_log(head)


def _place(source: Source) -> Interest:
    """Return how much its place in an archive or a directory says for a log."""
    return interest(source.name.removeprefix(source.archive).lstrip("!/"))


def _unusable(source: Source, why: str) -> Source:
    source.kind, source.stream = "unknown", None
    source.problems.append(Problem(why, source.name))
    return source


def _archive(
    source: Source, members: "Iterable[Member | ZipMember]", limits: Limits
) -> Iterator[Source]:
    """Yield the logs of an archive, and last the archive itself with its problems."""
    skipped: dict[str, int] = {}
    for number, member in enumerate(members):
        if number >= limits.members:
            source.problems.append(
                Problem(
                    f"more than {limits.members} members: the others were not read", source.name
                )
            )
            break
        if why := member.why_not:
            skipped[why] = skipped.get(why, 0) + 1
        elif member.is_file and member.size and interest(member.name) is not Interest.NO:
            yield from _member(source, member, limits)
    for why, count in skipped.items():
        source.problems.append(Problem(f"{count} {why} not read", source.name))
    yield source


def _member(archive: Source, member: "Member | ZipMember", limits: Limits) -> Iterator[Source]:
    source = Source(
        f"{archive.name}!{member.name}",
        "unknown",
        Kind.EMPTY,
        size=member.size,
        mtime=member.mtime or archive.mtime,
        archive=archive.name,
    )
    head, stream = _peek(member)
    kind = sniff(head)
    if kind in COMPRESSED:
        head, stream = _peek(Decompressed(stream, kind, limits, source.report))
        kind = sniff(head)
    if kind in COMPRESSED or kind in ARCHIVES:
        yield _unusable(source, f"{kind.value} inside an archive: not read")
    else:
        yield from _single(source, head, stream, kind)


def _peek(stream: Stream) -> tuple[bytes, Stream]:
    """Return the first bytes, and a stream that still has them."""
    if isinstance(stream, FileStream):
        return stream.pread(min(HEAD, stream.size), 0), stream
    parts: list[bytes] = []
    size = HEAD
    while size > 0 and (data := stream.read(size)):
        parts.append(data)
        size -= len(data)
    head = b"".join(parts)
    return head, Joined(head, stream)


def _written(head: bytes, kind: Kind, mtime: float | None) -> float | None:
    """Return when the compressed file was written: gzip keeps it, also when the file was copied since."""
    kept = int.from_bytes(head[4:8], "little") if kind is Kind.GZIP else 0
    if not kept:
        return mtime
    return float(kept) if mtime is None else min(mtime, float(kept))
