"""
Event rules in the form that is loaded at start-up: one JSON file beside the YAML files it was made from.

A few thousand rules take a good part of a second to read from YAML, and milliseconds from JSON. The JSON
is made when the package is built (also for an editable install); it holds a digest of the YAML files, and
with another digest, or without the file, the YAML files are read.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from rdmadiag.errors import RuleError

COMPILED = "compiled.json"
FORMAT = 1


class Rule(msgspec.Struct, frozen=True, array_like=True):
    """
    An event rule; see :class:`rdmadiag.rules.schema.EventRule`.

    :ivar pattern: As ``regex`` wants it.
    :ivar types: Group -> type.
    :ivar values: Field -> decoding table, or its name.
    :ivar words: Every line that *literals* and *pattern* match holds one of these as a whole word; with
        none the literals themselves are looked for.
    """

    event: str
    subsystem: str
    level: str
    meaning: str
    pattern: str
    types: dict[str, str]
    set: dict[str, Any]
    values: dict[str, str | dict[str, str]]
    difference: dict[str, tuple[str, str]]
    literals: list[str]
    companions: list[str]
    words: list[str]


class Format(msgspec.Struct, frozen=True, array_like=True):
    """
    A format string of a driver.

    :ivar literal: The most telling fixed part of it.
    :ivar word: A word of it, to look it up by.
    :ivar alone: Whether the literal points to RDMA by itself; else the driver's prefix must be there too.
    """

    format: str
    function: str
    file: str
    driver: str
    literal: str
    word: str
    alone: bool


class CompiledDriver(msgspec.Struct, frozen=True, array_like=True):
    """See :class:`rdmadiag.rules.schema.Driver`."""

    name: str
    subsystem: str
    prefix: str
    literals: list[str]
    own: str


class Compiled(msgspec.Struct, array_like=True):
    """All event files of one folder of rules."""

    version: int
    digest: str
    rules: list[Rule] = []
    formats: list[Format] = []
    drivers: list[CompiledDriver] = []
    tables: dict[str, dict[str, str]] = {}


_decoder = msgspec.json.Decoder(Compiled)


def event_files(directory: Path) -> list[Path]:
    """Return the event files of a folder of rules, in the order they are tried."""
    return sorted((directory / "events").rglob("*.yaml"))


def digest_of(files: Iterable[Path]) -> str:
    """
    Return a digest of the files' names and contents.

    :raises RuleError: If one cannot be read.
    """
    digest = hashlib.blake2b(digest_size=16)
    for path in files:
        try:
            digest.update(b"%s\0%d\0" % (path.name.encode(), path.stat().st_size))
            digest.update(path.read_bytes())
        except OSError as error:
            raise RuleError(f"{path}: {error.strerror}") from error
    return digest.hexdigest()


def read_compiled(directory: Path) -> Compiled | None:
    """Return the compiled event files of a folder of rules, or ``None`` when they are missing or stale."""
    try:
        compiled = _decoder.decode((directory / "events" / COMPILED).read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    if compiled.version != FORMAT or compiled.digest != digest_of(event_files(directory)):
        return None
    return compiled


def write_compiled(directory: Path) -> Path:
    """
    Compile the event files of a folder of rules, for the package's build.

    :returns: The file that was written.
    :raises RuleError: On a bad event file.
    """
    from rdmadiag.logs.compiler import compile_rules

    path = directory / "events" / COMPILED
    path.write_bytes(msgspec.json.encode(compile_rules(directory)))
    return path
