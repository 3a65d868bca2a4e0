"""printf formats of the kernel: from a format string to a pattern for what it prints."""

import re

_CONVERSION = re.compile(
    r"%(?:%|[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?P<length>hh|h|ll|l|z|j|t|L)?(?P<kind>[diuxXoscpfeg])"
    r"(?P<pointer>(?<=p)(?:I6c|I4|i4|i6|ISpfsc|ISpsc|ISpc|ISp|IS|[A-Za-z]\w{0,4})?)?)"
)
_NUMBERS = {
    "d": r"-?\d+",
    "i": r"-?\d+",
    "u": r"\d+",
    "x": r"(?:0[xX])?[0-9a-fA-F]+",
    "o": r"[0-7]+",
    "c": ".",
}
_TEXT = r".{0,200}?"


def format_pattern(text: str) -> str:
    """Return a pattern for what the printf format *text* prints; blanks match any run of blanks."""
    parts, end = [], 0
    for match in _CONVERSION.finditer(text):
        parts += [_fixed(text[end : match.start()]), _conversion(match)]
        end = match.end()
    return "".join([*parts, _fixed(text[end:])]).strip()


def _fixed(text: str) -> str:
    return re.sub(r"(?:\\ |\\\t|\\\n)+", r"\\s+", re.escape(text))


def _conversion(match: "re.Match[str]") -> str:
    kind = match["kind"]
    if kind is None:
        return "%"
    if kind == "p":
        return r"\S+" if match["pointer"] in ("", None) else _TEXT
    return _NUMBERS.get(kind.lower(), _TEXT)


def format_runs(text: str) -> list[str]:
    """
    Return the fixed parts of the format: strings that every line it prints holds.

    Runs of blanks part them, too: in a message they may have become one blank.
    """
    runs = re.split(r"\0|\s{2,}", _CONVERSION.sub("\0", text).replace("\t", "  "))
    return [r for r in (x.replace("%%", "%").strip() for x in runs) if r]
