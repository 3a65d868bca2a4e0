"""
The head of a record: stamp, host, tag, kernel stamp, caller id, level.

A line is read in layers, each by one pattern that its first character selects; what a layer leaves may hold
the next one (a level before a stamp, a kernel stamp after a tag, a whole line in a column of an export).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from rdmadiag.logs.stamps import MONTH, WEEKDAY, Stamp, date_stamp, epoch

MAX_LAYERS = 4
FACILITY = "kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local[0-7]"
LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")

_LEAD = re.compile(r"[ \t]*(?:>[ \t]?)*[ \t]*")
_MARKS = re.compile(r"[ \t]*(?:>[ \t]?)+")
_DATE = re.compile(
    rf"(?:(?:{WEEKDAY}) )?(?P<month>{MONTH}) {{1,2}}(?P<day>\d{{1,2}})(?: (?P<year>\d{{4}}))?"
    r" (?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?: (?P<later>(?:19|20)\d\d)(?=[ :]|$))?"
    r"(?: (?:[A-Z]{1,4}T|UTC)(?= ))?:? *(?P<rest>.*)",
    re.DOTALL,
)
_ISO = re.compile(
    rf"\[?(?:(?:{WEEKDAY}) )?(?P<date>\d{{4}}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d:\d\d)(?P<fraction>[.,]\d{{1,9}})?"
    r"(?P<zone>Z|[ ]?[+-]\d\d:?\d\d|[ ](?:UTC|GMT)(?=[ \]]))?(?:[ ][A-Z]{1,4}T(?=[ ]))?(?=[\s,;:\]]|$)[\s\],;:]*"
    r"(?P<rest>.*)",
    re.DOTALL,
)
_UPTIME = re.compile(
    r"\[ *(?P<uptime>\d{1,10}\.\d{3,9})(?: <[ *\d.]+>)?\](?:\[ *(?P<caller>[TC]\d+)\])? ?(?P<rest>.*)",
    re.DOTALL,
)
_CTIME = re.compile(
    rf"\[(?:{WEEKDAY}) (?P<month>{MONTH}) {{1,2}}(?P<day>\d{{1,2}}) (?P<clock>\d\d:\d\d:\d\d) (?P<year>\d{{4}})\]"
    r"(?:\[ *(?P<caller>[TC]\d+)\])? ?(?P<rest>.*)",
    re.DOTALL,
)
_MINUTE = re.compile(
    rf"\[(?P<month>{MONTH}) {{0,2}}(?P<day>\d{{1,2}}) (?P<clock>\d\d:\d\d)\](?:\[ *(?P<caller>[TC]\d+)\])? ?(?P<rest>.*)",
    re.DOTALL,
)
_DELTA = re.compile(
    r"\[ *\+ *(?P<delta>\d{1,9}\.\d{3,9})\](?:\[ *(?P<caller>[TC]\d+)\])? ?(?P<rest>.*)", re.DOTALL
)
_EPOCH = re.compile(r"(?P<epoch>\d{9,10}\.\d{3,9}) +(?P<rest>.*)", re.DOTALL)
_KMSG = re.compile(
    r"(?P<level>\d{1,5}),\d+,(?P<uptime>\d{1,18}),[^;,]*(?:,caller=(?P<caller>[TC]\d+))?[^;]{0,80};(?P<rest>.*)",
    re.DOTALL,
)
_LEVEL = re.compile(r"<(?P<level>\d{1,3})>(?:1 (?=\d{4}-))?(?P<rest>.*)", re.DOTALL)
_WORDS = re.compile(
    rf"(?:{FACILITY}) *:(?P<level>{'|'.join(LEVELS)})\w* *: ?(?P<rest>.*)", re.DOTALL
)
_WALL = re.compile(
    rf"Message from (?:syslogd|systemd-journald)@(?P<host>\S+) at (?:(?:{WEEKDAY}) )?(?P<month>{MONTH}) +(?P<day>\d{{1,2}})"
    r" (?P<clock>\d\d:\d\d:\d\d)(?: (?P<year>\d{4}))?"
)
_TAGGED = re.compile(
    rf"(?P<host>[^\s\[\]<>\"'=]{{1,255}}) +(?:(?:{FACILITY})\.[a-z]+ +)?"
    r"(?P<tag>[^\s:\[\]]{1,64})(?:\[(?P<pid>[^\]\s]{0,20})\])?:(?: |$|(?<=kernel:))(?P<rest>.*)",
    re.DOTALL,
)
_TAG_ONLY = re.compile(r"(?P<tag>kernel|[\w./@-]{1,64}\[\d{1,10}\]): ?(?P<rest>.*)", re.DOTALL)
_DATELESS = re.compile(r"(?P<host>[\w.-]{1,64}) kernel: (?P<rest>\[ *\d+\.\d{3,9}\].*)", re.DOTALL)
_RFC5424 = re.compile(
    r"(?P<host>\S+) (?P<tag>\S+) (?P<pid>\S+) \S+ (?:-|(?:\[[^\]]*\])+)(?: \ufeff?(?P<rest>.*)|$)",
    re.DOTALL,
)
_SOLARIS = re.compile(r"\[ID \d+ (?:\w+)\.(?P<level>[a-z]+)\] (?P<rest>.*)", re.DOTALL)
_REPEATED = re.compile(r"(?:-+ )?last message repeated \d")
_ADDRESS = re.compile(r"[\d.]+|[0-9a-fA-F:]*:[0-9a-fA-F:.]*")
_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})")
_KERNEL = frozenset(("kernel", "vmunix"))


@dataclass(slots=True)
class Parsed:
    """
    The head of a record, and the message after it.

    :ivar announces: The line only says when and where the following ones were written.
    :ivar foreign: Name of the system, when it is not Linux.
    """

    stamp: Stamp
    message: str
    host: str = ""
    ident: str = ""
    caller: str = ""
    level: int | None = None
    announces: bool = False
    foreign: str = ""


@dataclass(slots=True)
class Hints:
    """
    What a look at the whole log says about its lines.

    :ivar hosts: Words that are hosts where one can stand, short and in lower case.
    :ivar tagless: No tag follows the host: a word with a colon belongs to the message.
    """

    hosts: set[str] = field(default_factory=set)
    tagless: bool = False


def strip_lead(text: str) -> str:
    """Return *text* without quote marks of mails, and without indentation."""
    lead = _LEAD.match(text)
    return text[lead.end() :] if lead else text


def strip_marks(text: str) -> str:
    """Return *text* without quote marks of mails."""
    marks = _MARKS.match(text)
    return text[marks.end() :] if marks else text


def short_host(name: str) -> str:
    """Return a host's name without its domain, in lower case; an address stays as it is."""
    name = name.partition("/")[0].lower()
    return name if _ADDRESS.fullmatch(name) else name.partition(".")[0]


def parse(text: str, hints: Hints) -> Parsed | None:
    """Return the head of the record that *text* is, or ``None`` when it has none."""
    if text[:1] in " \t>":
        text = strip_lead(text)
    if text.startswith("^C"):
        text = text[2:].lstrip()
    return _layer(text, hints, MAX_LAYERS) or _dateless(text, hints)


def _dateless(text: str, hints: Hints) -> Parsed | None:
    """Read a line that has lost its date, but not its host and kernel stamp."""
    match = _DATELESS.match(text) if " kernel: [" in text else None
    return _finish(Stamp(), match["host"], "kernel", match["rest"], hints, 1) if match else None


def _layer(text: str, hints: Hints, left: int) -> Parsed | None:
    if not text or not left:
        return None
    for reader in _readers(text[0]):
        parsed = reader(text, hints, left - 1)
        if parsed is not None:
            return parsed
    return None


def _date(text: str, hints: Hints, left: int) -> Parsed | None:
    match = _DATE.match(text)
    if match is None:
        return None
    stamp = date_stamp(
        match["month"], match["day"], match["clock"], match["year"] or match["later"]
    )
    return _body(stamp, match["rest"], hints, left, lenient=True) if stamp else None


def _iso(text: str, hints: Hints, left: int) -> Parsed | None:
    match = _ISO.match(text)
    if match is None:
        return None
    wall = epoch(match["date"], match["time"], match["fraction"], match["zone"])
    if wall is None:
        return None
    rest = match["rest"]
    if (match["fraction"] or "").startswith(","):  # dmesg --time-format iso: no host
        return _inside(Parsed(Stamp(wall), rest), hints, left)
    structured = _RFC5424.match(rest)
    if structured:
        pid = structured["pid"].strip("-")
        ident = f"{structured['tag']}[{pid}]" if pid else structured["tag"]
        message = structured["rest"] or ""
        return _finish(Stamp(wall), structured["host"], ident, message, hints, left)
    return _body(Stamp(wall), rest, hints, left, lenient=False)


def _epoch(text: str, hints: Hints, left: int) -> Parsed | None:
    match = _EPOCH.match(text)
    return (
        _body(Stamp(float(match["epoch"])), match["rest"], hints, left, lenient=False)
        if match
        else None
    )


def _uptime(text: str, hints: Hints, left: int) -> Parsed | None:
    match = _UPTIME.match(text)
    if match is None:
        return None
    stamp, rest = Stamp(uptime=float(match["uptime"])), match["rest"]
    tagged = _TAGGED.match(rest)  # journalctl -o short-monotonic
    if tagged and (tagged["tag"] == "kernel" or short_host(tagged["host"]) in hints.hosts):
        return _body(stamp, rest, hints, left, lenient=False)
    return _levelled(Parsed(stamp, rest, caller=match["caller"] or ""))


def _bracketed(text: str, _hints: Hints, _left: int) -> Parsed | None:
    if match := _CTIME.match(text):
        stamp = date_stamp(match["month"], match["day"], match["clock"], match["year"])
    elif match := _MINUTE.match(text):
        stamp = date_stamp(match["month"], match["day"], match["clock"])
    elif match := _DELTA.match(text):
        stamp = Stamp(delta=float(match["delta"]))
    else:
        return None
    if stamp is None:
        return None
    return _levelled(Parsed(stamp, match["rest"], caller=match["caller"] or ""))


def _kmsg(text: str, _hints: Hints, _left: int) -> Parsed | None:
    match = _KMSG.match(text)
    if match is None:
        return None
    message = _ESCAPE.sub(lambda m: chr(int(m[1], 16)), match["rest"])
    stamp = Stamp(uptime=int(match["uptime"]) / 1e6)
    return Parsed(stamp, message, caller=match["caller"] or "", level=int(match["level"]) & 7)


def _level(text: str, hints: Hints, left: int) -> Parsed | None:
    match = _LEVEL.match(text)
    if match is None:
        return None
    parsed = _layer(match["rest"], hints, left)
    parsed = parsed or Parsed(Stamp(), match["rest"])
    if parsed.level is None:
        parsed.level = int(match["level"]) & 7
    return parsed


def _words(text: str, hints: Hints, left: int) -> Parsed | None:
    match = _WORDS.match(text)
    parsed = _layer(match["rest"], hints, left) if match else None
    if match and parsed:
        parsed.level = LEVELS.index(match["level"])
    return parsed


def _tag_only(text: str, hints: Hints, left: int) -> Parsed | None:
    match = _TAG_ONLY.match(text)
    if match is None or match["tag"] != "kernel":
        return None
    return _finish(Stamp(), "", "kernel", match["rest"], hints, left)


def _broadcast(text: str, _hints: Hints, _left: int) -> Parsed | None:
    match = _WALL.match(text)
    if match is None:
        return None
    stamp = date_stamp(match["month"], match["day"], match["clock"], match["year"])
    return Parsed(stamp or Stamp(), "", short_host(match["host"]), announces=True)


def _body(stamp: Stamp, rest: str, hints: Hints, left: int, *, lenient: bool) -> Parsed:
    """
    Read host and tag.

    :param lenient: A host stands there even when no tag follows it, unless it is known to be none.
    """
    match = _TAG_ONLY.match(rest)
    if match:
        return _finish(stamp, "", match["tag"], match["rest"], hints, left)
    match = _TAGGED.match(rest)
    if match and (not hints.tagless or _is_tag(match)):
        pid = match["pid"]
        ident = match["tag"] if pid is None else f"{match['tag']}[{pid}]"
        return _finish(stamp, match["host"], ident, match["rest"], hints, left)
    word, _, message = rest.partition(" ")
    if (
        short_host(word) in hints.hosts
        or _REPEATED.match(message)
        or (lenient and not hints.hosts and message)
    ):
        return _finish(stamp, word, "", message, hints, left)
    return _inside(Parsed(stamp, rest), hints, left)


def _is_tag(match: "re.Match[str]") -> bool:
    """Tell whether what stands before a colon is a tag, in a log where it mostly is not."""
    return match["pid"] is not None or match["tag"] in _KERNEL or match["rest"].startswith("[ID ")


def _finish(stamp: Stamp, host: str, ident: str, message: str, hints: Hints, left: int) -> Parsed:
    parsed = Parsed(stamp, message, short_host(host), ident)
    solaris = _SOLARIS.match(message)
    if solaris:
        parsed.message, parsed.foreign = solaris["rest"], "Solaris"
        return parsed
    return _inside(parsed, hints, left)


def _inside(outer: Parsed, hints: Hints, left: int) -> Parsed:
    """Read what heads the message itself: the kernel's stamp, or a kernel record that was passed on."""
    if outer.message[:1] not in _HEADED or (inner := _layer(outer.message, hints, left)) is None:
        return outer
    if outer.ident not in _KERNEL and outer.ident and inner.ident != "kernel":
        return outer
    inner.stamp = inner.stamp.filled(outer.stamp)
    inner.host = inner.host or outer.host
    inner.ident = inner.ident or outer.ident
    inner.level = outer.level if inner.level is None else inner.level
    return inner


def _levelled(parsed: Parsed) -> Parsed:
    """Take a level off the beginning of a kernel message."""
    if parsed.message.startswith("<") and (match := _LEVEL.match(parsed.message)):
        parsed.level, parsed.message = int(match["level"]) & 7, match["rest"]
    return parsed


Reader = Callable[[str, Hints, int], Parsed | None]

_HEADED = frozenset("[<0123456789JFMASONDTW")
_DIGIT: tuple[Reader, ...] = (_iso, _kmsg, _epoch)
_UPPER: tuple[Reader, ...] = (_date, _iso, _broadcast)
_BY_FIRST: dict[str, tuple[Reader, ...]] = {
    "[": (_uptime, _bracketed, _iso),
    "<": (_level,),
    **dict.fromkeys("0123456789", _DIGIT),
    **dict.fromkeys("JFMASONDTW", _UPPER),
    **dict.fromkeys("kumdaslncf", (_words, _tag_only)),
}


def _readers(first: str) -> tuple[Reader, ...]:
    return _BY_FIRST.get(first, ())
