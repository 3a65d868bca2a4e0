"""Where records end: lines that go on in the next one, and records that share a line."""

import re

from rdmadiag.lazy import Lazy
from rdmadiag.logs.grammar import Hints, Parsed, parse, strip_lead
from rdmadiag.logs.stamps import MONTH

WRAPPED = 66
"""A line that the next word would have taken to this width may have been wrapped (mails: 72 to 80)."""

FULL = 76
"""The next word would hardly have fitted, so that it may even begin a sentence."""

SHORTEST = 16
"""A line is hardly broken before this width, however long the next word."""

PROSE = 48
"""The same for lines in running text without stamps, which people break by hand."""

MAX_JOINED = 16 << 10
TAIL = 200
DAY = 86400.0

_FRAME = r"[\w.$]+\+0x[0-9a-f]+/0x[0-9a-f]+"
_PLACE = r"[\w./-]+\.[chS]:\d+"
_DECODED = (
    r"(?:\?\ +)?[\w.$]+(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?"
    rf"\ (?:{_PLACE}(?:\ \[inline\])?|\({_PLACE}[^()]*(?:\([^()]*\)[^()]*)?\)(?:\ \w+)?)"
)
"""A frame as syzbot and decode_stacktrace.sh print it, with the place in the source."""
_MARKS = r"""
    (?:crash|drgn|gdb|lldb)\w*>\s | [$\#]\ | -{2,} | \.{3} | \[\.\.+\] | <snip | \^C
    | \S+\ +\d+\ +\d+\.\d\ +\d+\.\d[ ] | [\[(]?\w+@[\w.-]+ | [\w.\[\]]+\ =\ | [\[{}]?$
"""
"""Prompts, elisions, and what programs print in tables."""

_MARK = Lazy(_MARKS, re.VERBOSE)
_LONE = Lazy(
    rf"""(?:{_MARKS}
        | \[<[0-9a-f]+>\] | \[exception\ RIP | \#\d+\ +\[ | (?:\?\ +)?{_FRAME} | {_DECODED}\s*$ | </?[A-Z_]{{2,}}>
        | (?:Not\ t|T)ainted | "echo\ 0 | Call\ [Tt]race | task:\S
        | [A-Z][\w/-]*(?:\ [\w/-]+){{0,5}}:(?:\ |$) | \S+\ +[A-Z]\ *\d*\ +\d+\ +\d+[ ]
    )""",
    re.VERBOSE,
)
_BEGINS = Lazy(r"[a-zA-Z][\w./-]*(?: [\w:.\[\]#/-]+){0,2}: ")
_COMPLETE = Lazy(rf"(?:{_FRAME}(?: \[[\w ]+\])?|{_DECODED})\s*\Z")
_CRASH_FRAME = Lazy(r"#\d+ \[[0-9a-f]+\] \S+ at [0-9a-f]{8,16}(?: \[\w+\])?\s*\Z")
_MODULE = Lazy(r"\[\w+\]\s*\Z")
_WANTS_FRAME = Lazy(
    r"(?:\[<[0-9a-f]+>\](?: \?)?| at [\w./-]+:\d+| at:|(?:^|\s)\?|RIP:(?: [0-9a-f]{4}:)?)\s*\Z"
)
_DANGLING = Lazy(
    rf"(?:^|\s)(?:{MONTH}) {{1,2}}\d{{1,2}} \d\d:\d\d:\d\d(?: \S+)?\s*\Z|\skernel:\s*\Z"
)
_UNFINISHED = Lazy(r"\(pid(?: \d+\):?)?\s*\Z|\) failed, status\s*\Z")
"""Ends that messages of mlx5 do not have."""
_PROMPT = Lazy(r"(?:crash\w{0,12}>|>>>|\(gdb\)|\[?\w+@[^#$]{1,80}[#$]) ")
"""What was typed does not go on in the answer."""
_EMPTY = Lazy(r"(?:\A|\[ {0,6}\d{1,8}\.\d{6}\](?:\[[ TC\d]{1,10}\])?)\s*\??\s*\Z")
"""A record with nothing after its stamp, or only the mark of a guessed frame."""
_BARE_FRAME = Lazy(_FRAME)
_MAYBE_EMBEDDED = Lazy(r":\d\d |\d\] |kernel: ")
_EMBEDDED = Lazy(
    rf"\s(?=(?:{MONTH}) {{1,2}}\d{{1,2}} \d\d:\d\d:\d\d \S+ [\w./()-]{{1,64}}(?:\[\d+\])?: "
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S{0,16} \S+ kernel: |\[ {0,6}\d{1,8}\.\d{6}\] )"
)
_KERNEL_TEXT = Lazy(
    rf"(?:\?\ )?{_FRAME}|\[<|#\d+ +(?:\[|[A-Za-z_][\w.]*(?:\+0x| \()|0xf)|\[exception RIP|RIP|Call [Tt]race|INFO:|BUG|WARNING|Workqueue|task:\S|</?[A-Z_]{{3,}}>"
    r"|CPU: |PID: |Hardware name|Code: |R[A-D0-9S][\dIPX]\w?: |Modules linked|-+\[|[a-z]\w*(?: [\w:.-]+){0,2}: \S|Oops|PGD |#PF"
)
_LAST_WORD = Lazy(r"(?:\A|[\s(\"'])(?:[A-Za-z]{2,}|\d{2,}|[\w.:-]+[,:;])\Z")
_FIRST_WORD = Lazy(r"[(\"']?[A-Za-z]{2,}[.,:;)]?(?:\s|\Z)")
_ELISION = Lazy(
    r"[\s.>\u2026-]*\Z|\[\.\.+\]|<+(?:snip|\.\.\.)|--\s*\Z|-- (?:Boot|Reboot|Logs begin|Journal begins|No entries)\b"
)
_OPENING = ("_", "=", "/", "(", "<")
_CLOSING = ("=", ")", "]", ",", ".", ";", ">", ":")


def goes_on(before: str, width: int, text: str, *, headed: bool, bare_traces: bool = False) -> bool:
    """
    Tell whether *text*, which has no stamp, is the rest of the record before it.

    :param before: That record's text so far, with or without its head.
    :param width: Width of its last line, quote marks and all.
    :param headed: That record has a stamp.
    :param bare_traces: The log has stacks without stamps, so that a frame may follow any record.
    """
    text = strip_lead(text).strip()
    if not text or len(before) > MAX_JOINED or (not headed and _PROMPT.match(before)):
        return False
    before = before[-TAIL:]
    if _UNFINISHED.search(before) and not _LONE.match(text):
        return True
    if _DANGLING.search(before) or (headed and _EMPTY.search(before) and _BARE_FRAME.match(text)):
        return True
    if "+0x" in before and _COMPLETE.search(before):
        return bool(_MODULE.match(text)) and not before.rstrip().endswith("]") and width >= PROSE
    reach = width + 1 + len(text.split(None, 1)[0])
    broken = headed and width >= SHORTEST and reach >= WRAPPED
    if _LONE.match(text):
        return _wants(before, text) or (broken and not bare_traces and not _MARK.match(text))
    return broken if headed else _prose_goes_on(before.rstrip(), width, reach, text)


def _wants(before: str, text: str) -> bool:
    """Tell whether a record needs what otherwise stands for itself."""
    if "ainted" in text[:12]:
        return "Comm: " in before and "ainted" not in before
    return "+0x" in text and bool(_WANTS_FRAME.search(before))


def is_cut(before: str, text: str) -> bool:
    """Tell whether a line that has the width at which lines are cut goes on in *text*."""
    return bool(text.strip()) and not (_CRASH_FRAME.match(before) and is_lone(text))


def begins(text: str) -> bool:
    """Tell whether a line begins as messages of the kernel do: with a driver and what it speaks of."""
    return bool(_BEGINS.match(text))


def are_words(before: str, text: str) -> bool:
    """Tell whether the end of a line and the beginning of the next one read like two words."""
    return bool(_LAST_WORD.search(before) and _FIRST_WORD.match(text))


def _prose_goes_on(before: str, width: int, reach: int, text: str) -> bool:
    last = before[-1:]
    if _BEGINS.match(text) or width < PROSE:
        return False
    if last in ".!?":
        return width >= WRAPPED and reach >= FULL
    if text[0].isupper():
        return reach >= WRAPPED and (last.islower() or last in ",(")
    return reach >= WRAPPED or (last.islower() and text[0].islower() and "+0x" not in text)


def is_lone(text: str) -> bool:
    """Tell whether a line stands for itself: a frame, a prompt, a mark, a heading."""
    text = strip_lead(text)
    return not text or bool(_LONE.match(text))


def is_frame(text: str) -> bool:
    """Tell whether a line begins with a frame of a stack."""
    return bool(_BARE_FRAME.match(strip_lead(text)))


def is_dangling(before: str) -> bool:
    """Tell whether a record ends in the beginning of the next one's head."""
    tail = before[-TAIL:]
    ends = tail.rsplit(None, 2)[-2:]  # of all records this is asked, and the search is slow
    return any(":" in word for word in ends) and bool(_DANGLING.search(tail))


def lost_host(before: Parsed, parsed: Parsed) -> bool:
    """Tell whether a record is the rest of one that the kernel printed in two steps: it has no host then."""
    return (
        before.message.endswith(" ")
        and bool(before.host)
        and not (parsed.host or parsed.ident)
        and before.stamp == parsed.stamp
        and parsed.stamp.known
    )


def joined(before: str, text: str, *, cut: bool) -> str:
    """
    Return the two parts of a record as one, with a blank between them where there was one.

    :param text: Without quote marks.
    :param cut: The line was cut at some width, be it inside a word.
    """
    if cut:
        return before + text
    text = text.strip()
    if before[-1:].isspace() and before.strip():
        return before.rstrip() + " " + text
    opens = before.endswith(_OPENING) or not before.strip()
    if opens or (text.startswith(_CLOSING) and not text.startswith("> ")):
        return before + text
    return f"{before} {text}"


def parted(parsed: Parsed, hints: Hints) -> list[Parsed]:
    """Return the records that are in one: where lines were re-flowed, a new head may stand anywhere."""
    records = [parsed]
    while match := _next_head(records[-1]):
        last = records[-1]
        following = parse(last.message[match.end() :], hints)
        if following is None:
            break
        last.message = last.message[: match.start()]
        following.host = following.host or last.host
        records.append(following)
    return records


def _next_head(parsed: Parsed) -> "re.Match[str] | None":
    if not _MAYBE_EMBEDDED.search(parsed.message):
        return None
    for match in _EMBEDDED.finditer(parsed.message):
        if parsed.message[match.end()] != "[" or _follows(parsed, match):
            return match
    return None


def _follows(parsed: Parsed, match: "re.Match[str]") -> bool:
    """Tell whether a bracketed number is a later uptime than the record's own."""
    uptime = parsed.stamp.uptime
    if uptime is None:
        return False
    number = parsed.message[match.end() + 1 :].partition("]")[0]
    return uptime - 1 <= float(number) <= uptime + DAY


def looks_like_kernel(text: str) -> bool:
    """Tell whether a line without a stamp reads like one of the kernel's or of crash's."""
    return bool(_KERNEL_TEXT.match(strip_lead(text)))


def is_elision(text: str) -> bool:
    """Tell whether a line only says that lines were left out, or nothing."""
    return bool(_ELISION.match(strip_lead(text)))
