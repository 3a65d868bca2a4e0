"""Logs to facts."""

from collections.abc import Iterable, Iterator

from rdmadiag.facts.kinds import KINDS
from rdmadiag.facts.model import Collected, Coverage, InputInfo
from rdmadiag.inputs.sniff import ARCHIVES, DUMPS
from rdmadiag.inputs.source import Source
from rdmadiag.logs.events import CONTEXT_LITERALS
from rdmadiag.logs.finder import odd_pattern
from rdmadiag.logs.options import LogOptions
from rdmadiag.logs.prefilter import Search, make_search
from rdmadiag.logs.protocols import TraceReader, Vocabulary
from rdmadiag.logs.series import MakeTraces, Series
from rdmadiag.logs.summary import summarize
from rdmadiag.logs.traces import TRACE_KINDS

MAX_SEARCHES = 16


def traces_of(name: str) -> TraceReader:
    """Return the reader of traces for the input *name*."""
    from rdmadiag.logs.traces import Traces

    return Traces(name)


class LogCollector:
    """Reads logs to facts; one for all logs, as its search takes a while to make."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        options: LogOptions | None = None,
        make_traces: MakeTraces = traces_of,
    ) -> None:
        """:param make_traces: Makes a reader of traces for the name of an input."""
        self.options = options or LogOptions()
        self._vocabulary = vocabulary
        self._make_traces = make_traces
        self._searches: dict[bytes, Search] = {}

    def search(self, anchor: bytes) -> Search:
        """Return the search for the literals, and for the odd line ends of *anchor* if it is not empty."""
        known = self._searches.get(anchor)
        if known is None:
            literals = [*self._vocabulary.literals, *CONTEXT_LITERALS]
            known = make_search(literals, odd_pattern(anchor), hyperscan=self.options.hyperscan)
            if len(self._searches) >= MAX_SEARCHES:
                self._searches.clear()
            self._searches[anchor] = known
        return known

    def prepare(self) -> None:
        """Make the search now, so that processes that are forked have it."""
        self.search(b"")

    def collect(self, sources: Iterable[Source]) -> Iterator[Collected]:
        """
        Yield what *sources* say, each log when it was read; what is no log gives its problems only.

        :param sources: As :func:`rdmadiag.inputs.open_target` gives them.
        """
        series: Series | None = None
        name = ""
        for source in sources:
            if source.kind != "log":
                yield _unread(source, self._vocabulary)
                continue
            if series is None or not source.series or source.series != name:
                if series:
                    yield summarize(series)
                series, name = self._series(source), source.series
            series.read(source)
        if series:
            yield summarize(series)

    def _series(self, source: Source) -> Series:
        return Series(self._vocabulary, self.search, self._make_traces, source.name, self.options)


def collect_log(
    source: Source, vocabulary: Vocabulary, options: LogOptions | None = None
) -> Collected:
    """Return what the log *source* says."""
    collected = Collected()
    for part in LogCollector(vocabulary, options).collect([source]):
        collected.add(part)
    return collected


def _unread(source: Source, vocabulary: Vocabulary) -> Collected:
    """Return the problems of what is no log; what it may have held was not looked for."""
    kind = "archive" if source.format in ARCHIVES else source.kind
    info = InputInfo(source.name, kind, bytes=source.size or 0, problems=source.problems)
    if not source.problems:
        return Collected([info])
    kinds = vocabulary.event_kinds | TRACE_KINDS | (set(KINDS) if source.format in DUMPS else set())
    why = source.problems[0].what
    rows = [Coverage(k, source.name, "failed", why) for k in sorted(kinds)]
    return Collected([info], coverage=rows)
