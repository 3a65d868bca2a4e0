"""Reports and stacks as facts: put together from records, with other CPUs' and drivers' lines between."""

from typing import TYPE_CHECKING

from rdmadiag.facts.model import Fact
from rdmadiag.logs.report import FIELDS
from rdmadiag.logs.starters import may_open
from rdmadiag.logs.stream import Stream
from rdmadiag.logs.words import word_set

if TYPE_CHECKING:
    from rdmadiag.logs.records import Record

MAX_REPORTS = 4000
MAX_ALIKE = 200
MAX_STREAMS = 64

Key = tuple[str, int, str]

TRACE_KINDS = word_set("""
    kernel.hung_task kernel.soft_lockup kernel.hard_lockup kernel.rcu_stall kernel.workqueue_lockup kernel.oops
    kernel.use_after_free kernel.warning kernel.lockdep kernel.memory_leak kernel.page_allocation_failure kernel.panic
    kernel.trace task
    """)
"""The kinds of facts that traces give."""

TRACE_FIELDS = FIELDS
"""The fields that such facts may have."""


class Traces:
    """
    Reads the traces of one input.

    A host's boots, and the CPUs or tasks that a kernel with caller ids tells apart, are read each on its own.

    :ivar dropped: Reports that were left out because there were too many (or too many of the same).
    """

    def __init__(self, source: str) -> None:
        """:param source: Name of the input, for the facts' places."""
        self.dropped = 0
        self._source = source
        self._streams: dict[Key, Stream] = {}
        self._facts: list[Fact] = []
        self._alike: dict[tuple[str, str], int] = {}
        self._count = 0

    def feed(self, record: "Record") -> None:
        """Read the next record; it need not belong to a trace. What a program says of tasks and bugs is its own."""
        self._count += 1
        if record.ident.endswith("]"):
            return
        key = (record.host, record.time.boot, record.caller)
        stream = self._streams.get(key)
        if stream is None:
            if not may_open(record.message):
                self._expire()
                return
            stream = self._streams[key] = Stream()
        stream.feed(record, self._count)
        self._take(stream)
        self._expire()

    def wants(self) -> bool:
        """Tell whether the following records may belong to an open trace."""
        return bool(self._streams)

    def finish(self) -> list[Fact]:
        """Close what is open and return the facts, in the order of the input."""
        for stream in self._streams.values():
            stream.close()
            self._take(stream)
        self._streams.clear()
        self._facts.sort(key=lambda f: (f.where.line or 0, f.where.offset or 0))
        return self._facts

    def _expire(self) -> None:
        """Close the streams that got nothing for long, and the oldest when there are too many."""
        for key, stream in list(self._streams.items()):
            if stream.expired(self._count) or len(self._streams) > MAX_STREAMS:
                stream.close()
                self._take(stream)
                del self._streams[key]

    def _take(self, stream: Stream) -> None:
        for report in stream.done:
            fact = report.fact(self._source)
            alike = (fact.kind, str(fact.fields["signature"]))
            seen = self._alike[alike] = self._alike.get(alike, 0) + 1
            if len(self._facts) < MAX_REPORTS and seen <= MAX_ALIKE:
                self._facts.append(fact)
            else:
                self.dropped += 1
        stream.done.clear()
