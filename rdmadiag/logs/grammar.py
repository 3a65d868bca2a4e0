"""
The head of a record: stamp, host, tag, kernel stamp, caller id, level.

A line is read in layers, each by one pattern that its first character selects; what a layer leaves may hold
the next one (a level before a stamp, a kernel stamp after a tag, a whole line in a column of an export).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from rdmadiag.logs import shapes
from rdmadiag.logs.dates import Order, date_of
from rdmadiag.logs.stamps import Stamp, date_stamp, epoch

if TYPE_CHECKING:
    import re

MAX_LAYERS = 4
MAX_HEADS = 4096
MAX_HEAD = 100
KERNEL_TAG = " kernel: ["
_KERNEL = frozenset(("kernel", "vmunix"))


class Parsed(msgspec.Struct):
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


class Hints(msgspec.Struct):
    """
    What a look at the whole log says about its lines.

    :ivar hosts: Words that are hosts where one can stand, short and in lower case.
    :ivar tagless: No tag follows the host: a word with a colon belongs to the message.
    :ivar order: What comes first in dates of which it is not clear.
    :ivar heads: What the heads of kernel records say that were read last, up to the kernel's own stamp.
    """

    hosts: set[str] = msgspec.field(default_factory=set)
    tagless: bool = False
    order: Order = ""
    heads: dict[str, Parsed | None] = {}


def strip_lead(text: str) -> str:
    """Return *text* without quote marks of mails, and without indentation."""
    lead = shapes.LEAD.match(text)
    return text[lead.end() :] if lead else text


def strip_marks(text: str) -> str:
    """Return *text* without quote marks of mails."""
    marks = shapes.MARKS.match(text)
    return text[marks.end() :] if marks else text


def short_host(name: str) -> str:
    """
    Return a host's name without its domain, in lower case; an address stays as it is.

    Of the chain that syslog-ng keeps (``s_sys@db01/relay``) it is the first.
    """
    name = name.partition("/")[0].rpartition("@")[2].lower()
    return name if shapes.ADDRESS.fullmatch(name) else name.partition(".")[0]


def parse(text: str, hints: Hints) -> Parsed | None:
    """Return the head of the record that *text* is, or ``None`` when it has none."""
    if text[:1] in " \t>":
        text = strip_lead(text)
    if text.startswith("^C"):
        text = text[2:].lstrip()
    return _of_kernel(text, hints) or _layer(text, hints, MAX_LAYERS) or _dateless(text, hints)


def _of_kernel(text: str, hints: Hints) -> Parsed | None:
    """
    Read a record of the kernel whose head, up to the kernel's own stamp, was read before.

    In a flood many records share date, host and tag.
    """
    end = text.find(KERNEL_TAG, 0, MAX_HEAD) + len(KERNEL_TAG) - 1
    if end < len(KERNEL_TAG) or text.startswith("[ID", end):
        return None
    head = text[:end]
    if head in hints.heads:
        outer = hints.heads[head]
    else:
        outer = _layer(head, hints, MAX_LAYERS)
        if outer is not None and (outer.ident != "kernel" or outer.message or outer.announces):
            outer = None
        if len(hints.heads) >= MAX_HEADS:
            hints.heads.clear()
        hints.heads[head] = outer
    inner = _uptime(text[end:], hints, MAX_LAYERS - 2) if outer else None
    if outer is None or inner is None:
        return None
    return filled(inner, outer)


def _dateless(text: str, hints: Hints) -> Parsed | None:
    """Read a line that has lost its date, but not its host and kernel stamp, or one with something put before it."""
    match = shapes.DATELESS.match(text) if ": [" in text else None
    if match:
        return _finish(Stamp(), match["host"], "kernel", match["rest"], hints, 1)
    match = shapes.FOUND_BY_GREP.match(text)
    return _layer(text[match.end() :], hints, MAX_LAYERS - 1) if match else None


def _layer(text: str, hints: Hints, left: int) -> Parsed | None:
    if not text or not left:
        return None
    for reader in _readers(text[0]):
        parsed = reader(text, hints, left - 1)
        if parsed is not None:
            return parsed
    return None


def _date(text: str, hints: Hints, left: int) -> Parsed | None:
    match = shapes.DATE.match(text)
    if match is None:
        return None
    stamp = date_stamp(
        match["month"], match["day"], match["clock"], match["year"] or match["later"]
    )
    if stamp is None:
        return None
    stamp.zoneless = not match["zone"]
    return _body(stamp, match["rest"], hints, left, lenient=True)


def _iso(text: str, hints: Hints, left: int) -> Parsed | None:
    match = shapes.ISO.match(text)
    if match is None:
        return None
    wall = epoch(match["date"], match["time"], match["fraction"], match["zone"])
    if wall is None:
        return None
    rest, stamp = match["rest"], Stamp(wall, zoneless=not match["zone"])
    if (match["fraction"] or "").startswith(",") and not _names_host(rest, hints):
        # dmesg --time-format iso
        return _inside(Parsed(stamp, rest), hints, left)
    structured = shapes.RFC5424.match(rest)
    if structured:
        pid = structured["pid"].strip("-")
        ident = f"{structured['tag']}[{pid}]" if pid else structured["tag"]
        message = structured["rest"] or ""
        return _finish(stamp, structured["host"], ident, message, hints, left)
    return _body(stamp, rest, hints, left, lenient=False)


def _numeric(text: str, hints: Hints, left: int) -> Parsed | None:
    match = shapes.NUMERIC.match(text)
    stamp = date_of(match, hints.order) if match else None
    if match is None or stamp is None:
        return None
    return _body(stamp, match["rest"], hints, left, lenient=False)


def _epoch(text: str, hints: Hints, left: int) -> Parsed | None:
    match = shapes.EPOCH.match(text)
    return (
        _body(Stamp(float(match["epoch"])), match["rest"], hints, left, lenient=False)
        if match
        else None
    )


def _uptime(text: str, hints: Hints, left: int) -> Parsed | None:
    match = shapes.UPTIME.match(text)
    if match is None:
        return None
    return _stamped(Stamp(uptime=float(match["uptime"])), match, hints, left)


def _stamped(stamp: Stamp, match: "re.Match[str]", hints: Hints, left: int) -> Parsed | None:
    """Read what follows a stamp in brackets: the message, or a host first (``journalctl -o short-monotonic``)."""
    if _names_host(match["rest"], hints):
        return _body(stamp, match["rest"], hints, left, lenient=False)
    return _levelled(Parsed(stamp, match["rest"], caller=match["caller"] or ""))


def _names_host(rest: str, hints: Hints) -> bool:
    """Tell whether a host and a tag follow a stamp that mostly stands before the message itself."""
    tagged = shapes.TAGGED.match(rest)
    return tagged is not None and (
        tagged["tag"] == "kernel" or short_host(tagged["host"]) in hints.hosts
    )


def _bracketed(text: str, hints: Hints, left: int) -> Parsed | None:
    if match := shapes.CTIME.match(text):
        stamp = date_stamp(match["month"], match["day"], match["clock"], match["year"])
    elif match := shapes.MINUTE.match(text):
        stamp = date_stamp(match["month"], match["day"], match["clock"])
    elif match := shapes.DELTA.match(text):
        stamp = Stamp(delta=float(match["delta"]))
    else:
        return None
    return _stamped(stamp, match, hints, left) if stamp else None


def _kmsg(text: str, _hints: Hints, _left: int) -> Parsed | None:
    match = shapes.KMSG.match(text)
    if match is None:
        return None
    message = shapes.ESCAPE.sub(lambda m: chr(int(m[1], 16)), match["rest"])
    stamp = Stamp(uptime=int(match["uptime"]) / 1e6)
    return Parsed(stamp, message, caller=match["caller"] or "", level=int(match["level"]) & 7)


def _level(text: str, hints: Hints, left: int) -> Parsed | None:
    match = shapes.LEVEL.match(text)
    if match is None:
        return None
    parsed = _layer(match["rest"], hints, left)
    parsed = parsed or Parsed(Stamp(), match["rest"])
    if parsed.level is None:
        parsed.level = int(match["level"]) & 7
    return parsed


def _words(text: str, hints: Hints, left: int) -> Parsed | None:
    match = shapes.WORDS.match(text)
    parsed = _layer(match["rest"], hints, left) if match else None
    if match and parsed:
        parsed.level = shapes.LEVELS.index(match["level"])
    return parsed


def _tag_only(text: str, hints: Hints, left: int) -> Parsed | None:
    match = shapes.TAG_ONLY.match(text)
    if match is None or match["tag"] != "kernel":
        return None
    return _finish(Stamp(), "", "kernel", match["rest"], hints, left)


def _broadcast(text: str, _hints: Hints, _left: int) -> Parsed | None:
    match = shapes.WALL.match(text)
    if match is None:
        return None
    stamp = date_stamp(match["month"], match["day"], match["clock"], match["year"])
    return Parsed(stamp or Stamp(), "", short_host(match["host"]), announces=True)


def _body(stamp: Stamp, rest: str, hints: Hints, left: int, *, lenient: bool) -> Parsed:
    """
    Read host and tag.

    :param lenient: A host stands there even when no tag follows it, unless it is known to be none.
    """
    match = shapes.TAG_ONLY.match(rest)
    if match:
        return _finish(stamp, "", match["tag"], match["rest"], hints, left)
    match = shapes.TAGGED.match(rest)
    if match and (not hints.tagless or _is_tag(match)):
        pid = match["pid"]
        ident = match["tag"] if pid is None else f"{match['tag']}[{pid}]"
        return _finish(stamp, match["host"], ident, match["rest"], hints, left)
    word, _, message = rest.partition(" ")
    if (
        short_host(word) in hints.hosts
        or shapes.REPEATED.match(message)
        or (lenient and not hints.hosts and message)
    ):
        return _finish(stamp, word, "", message, hints, left)
    return _inside(Parsed(stamp, rest), hints, left)


def _is_tag(match: "re.Match[str]") -> bool:
    """Tell whether what stands before a colon is a tag, in a log where it mostly is not."""
    return match["pid"] is not None or match["tag"] in _KERNEL or match["rest"].startswith("[ID ")


def _finish(stamp: Stamp, host: str, ident: str, message: str, hints: Hints, left: int) -> Parsed:
    parsed = Parsed(stamp, message, short_host(host), ident)
    solaris = shapes.SOLARIS.match(message)
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
    return filled(inner, outer)


def filled(inner: Parsed, outer: Parsed) -> Parsed:
    """Return the record *inner* with what only the record around it says."""
    inner.stamp = inner.stamp.filled(outer.stamp)
    inner.host = inner.host or outer.host
    inner.ident = inner.ident or outer.ident
    inner.level = outer.level if inner.level is None else inner.level
    return inner


def _levelled(parsed: Parsed) -> Parsed:
    """Take a level off the beginning of a kernel message."""
    if parsed.message.startswith("<") and (match := shapes.LEVEL.match(parsed.message)):
        parsed.level, parsed.message = int(match["level"]) & 7, match["rest"]
    return parsed


Reader = Callable[[str, Hints, int], Parsed | None]

_HEADED = frozenset("[<0123456789JFMASONDTW")
_DIGIT: tuple[Reader, ...] = (_iso, _kmsg, _epoch, _numeric)
_UPPER: tuple[Reader, ...] = (_date, _iso, _broadcast)
_BY_FIRST: dict[str, tuple[Reader, ...]] = {
    "[": (_uptime, _bracketed, _iso, _numeric),
    "<": (_level,),
    **dict.fromkeys("0123456789", _DIGIT),
    **dict.fromkeys("JFMASONDTW", _UPPER),
    **dict.fromkeys("kumdaslncf", (_words, _tag_only)),
}


def _readers(first: str) -> tuple[Reader, ...]:
    return _BY_FIRST.get(first, ())
