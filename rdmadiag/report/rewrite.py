"""Rewriting every string of a report: what escaping and redaction have in common."""

from collections.abc import Callable
from typing import Any

import msgspec

from rdmadiag.report.model import Report

Path = tuple[str, ...]
Rewriter = Callable[[Path, str], str]
"""Gets the keys that lead to a string (list positions left out) and the string."""


def rewrite(report: Report, function: Rewriter) -> Report:
    """Return *report* with every string (not the names of fields) replaced by what *function* gives."""
    rows = _walk(msgspec.to_builtins(report), (), function)
    return msgspec.convert(rows, Report)


def _walk(value: Any, path: Path, function: Rewriter) -> Any:
    if isinstance(value, str):
        return function(path, value)
    if isinstance(value, dict):
        return {key: _walk(item, (*path, key), function) for key, item in value.items()}
    if isinstance(value, list):
        return [_walk(item, path, function) for item in value]
    return value
