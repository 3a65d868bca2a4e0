"""The kernel's own log buffer inside a dump: its records go through the same event rules as a syslog's."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from rdmadiag.facts.model import Collected, Coverage, Fact, InputInfo, Moment, Where
from rdmadiag.logs.records import Record
from rdmadiag.logs.traces import TRACE_KINDS, Traces
from rdmadiag.logs.vocabulary import Vocabulary


class Printk(Protocol):
    """What is needed of a record of the log buffer; see :class:`rdmadiag.vmcore.printk_record.PrintkRecord`."""

    @property
    def uptime(self) -> float:
        """Seconds since boot."""

    @property
    def level(self) -> int:
        """Log level, 0 to 7."""

    @property
    def caller(self) -> str:
        """Caller id or ``""``."""

    @property
    def text(self) -> str:
        """One or several lines."""


def collect_printk(
    buffer: Iterable[Printk], dump: InputInfo, vocabulary: Vocabulary, lost: str = ""
) -> Collected:
    """
    Return the facts of a dump's log buffer.

    :param dump: The dump's input row; its ``end`` ties the records' uptime to the wall clock.
    :param lost: What is missing of the buffer, in words.
    """
    traces = Traces(dump.path)
    facts: list[Fact] = []
    for record in _records(buffer, dump):
        dump.records += 1
        facts += events(record, dump.path, vocabulary)
        traces.feed(record)
    facts += traces.finish()
    status = "partial" if lost else "complete"
    return Collected(facts=facts, coverage=log_coverage(vocabulary, dump, status, lost))


def log_coverage(
    vocabulary: Vocabulary, info: InputInfo, status: str, reason: str = ""
) -> list[Coverage]:
    """Return a coverage row for every kind of fact that a log can give."""
    kinds = sorted(vocabulary.event_kinds | set(TRACE_KINDS) - {"task"})
    return [Coverage(kind, info.path, status, reason, info.host) for kind in kinds]  # type: ignore[arg-type]


def events(record: Record, source: str, vocabulary: Vocabulary) -> Iterator[Fact]:
    """Return the facts that a record's message says."""
    for match in vocabulary.match(record.message):
        where = Where(source, line=record.line, offset=record.offset)
        yield Fact(match.rule.event, match.fields, where, record.host, record.time, record.text)


def _records(buffer: Iterable[Printk], dump: InputInfo) -> Iterator[Record]:
    boot_time = _boot_time(dump.end)
    number = 0
    for row in buffer:
        for text in row.text.splitlines() or [""]:
            number += 1
            wall = None if boot_time is None else boot_time + row.uptime
            raw = f"[{row.uptime:12.6f}]{f'[{row.caller:>6}]' if row.caller else ''} {text}"
            time = Moment(wall=wall, uptime=row.uptime, order=number)
            yield Record(
                number, number, raw.encode(), dump.host, time, row.level, row.caller, "kernel", text
            )


def _boot_time(end: Moment | None) -> float | None:
    if end is None or end.wall is None or end.uptime is None:
        return None
    return end.wall - end.uptime
