"""Reading a saved JSON report: it comes from anywhere, so it is checked like any other input."""

import sys
from pathlib import Path
from typing import Any

import msgspec

from rdmadiag.errors import UserError
from rdmadiag.report.model import Report

LIMIT = 512 << 20
"""Bytes: far above what a full report has, far below what would hurt."""
DEPTH = 64
"""Levels of dicts and lists in fields; ours have four."""
LONGEST = 1 << 20
"""Characters of one text: rules may give so many, log lines less; longer ones take minutes to lay out."""


def load(path: Path) -> Report:
    """
    Read the JSON report *path* (``-``: standard input).

    :raises UserError: Not readable, not JSON, or not a report of schema 1.
    """
    try:
        data = _read(path)
        report = msgspec.json.decode(data, type=Report)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path}: no rdmadiag report of schema 1: {error}") from error
    what = _beyond_reason(report)
    if not what and len(data) > LONGEST < _longest(msgspec.to_builtins(report)):
        what = f"a text of more than {LONGEST:,} characters"
    if what:
        raise UserError(f"{path}: no rdmadiag report of schema 1: {what}")
    return report


def _beyond_reason(report: Report) -> str:
    """Return what no report that we made has, and no renderer could show."""
    numbers = (n for i in report.inputs for n in (i.bytes, i.records, i.unparsed))
    if any(abs(number) >= 1 << 63 for number in numbers):
        return "a number beyond 64 bits"
    parts: list[Any] = [report.tables]
    for finding in report.findings:
        parts.append(finding.subject)
        parts += [part for row in finding.evidence for part in (row.fields, row.where)]
    return f"nested deeper than {DEPTH}" if _is_deep(parts) else ""


def _is_deep(values: list[Any]) -> bool:
    for _ in range(DEPTH):
        values = [
            inner
            for value in values
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, dict | list)
        ]
        if not values:
            return False
    return True


def _longest(value: Any) -> int:
    """Return how long the longest text is in what :func:`_is_deep` has passed."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return max(map(_longest, (*value, *value.values())), default=0)
    return max(map(_longest, value), default=0) if isinstance(value, list) else 0


def _read(path: Path) -> bytes:
    if str(path) == "-":
        data = sys.stdin.buffer.read(LIMIT + 1)
    else:
        with path.open("rb") as file:
            data = file.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise UserError(f"{path}: larger than {LIMIT >> 20} MiB, that is no report")
    return data
