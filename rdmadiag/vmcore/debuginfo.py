"""
Debug info
----------

DWARF for the kernel and its modules, where it is found: in drgn's usual places and where the user says.
Nothing is fetched from the network.
"""

import struct
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from drgn import MissingDebugInfoError, Program

from rdmadiag.errors import UserError
from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.notes import notes_of

__all__ = ("build_id_of", "load_debug_info")

_MAX_CANDIDATES = 8
_SHT_NOTE, _NT_GNU_BUILD_ID = 7, 3


def load_debug_info(
    prog: Program, paths: Sequence[Path], build_id: str
) -> tuple[bool, list[Problem]]:
    """
    Load what is found.

    :param paths: Files, and directories in which to search.
    :param build_id: The kernel's build id, in hex; ``""`` when the dump does not tell.
    :return: Whether there is debug info for the kernel itself, and what is missing.
    :raises UserError: if a path does not exist
    """
    prog.set_enabled_debug_info_finders(["standard"])
    for path in paths:
        if not path.exists():
            raise UserError(f"{path}: there is no such file or directory")
    _search_in(prog, [str(path) for path in paths if path.is_dir()])
    files = [str(path) for path in paths if path.is_file()]
    if not _load(prog, files, main=True):
        return False, list(_refusals(paths, build_id))
    if _load(prog, files, default=True):
        return True, []
    missing = sorted(module.name for module in prog.modules() if module.wants_debug_file())
    return True, [Problem(f"no debug info for {len(missing)} modules", ", ".join(missing))]


def _search_in(prog: Program, directories: Sequence[str]) -> None:
    """Let drgn search in directories too: roots of unpacked packages, and plain folders."""
    options = prog.debug_info_options
    extra = tuple(directories)
    debug = tuple(f"{name}/usr/lib/debug" for name in extra)
    options.directories = extra + debug + options.directories
    options.kernel_directories = extra + options.kernel_directories


def _load(prog: Program, files: list[str], *, main: bool = False, default: bool = False) -> bool:
    try:
        prog.load_debug_info(files, main=main, default=default)
    except MissingDebugInfoError:
        return False
    return True


def _refusals(paths: Sequence[Path], build_id: str) -> Iterator[Problem]:
    """Say of what the user named why it was not used."""
    for path in paths:
        found = False
        for candidate in islice(_candidates(path), _MAX_CANDIDATES):
            other = build_id_of(candidate)
            if other and other != build_id:
                found = True
                what = f"debug info of another kernel: its build id is {other}, the dump's is {build_id}"
                yield Problem(what, str(candidate))
        if not found:
            yield Problem(f"has no debug info for the kernel with build id {build_id}", str(path))


def _candidates(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    folders = (path, path / "boot", path / "usr/lib/debug/boot")
    yield from chain.from_iterable(folder.glob("vmlinux*") for folder in folders)


def build_id_of(path: Path) -> str:
    """Return the GNU build id of an ELF file in hex, ``""`` when it has none or is no such file."""
    try:
        with path.open("rb") as file:
            return next(_build_ids(file), "")
    except (OSError, struct.error):
        return ""


def _build_ids(file: BinaryIO) -> Iterator[str]:
    """Iterate over the build ids in the note sections of a 64-bit little-endian ELF file."""
    head = file.read(64)
    if head[:6] != b"\x7fELF\x02\x01":
        return
    (offset,) = struct.unpack_from("<Q", head, 40)
    size, count = struct.unpack_from("<HH", head, 58)
    file.seek(offset)
    table = file.read(size * count)
    for i in range(count):
        _, kind, _, _, place, length = struct.unpack_from("<IIQQQQ", table, i * size)
        if kind == _SHT_NOTE and length < 1 << 16:
            file.seek(place)
            for name, note, text in notes_of(file.read(length)):
                if name == b"GNU" and note == _NT_GNU_BUILD_ID:
                    yield text.hex()
