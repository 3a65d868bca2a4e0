"""
Rule files in the form that is loaded at start-up: one JSON file beside the YAML files that it was made from.

Thousands of rules take a good part of a second to read from YAML and milliseconds from JSON. The JSON is made when the
package is built. It carries a digest of the YAML files; with another digest, or without it, the YAML is read.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from rdmadiag.errors import RuleError

T = TypeVar("T")

COMPILED = "compiled.json"
FORM = b"2"
"""Changes when what the compiled files hold does."""


def yaml_files(folder: Path) -> list[Path]:
    """Return the rule files below a folder in a fixed order; none when there is no such folder."""
    return sorted(folder.rglob("*.yaml"))


def digest_of(files: Iterable[Path]) -> str:
    """
    Return a digest of the files' names and contents.

    :raises RuleError: If one cannot be read.
    """
    digest = hashlib.blake2b(FORM, digest_size=16)
    for path in files:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise RuleError(f"{path}: {error.strerror}") from error
        digest.update(b"%s\0%d\0" % (path.name.encode("utf-8", "surrogateescape"), len(content)))
        digest.update(content)
    return digest.hexdigest()


def encoded(folder: Path, value: Any) -> bytes:
    """Return *value*, made from the YAML files below *folder*, in the compiled form."""
    return digest_of(yaml_files(folder)).encode() + b"\n" + msgspec.json.encode(value)


def read(folder: Path, shape: type[T]) -> T | None:
    """Return what was compiled from the YAML files below *folder*; ``None`` when that is missing or stale."""
    try:
        digest, _, body = (folder / COMPILED).read_bytes().partition(b"\n")
        if digest.decode("ascii", "replace") != digest_of(yaml_files(folder)):
            return None
        return msgspec.json.decode(body, type=shape)
    except (OSError, msgspec.DecodeError):
        return None
