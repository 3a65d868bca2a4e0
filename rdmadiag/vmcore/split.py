"""
Split dumps
-----------

A dump that ``makedumpfile --split`` wrote into several files: each has the headers and the bitmap of the whole dump, and
the pages of some page frames.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from rdmadiag.errors import UserError
from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.corefile import CoreFile, read_core_file
from rdmadiag.vmcore.kdump_header import KdumpHeader, count_pages

__all__ = ("read_dump_files",)

MAX_FILES = 10_000
_MAGIC = b"KDUMP   "


def read_dump_files(path: str | Path, others: Iterable[Path] = ()) -> CoreFile:
    """
    Read what a dump says of itself; of a split dump all its files.

    :param path: A dump, or a directory with the files of one split dump.
    :param others: Files among which the others of a split dump may be.
    :raises UserError: if it is not a dump, or not enough of one
    """
    if Path(path).is_dir():
        return _of_directory(Path(path))
    core = read_core_file(path)
    if not _is_part(core):
        return core
    identity = _identity(core)
    found = _parts_among(other for other in others if other != core.path)
    return _join([core, *(other for other in found if _identity(other) == identity)])


def _of_directory(path: Path) -> CoreFile:
    try:
        parts = list(_parts_among(islice(sorted(path.iterdir()), MAX_FILES)))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    if not parts:
        raise UserError(f"{path}: is a directory, and not one with the files of a split dump")
    if len({_identity(part) for part in parts}) > 1:
        raise UserError(f"{path}: is a directory with files of more than one split dump")
    return _join(parts)


def _is_part(core: CoreFile) -> bool:
    # Only plain files: makedumpfile does not flatten the parts of a split dump.
    return core.kind == "kdump" and core.kdump is not None and core.kdump.part is not None


def _frames(core: CoreFile) -> range:
    part = core.kdump.part if core.kdump else None
    return part if part is not None else range(0)  # an empty range is false, too


def _parts_among(paths: Iterable[Path]) -> Iterator[CoreFile]:
    """Iterate over files of split dumps; what else there is is passed over."""
    for path in paths:
        with suppress(OSError, UserError):
            if path.is_file() and _begins_as_kdump(path):
                core = read_core_file(path)
                if _is_part(core):
                    yield core


def _begins_as_kdump(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _join(found: list[CoreFile]) -> CoreFile:
    """Return the dump that files are parts of, with what is missing of it."""
    parts = tuple(sorted({part.path: part for part in found}.values(), key=_key))
    problems = dict.fromkeys(problem for part in parts for problem in part.problems)
    return replace(
        parts[0],
        parts=parts,
        size=sum(part.size for part in parts),
        problems=[*problems, *_missing(parts)],
    )


def _key(core: CoreFile) -> tuple[int, int, str]:
    frames = _frames(core)
    return frames.start, frames.stop, str(core.path)


def _identity(core: CoreFile) -> tuple[bytes, ...]:
    """Return what the files of one dump have in common: VMCOREINFO (with the time of the crash), and the whole dump's bitmap."""
    digest = hashlib.sha256()
    header = core.kdump
    if header:
        digest.update(repr((header.block_size, header.max_mapnr)).encode())
        with core.path.open("rb") as file:
            start, length = header.second_bitmap
            file.seek(start)
            while length > 0 and (data := file.read(min(length, 1 << 20))):
                digest.update(data)
                length -= len(data)
    return core.vmcoreinfo, digest.digest()


def _missing(parts: tuple[CoreFile, ...]) -> Iterator[Problem]:
    """Say which pages are in files that were not given."""
    header = parts[0].kdump
    if header is None:
        return
    gaps = list(_gaps(parts, header))
    with parts[0].path.open("rb") as file:

        def read(offset: int, count: int) -> bytes:
            file.seek(offset)
            return file.read(count)

        total = count_pages(header, read)
        lost = sum(count_pages(header, read, gap) for gap in gaps)
    if lost:
        count = "one file" if len(parts) == 1 else f"{len(parts)} files"
        what = (
            f"this is {count} of a split dump (makedumpfile --split): {lost:,} of its {total:,} pages are in files that "
            "were not given; give all of them in one call, or the directory they are in"
        )
        yield Problem(
            what, "page frames " + ", ".join(f"{g.start:#x}-{g.stop - 1:#x}" for g in gaps)
        )


def _gaps(parts: tuple[CoreFile, ...], header: KdumpHeader) -> Iterator[range]:
    """Iterate over the page frames that no part has."""
    end = 0
    for part in parts:
        frames = _frames(part)
        if frames.start > end:
            yield range(end, frames.start)
        end = max(end, frames.stop)
    if end < header.max_mapnr:
        yield range(end, header.max_mapnr)
