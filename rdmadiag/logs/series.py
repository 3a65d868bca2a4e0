"""One log, in one or several files, from its bytes to its facts."""

import time
from collections.abc import Callable

import msgspec

from rdmadiag.facts.model import InputInfo, Moment
from rdmadiag.inputs.source import Source
from rdmadiag.logs.assemble import Unit
from rdmadiag.logs.blocks import Cuts
from rdmadiag.logs.boots import is_plausible
from rdmadiag.logs.clock import Clock
from rdmadiag.logs.events import CONTEXT_LITERALS, EventReader
from rdmadiag.logs.options import LogOptions
from rdmadiag.logs.prefilter import Search
from rdmadiag.logs.protocols import TraceReader, Vocabulary
from rdmadiag.logs.reading import Reading
from rdmadiag.logs.recorder import Recorder
from rdmadiag.logs.sparse import Tools
from rdmadiag.logs.traces import TRACE_KINDS
from rdmadiag.logs.wrapping import looks_like_kernel

MakeTraces = Callable[[str], TraceReader]


class Part(msgspec.Struct):
    """
    One file of a log.

    :ivar begin: Order of its first record among those of all parts.
    :ivar kernel: It has records of a kernel.
    :ivar hosts: Whose records.
    :ivar release: The last kernel release it names.
    :ivar first: Moment and host of its first record; *last*: of its last one.
    :ivar foreign: The system that it is of, when it is not Linux.
    :ivar ambiguous: Its dates may be read in two ways.
    :ivar read_problems: How many problems there were in reading its bytes.
    :ivar bare: Lines without a head that say something nevertheless: journalctl -o cat, a pasted message.
    """

    source: Source
    info: InputInfo
    begin: int
    cuts: Cuts = msgspec.field(default_factory=Cuts)
    kernel: bool = False
    hosts: set[str] = msgspec.field(default_factory=set)
    release: str = ""
    first: tuple[Moment, str] | None = None
    last: tuple[Moment, str] | None = None
    foreign: str = ""
    ambiguous: bool = False
    read_problems: int = 0
    bare: int = 0


class Series:
    """
    Reads the files of one log, oldest first.

    The clock goes on from file to file, and a trace may begin in one and end in the next.

    :ivar kinds: Kinds of facts that are looked for.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        search: Callable[[bytes], Search],
        make_traces: MakeTraces,
        name: str,
        options: LogOptions,
    ) -> None:
        """
        :param search: For the vocabulary's literals and :data:`rdmadiag.logs.events.CONTEXT_LITERALS`.
        :param make_traces: Makes a reader of traces for the name of an input.
        :param name: Of the first file.
        """
        self.parts: list[Part] = []
        self.events = EventReader(vocabulary)
        self.traces = make_traces(name)
        self.options = options
        self.kinds = set(vocabulary.event_kinds) | TRACE_KINDS
        self._recorder = Recorder(self._now(), options.zone)
        self._tools = Tools(
            search,
            len(vocabulary.literals) + len(CONTEXT_LITERALS),
            vocabulary.companions,
            options,
            self.events.say,
            make_traces,
            self.traces.wants,
        )

    @property
    def clock(self) -> Clock:
        """The clock of all files."""
        return self._recorder.clock

    def _now(self) -> float:
        return time.time() if self.options.now is None else self.options.now

    def read(self, source: Source) -> None:
        """Read the next file."""
        info = InputInfo(source.name, "log", problems=source.problems)
        written = source.mtime if source.mtime and is_plausible(source.mtime) else self._now()
        reference = min(written, max(self._now(), self.clock.reference))
        part = Part(source, info, self.clock.order)
        self.parts.append(part)
        if source.stream is not None:
            reading = Reading(source, self._tools, reference)
            for unit in reading.units(source.stream):
                self.clock.reference = reading.reference
                self._record(part, unit)
            info.bytes, part.cuts, part.ambiguous = reading.size, reading.cuts, reading.ambiguous
            info.records = reading.tally.records + part.bare
            info.unparsed = max(0, reading.tally.unparsed - part.bare)
        part.read_problems = len(source.problems)

    def _record(self, part: Part, unit: Unit) -> None:
        record = self._recorder.record(unit)
        if record is None:
            return
        self._note(part, unit, record.time)
        told = self.events.read(record, part.info.path, unit.said)
        if told and not unit.headed and not looks_like_kernel(unit.parsed.message):
            part.bare += 1
        part.release = self.events.release or part.release
        self.traces.feed(record)

    def _note(self, part: Part, unit: Unit, moment: Moment) -> None:
        """Note what the record says of the log it is in."""
        parsed = unit.parsed
        if parsed.stamp.known:
            part.first = part.first or (moment, parsed.host)
            part.last = (moment, parsed.host)
        if not part.kernel:
            part.kernel = parsed.ident == "kernel" or (
                not parsed.ident and (unit.headed or looks_like_kernel(parsed.message))
            )
        part.foreign = part.foreign or parsed.foreign
        if len(part.hosts) < 100:
            part.hosts.add(parsed.host)
