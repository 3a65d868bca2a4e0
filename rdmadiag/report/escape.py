"""
Untrusted text made visible.

Log lines, task names, host names, NQNs and file names may hold anything. A terminal obeys ESC sequences,
and every display obeys bidirectional controls: both are shown as backslash escapes. Markup is each
renderer's own matter.
"""

import re

from rdmadiag.report.model import Report
from rdmadiag.report.rewrite import Path, rewrite

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # bidi, invisible
    "\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"  # no characters, or tags
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_PROSE = {"summary", "explanation", "background", "command", "why"}
"""Keys whose texts may have lines of their own; elsewhere a line feed would forge a second row."""


def visible(text: str, lines: bool = False) -> str:
    """
    Return *text* with control, bidirectional and invisible characters as backslash escapes.

    :param lines: Keep line feeds.
    """
    text = _UNSAFE.sub(_escape, text).replace("\t", "    ")
    return text if lines else text.replace("\n", "\\n")


def encodable(text: str) -> str:
    """Return *text* with lone surrogates (undecodable bytes of a file name) as backslash escapes."""
    return _SURROGATE.sub(_escape, text)


def clean(report: Report) -> Report:
    """Return *report* with all its strings made visible, for every renderer but JSON."""
    return rewrite(report, _clean)


def _clean(path: Path, text: str) -> str:
    return visible(text, lines=path[-1] in _PROSE)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # os.fsdecode: one undecodable byte
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
