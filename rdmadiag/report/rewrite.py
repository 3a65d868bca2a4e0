"""Rewriting every string of a report: what escaping and redaction have in common."""

from collections.abc import Callable
from typing import Any

import msgspec

from rdmadiag.report.model import Report

Path = tuple[str, ...]
Rewriter = Callable[[Path, str], str]
"""Gets the keys that lead to a string (list positions left out) and the string."""


def rewrite(
    report: Report, function: Rewriter, name: Callable[[str], str] = lambda key: key
) -> Report:
    """
    Return *report* with every string replaced by what *function* gives.

    :param name: What the names of fields are replaced by: they come from a saved report too.
    """
    rows = _walk(msgspec.to_builtins(report), (), function, name)
    return msgspec.convert(rows, Report)


def _walk(value: Any, path: Path, function: Rewriter, name: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return function(path, value)
    if isinstance(value, dict):
        return {name(key): _walk(item, (*path, key), function, name) for key, item in value.items()}
    if isinstance(value, list):
        return [_walk(item, path, function, name) for item in value]
    return value
