"""
Rule files in the form that is loaded at start-up: one JSON file beside the YAML files that it was made from.

Thousands of rules take a good part of a second to read from YAML and milliseconds from JSON. The JSON is made when the
package is built. It carries a digest of the YAML files; with another digest, or without it, the YAML is read.
"""

import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from rdmadiag.data import data_dir
from rdmadiag.errors import RuleError

T = TypeVar("T")

COMPILED = "compiled.json"
FORM = b"2"
"""Changes when what the compiled files hold does."""

_digests: dict[Path, str] = {}
"""Hundreds of files are read for one."""

MAX_FILES = 2000
MAX_BYTES = 1 << 20
"""Bytes of a rule file: six times the largest of the shipped ones. As values it takes up to hundreds of times as much."""
MAX_TOTAL = 4 << 20
"""Bytes of all rule files below a folder: of the shipped ones all are less than one MiB."""


def yaml_files(folder: Path) -> list[Path]:
    """
    Return the rule files below a folder in a fixed order; none when there is no such folder.

    :raises RuleError: If a folder cannot be read, there are more files than anyone writes, or one that is meant as one ends in
        ``.yml``.
    """
    try:
        found = _found(folder) if folder.exists() else []
        total = sum(path.stat().st_size for path in found)
    except OSError as error:
        raise RuleError(f"{error.filename}: {error.strerror}") from error
    if total > MAX_TOTAL:
        raise RuleError(f"{folder}: more than {MAX_TOTAL >> 20} MiB of rule files")
    return sorted(found)


def _found(folder: Path) -> list[Path]:
    found: list[Path] = []
    for parent, _, names in os.walk(folder, onerror=_raise):
        found += (Path(parent, name) for name in names if name.endswith(".yaml"))
        for name in names:
            if name.endswith(".yml"):
                raise RuleError(f"{Path(parent, name)}: the names of rule files end in .yaml")
        if len(found) > MAX_FILES:
            raise RuleError(f"{folder}: more than {MAX_FILES:,} rule files")
    return found


def _raise(error: OSError) -> NoReturn:
    raise error


def content(path: Path) -> bytes:
    """
    Return what a rule file holds.

    :raises RuleError: If it cannot be read, is no ordinary file (a pipe may never end), or larger than rules are.
    """
    try:
        with open(path, "rb", opener=_unblocked) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RuleError(f"{path}: is no ordinary file")
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise RuleError(f"{path}: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise RuleError(f"{path}: larger than {MAX_BYTES >> 20} MiB")
    return data


def _unblocked(name: str, flags: int) -> int:
    """Open without waiting for the other end of a pipe."""
    return os.open(name, flags | os.O_NONBLOCK)


def digest_of(files: Iterable[Path]) -> str:
    """
    Return a digest of the files' names and contents.

    :raises RuleError: If one cannot be read.
    """
    digest = hashlib.blake2b(FORM, digest_size=16)
    for path in files:
        data = content(path)
        digest.update(b"%s\0%d\0" % (path.name.encode("utf-8", "surrogateescape"), len(data)))
        digest.update(data)
    return digest.hexdigest()


def folder_digest(folder: Path) -> str:
    """
    Return a digest of the rule files below a folder, as they were when they were read first.

    :raises RuleError: If one cannot be read.
    """
    if folder not in _digests:
        _digests[folder] = digest_of(yaml_files(folder))
    return _digests[folder]


def encoded(folder: Path, value: Any) -> bytes:
    """Return *value*, made from the YAML files below *folder*, in the compiled form."""
    return digest_of(yaml_files(folder)).encode() + b"\n" + msgspec.json.encode(value)


def read(folder: Path, shape: type[T], name: str = COMPILED) -> T | None:
    """
    Return what was compiled from the YAML files below *folder*; ``None`` when that is missing or stale.

    :param name: Of the file beside them that it was kept in.

    Of a folder that is not shipped it is ``None`` too: the digest tells what is stale, not who wrote it, and what is
    compiled is not checked again.
    """
    if folder.parent != data_dir("rules"):
        return None
    try:
        digest, _, body = (folder / name).read_bytes().partition(b"\n")
        if digest.decode("ascii", "replace") != folder_digest(folder):
            return None
        return msgspec.json.decode(body, type=shape)
    except (OSError, msgspec.DecodeError):
        return None
