"""Reading a saved JSON report: it comes from anywhere, so it is checked like any other input."""

import sys
from pathlib import Path

import msgspec

from rdmadiag.errors import UserError
from rdmadiag.report.model import Report

LIMIT = 512 << 20
"""Bytes: far above what a full report has, far below what would hurt."""


def load(path: Path) -> Report:
    """
    Read the JSON report *path* (``-``: standard input).

    :raises UserError: Not readable, not JSON, or not a report of schema 1.
    """
    try:
        return msgspec.json.decode(_read(path), type=Report)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path}: no rdmadiag report of schema 1: {error}") from error


def _read(path: Path) -> bytes:
    if str(path) == "-":
        data = sys.stdin.buffer.read(LIMIT + 1)
    else:
        with path.open("rb") as file:
            data = file.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise UserError(f"{path}: larger than {LIMIT >> 20} MiB, that is no report")
    return data
