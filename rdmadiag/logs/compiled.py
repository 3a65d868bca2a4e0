"""Event rules as the vocabulary uses them: checked, their patterns expanded, their literals chosen."""

from pathlib import Path
from typing import Any

import msgspec

from rdmadiag.rules import precompiled


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

    rules: list[Rule] = []
    formats: list[Format] = []
    drivers: list[CompiledDriver] = []
    tables: dict[str, dict[str, str]] = {}


def event_files(directory: Path) -> list[Path]:
    """Return the event files of a folder of rules, in the order they are tried."""
    return precompiled.yaml_files(directory / "events")


def read_compiled(directory: Path) -> Compiled | None:
    """Return the compiled event files of a folder of rules, or ``None`` when they are missing or stale."""
    return precompiled.read(directory / "events", Compiled)


def compile_events(directory: Path) -> bytes:
    """
    Return the event files of a folder of rules in the form that loads fast.

    :raises RuleError: On a bad event file.
    """
    from rdmadiag.logs.compiler import compile_rules

    return precompiled.encoded(directory / "events", compile_rules(directory))
