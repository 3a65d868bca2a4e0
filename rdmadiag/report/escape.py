"""
Untrusted text made visible.

Log lines, task names, host names, NQNs and file names may hold anything. A terminal obeys ESC sequences,
and every display obeys bidirectional controls: both are shown as backslash escapes. Markup is each
renderer's own matter.
"""

import re
from functools import cache
from typing import TYPE_CHECKING

from rdmadiag.report.model import Report
from rdmadiag.report.rewrite import Path, rewrite

if TYPE_CHECKING:
    import regex

_SURROGATE = re.compile("[\ud800-\udfff]")
_PROSE = {"summary", "explanation", "background", "command", "why"}
"""Keys whose texts may have lines of their own; elsewhere a line feed would forge a second row."""


@cache
def _unsafe() -> "regex.Pattern[str]":
    """
    Return the pattern of what is shown as an escape.

    Control (but tab and line feed), format (bidirectional, invisible), surrogate, private, line and paragraph
    separators, and the non-characters that XML does not allow. Made when the first text that is not plain is met.
    """
    import regex

    return regex.compile(
        r"[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\ufdd0-\ufdef\ufffe\uffff--\t\n]", regex.V1
    )


def visible(text: str, lines: bool = False) -> str:
    """
    Return *text* with control, bidirectional and invisible characters as backslash escapes.

    :param lines: Keep line feeds.
    """
    if text.isascii() and text.isprintable():  # nearly all there is
        return text
    text = _unsafe().sub(_escape, text).replace("\t", "    ")
    return text if lines else text.replace("\n", "\\n")


def encodable(text: str) -> str:
    """Return *text* with lone surrogates (undecodable bytes of a file name) as backslash escapes."""
    return _SURROGATE.sub(_escape, text)


def clean(report: Report) -> Report:
    """Return *report* with all its strings made visible, for every renderer but JSON."""
    return rewrite(report, _clean, visible)


def _clean(path: Path, text: str) -> str:
    return visible(text, lines=path[-1] in _PROSE)


def _escape(match: "re.Match[str] | regex.Match[str]") -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # os.fsdecode: one undecodable byte
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
