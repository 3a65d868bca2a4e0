"""What matched messages become: facts, and what the reader of the log notes beside them."""

import re
from collections import deque

from rdmadiag.facts.model import Fact, Fields, Where
from rdmadiag.lazy import Lazy
from rdmadiag.logs.protocols import Vocabulary
from rdmadiag.logs.records import Record
from rdmadiag.logs.stamps import epoch

MAX_FACTS = 40_000
MAX_FIRST = 10_000
MAX_LAST = 2_000
MAX_TEXT = 4096
MAX_BETWEEN = 64
MAX_SUPPRESSED = 1000

_REPEATED = Lazy(
    r"message repeated (?P<count>\d{1,9}) times?: \[ ?(?P<message>.*)\]\s*\Z", re.DOTALL
)
_LAST_REPEATED = Lazy(r"(?:-+ )?last message repeated (?P<count>\d{1,9}) times?")
_SUPPRESSED = Lazy(
    r"(?:(?P<what>[\w.]+): (?P<count>\d{1,9}) callbacks suppressed|(?:printk: |net_ratelimit: )?(?P<messages>\d{1,9}) "
    r"(?:messages|callbacks) suppressed|Suppressed (?P<journal>\d{1,9}) messages from (?P<unit>\S+)"
    r"|(?P<lost>\d{1,9}) messages? (?:lost|dropped)|imjournal: (?P<imjournal>\d{1,9}) messages lost)"
)
_COUNTS = ("count", "messages", "journal", "lost", "imjournal")
_BOOTED = Lazy(r"Linux version (?P<release>\d\S+)")
_CLOCK = Lazy(r"setting system clock to (?P<date>\d{4}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d:\d\d)")
_RELEASE = Lazy(
    r"(?:(?:Not tainted|Tainted: [A-Z ]+?|Tainted: \[[^\]]*\].*?)\s+|\bRELEASE: )(?P<release>\d+\.\d+\.\d+[\w.+~-]*)"
)

CONTEXT_LITERALS = (
    *(b"message repeated ", b" suppressed", b"Suppressed ", b"Linux version ", b"-- Reboot --"),
    *(b"-- Boot ", b"setting system clock to ", b" messages lost", b" messages dropped"),
)
"""What the scan looks for beside the vocabulary."""


OF_PROGRAMS = ("log.", "app.")
"""How the kinds begin that programs know of: the log itself, and what they do with RDMA."""

Said = list[tuple[str, Fields]]
"""Kinds and fields of facts."""


class Kept:
    """Facts of one log; of too many of a kind the first and the last ones are kept, and all are counted."""

    def __init__(self) -> None:
        """Begin with none."""
        self.counts: dict[str, int] = {}
        self._first: list[Fact] = []
        self._last: dict[str, deque[Fact]] = {}

    def add(self, fact: Fact) -> None:
        """Take in a fact."""
        count = self.counts[fact.kind] = self.counts.get(fact.kind, 0) + 1
        if count <= MAX_FIRST and len(self._first) < MAX_FACTS:
            self._first.append(fact)
        else:
            self._last.setdefault(fact.kind, deque(maxlen=MAX_LAST)).append(fact)

    def all(self) -> list[Fact]:
        """Return the facts that were kept, each kind in the order of the log."""
        return self._first + [f for late in self._last.values() for f in late]

    def dropped(self) -> dict[str, int]:
        """Return how many facts of each kind were left out."""
        kept: dict[str, int] = {}
        for fact in self.all():
            kept[fact.kind] = kept.get(fact.kind, 0) + 1
        return {k: n - kept[k] for k, n in self.counts.items() if n > kept[k]}


class EventReader:
    """
    Makes facts of records.

    :ivar release: The kernel that the log speaks of, as last seen.
    :ivar suppressed: How many messages a rate limit kept back, by who kept them.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        """:param vocabulary: The event rules."""
        self.release = ""
        self.suppressed: dict[str, int] = {}
        self.kept = Kept()
        self._match = vocabulary.match
        self._last: dict[str, Record] = {}

    def read(self, record: Record, source: str, said: Said | None = None) -> bool:
        """
        Read a record of the log *source*; tell whether it says anything.

        :param said: What its message says, if that is known.
        """
        repeated = _LAST_REPEATED.match(record.message) if "repeated" in record.message else None
        if repeated:
            before = self._last.get(record.host)
            if before and record.line - before.line <= MAX_BETWEEN:
                self._facts(self.say(before.message), record, source, int(repeated["count"]))
            return False
        self._last.pop(record.host, None)
        self._last[record.host] = record
        if len(self._last) > MAX_BETWEEN:  # the oldest is too far away by now
            del self._last[next(iter(self._last))]
        self._note(record)
        said = self.say(record.message) if said is None else said
        self._facts(said, record, source, record.repeated)
        return bool(said)

    def say(self, message: str) -> Said:
        """Return kinds and fields of the facts that a message gives."""
        return [(m.rule.event, m.fields) for m in self._match(message)]

    def _facts(self, said: Said, record: Record, source: str, repeated: int) -> None:
        """Keep the facts of a record; a program that cites the kernel says nothing new, but knows of itself."""
        cited = record.ident.endswith("]")
        for kind, fields in said:
            if cited and not kind.startswith(OF_PROGRAMS):
                continue
            made = {**fields, "repeated": repeated} if repeated > 1 else dict(fields)
            self.kept.add(make_fact(kind, made, record, source))

    def _note(self, record: Record) -> None:
        message = record.message
        if "uppressed" in message or "messages lost" in message or "messages dropped" in message:
            self._suppressed(record)
        found = _BOOTED.match(message) or (
            _RELEASE.search(message) if "ainted" in message or "RELEASE" in message else None
        )
        if found:
            self.release = found["release"]

    def _suppressed(self, record: Record) -> None:
        match = _SUPPRESSED.search(record.message)
        if match is None:
            return
        count = next(int(match[n]) for n in _COUNTS if match[n])
        what = match["what"] or match["unit"] or record.ident or "kernel"
        if len(self.suppressed) < MAX_SUPPRESSED:
            self.suppressed[what] = self.suppressed.get(what, 0) + count


def make_fact(kind: str, fields: Fields, record: Record, source: str) -> Fact:
    """Return the fact that *record* gives."""
    where = Where(source, record.line, record.offset)
    text = record.raw[:MAX_TEXT].decode("utf-8", "backslashreplace").rstrip("\r\n")
    return Fact(kind, fields, where, record.host, record.time, text)


def unfolded(message: str) -> tuple[str, int]:
    """Return the message inside ``message repeated 5 times: [ ... ]``, and how often it was."""
    match = _REPEATED.match(message) if message.startswith("message repeated") else None
    return (match["message"], int(match["count"])) if match else (message, 1)


def is_boot(message: str) -> bool:
    """Tell whether a message is the first that a kernel prints."""
    return bool(_BOOTED.match(message))


def kernel_clock(message: str) -> float | None:
    """Return the wall clock when a message of the kernel's clock driver tells it."""
    match = _CLOCK.search(message) if "setting system clock" in message else None
    return epoch(match["date"], match["time"], None, None) if match else None
