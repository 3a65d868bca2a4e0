"""
Patterns of event rules: from what a rule says to a ``regex`` pattern, and what a prefilter can know of it.

A rule's pattern is a ``regex`` pattern with two additions: ``%{type:name}`` is a typed group, and a blank
stands for any run of blanks (mail, consoles and exports change them).
"""

from collections.abc import Iterator

import regex

from rdmadiag.logs.words import rarity, words_of

TYPES: dict[str, tuple[str, str]] = {
    "int": (r"[-+]?\d+", "int"),
    "hex": (r"(?:0[xX])?[0-9a-fA-F]+", "hex"),
    "hexstr": (r"(?:0[xX])?[0-9a-fA-F]+", "hexstr"),
    "ip": (r"[0-9a-fA-F:.]{2,45}(?:%\w{1,16})?", "ip"),
    "errno": (r"-?\d+|-?E[A-Z]+", "errno"),
    "float": (r"[-+]?\d+(?:\.\d+)?", "float"),
    "device": (r"[\w:.-]*\w", "device"),
    "lower": (r"[\w.-]+", "lower"),
    "ptr": (r"(?:0[xX])?[0-9a-fA-F]+|\(null\)|\(ptrval\)|\(____ptrval____\)", "str"),
    "word": (r"[^\s,;:()<>'\"]+", "str"),
    "text": (r".*?", "str"),
}
"""What ``%{type:name}`` stands for: the pattern, and how its text becomes a value."""

MIN_LITERAL = 4
MAX_LITERAL = 40
MAX_PATTERN = 2000
MAX_EXPANDED = 4 * MAX_PATTERN
"""Characters of a pattern of which typed groups and blanks are written out."""

_TYPED = regex.compile(r"%\{(?P<type>\w+):(?P<name>[a-z]\w*)\}")
_TOKEN = regex.compile(
    r"""(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])
      | (?P<escape>\\(?:[xX][0-9a-fA-F]{2}|p\{\w+\}|.))
      | (?P<open>\((?:\?(?:P<\w+>|[:=!>|]|<[=!]|[aimsx-]+:))?)
      | (?P<close>\))
      | (?P<quantifier>(?:[*+?]|\{\d+(?:,\d*)?\}|\{,\d+\})[?+]?)
      | (?P<alternative>\|)
      | (?P<any>[.^$])
      | (?P<char>.)""",
    regex.VERBOSE | regex.DOTALL,
)
_BLANKS = {"": r"\s+", "?": r"\s*", "*": r"\s*", "+": r"\s+"}

Token = tuple[str, str]


class PatternError(ValueError):
    """A pattern that cannot be used; the text says why."""


def tokens(pattern: str) -> Iterator[Token]:
    """Yield ``(kind, text)`` of each piece of a ``regex`` pattern; kinds are the groups of ``_TOKEN``."""
    for match in _TOKEN.finditer(pattern):
        yield match.lastgroup or "char", match.group()


def typed_groups(pattern: str) -> tuple[str, dict[str, str]]:
    """
    Return *pattern* with its ``%{type:name}`` written out, and the types of those groups.

    :raises PatternError: On an unknown type, a name used twice, or a pattern that is too long.
    """
    if len(pattern) > MAX_PATTERN:
        raise PatternError(f"longer than {MAX_PATTERN} characters")
    types: dict[str, str] = {}

    def group(match: "regex.Match[str]") -> str:
        kind, name = match["type"], match["name"]
        if kind not in TYPES:
            raise PatternError(f"unknown type {kind!r} in {match.group()}")
        if name in types:
            raise PatternError(f"the name {name!r} is used twice")
        types[name] = TYPES[kind][1]
        return f"(?P<{name}>{TYPES[kind][0]})"

    return _TYPED.sub(group, pattern), types


def loosen_blanks(pattern: str) -> str:
    """Return *pattern* with its blanks matching any run of blanks."""
    out: list[str] = []
    blank = False
    for kind, text in tokens(pattern):
        if blank:
            out.append(_BLANKS.get(text if kind == "quantifier" else "", r"\s*"))
            blank = False
            if kind == "quantifier":
                continue
        if kind == "char" and text == " ":
            blank = True
        else:
            out.append(text)
    return "".join(out) + (r"\s+" if blank else "")


def usable(pattern: str) -> "regex.Pattern[str]":
    """
    Return the compiled *pattern*.

    :raises PatternError: If it does not compile, or could take exponential time.
    """
    if len(pattern) > MAX_EXPANDED:
        raise PatternError(f"longer than {MAX_EXPANDED} characters")
    try:
        found: regex.Pattern[str] = regex.compile(pattern)
    except (regex.error, RecursionError) as error:
        raise PatternError(str(error)) from error
    if bad := nested_quantifier(pattern):
        raise PatternError(f"a repeat inside a repeat may take for ever: {bad}")
    return found


def nested_quantifier(pattern: str) -> str:
    """
    Return the part of *pattern* that can take exponential time, or ``""``.

    That is a repeated group whose body repeats without limit itself, as in ``(a+)+``.
    """
    unlimited: list[bool] = [False]
    starts: list[int] = [0]
    closed, closed_start, position = False, 0, 0
    for kind, text in tokens(pattern):
        if kind == "open":
            unlimited.append(False)
            starts.append(position)
        elif kind == "close" and len(unlimited) > 1:
            closed, closed_start = unlimited.pop(), starts.pop()
            unlimited[-1] |= closed
        elif kind == "quantifier" and _is_unlimited(text):
            if closed:
                return pattern[closed_start : position + len(text)]
            unlimited[-1] = True
        if kind != "close":
            closed = False
        position += len(text)
    return ""


def _is_unlimited(quantifier: str) -> bool:
    """Tell whether a quantifier repeats many times: no upper limit, or one above 100."""
    if quantifier[0] in "*+":
        return True
    upper = quantifier.strip("{}?+").rpartition(",")[2]
    return quantifier[0] == "{" and (not upper or int(upper) > 100)


def fixed_runs(pattern: str) -> list[str]:
    """
    Return the strings that every text matched by *pattern* holds, single blanks for its blanks.

    What stands in alternatives, in look-arounds, or in groups that may be absent does not count.
    """
    pieces = list(tokens(pattern))
    if any(kind == "alternative" for kind, _ in pieces) and _alternatives_at_top(pieces):
        return []
    runs, run, position = [], "", 0
    while position < len(pieces):
        kind, text = pieces[position]
        if kind == "open" and not _always_there(pieces, position):
            position = _closing(pieces, position)
        if char := _literal_char(kind, text):
            run += char
        elif run:
            runs.append(run[:-1] if kind == "quantifier" and text[0] in "?*{" else run)
            run = ""
        position += 1
    return [r for r in (x.strip() for x in [*runs, run]) if r]


def _alternatives_at_top(pieces: list[Token]) -> bool:
    depth = 0
    for kind, _ in pieces:
        depth += {"open": 1, "close": -1}.get(kind, 0)
        if kind == "alternative" and depth == 0:
            return True
    return False


def _closing(pieces: list[Token], start: int) -> int:
    """Return the position of the bracket that closes the group opened at *start*."""
    depth = 0
    for position in range(start, len(pieces)):
        depth += {"open": 1, "close": -1}.get(pieces[position][0], 0)
        if depth == 0:
            return position
    return len(pieces) - 1


def _always_there(pieces: list[Token], start: int) -> bool:
    """Tell whether the group opened at *start* is a plain one, without alternatives, that cannot be absent."""
    end = _closing(pieces, start)
    follows = pieces[end + 1][0] if end + 1 < len(pieces) else ""
    plain = pieces[start][1] in ("(", "(?:") or pieces[start][1].startswith("(?P<")
    return plain and follows != "quantifier" and not _alternatives_at_top(pieces[start + 1 : end])


def _literal_char(kind: str, text: str) -> str:
    if kind == "char":
        return text
    return text[1] if kind == "escape" and not text[1].isalnum() else ""


def best_literal(runs: list[str]) -> str:
    """Return the most telling of *runs*, cut to a length that survives wrapped lines, or ``""``."""
    best = max((r for r in runs if len(r) >= MIN_LITERAL), key=rarity, default="")
    if len(best) > MAX_LITERAL:
        best = max(_windows(best), key=rarity, default=best[:MAX_LITERAL])
    return best


def _windows(text: str) -> Iterator[str]:
    """Yield the pieces of *text*, in whole words, that are no longer than a literal may be."""
    pieces = text.split(" ")
    for start in range(len(pieces)):
        end = start + 1
        while end < len(pieces) and len(" ".join(pieces[start : end + 1])) <= MAX_LITERAL:
            end += 1
        yield " ".join(pieces[start:end])[:MAX_LITERAL]


def index_word(literal: str, texts: list[str]) -> str:
    """
    Return the rarest word of *literal* that stands as a whole word in all *texts*, or ``""``.

    :param texts: Sample lines; a literal's first or last word may be a part of a longer word in them.
    """
    common = set(words_of(literal))
    for text in texts:
        common &= set(words_of(text))
    return max(sorted(common), key=rarity, default="")
