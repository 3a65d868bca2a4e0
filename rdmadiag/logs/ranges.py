"""
A plain file in ranges that are read at the same time, each by a process of its own.

A process finds the records that matter in its range, reads what they say, and hands them on in order. Only
the clock and the traces must see the records of all ranges one after another; there are few of them. A trace
that is open at the end of a range is followed into the next one, whose own first records are then left out.
"""

import os
import resource
from collections.abc import Iterator
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from rdmadiag.inputs.streams import FileStream
from rdmadiag.logs.assemble import Tally, Unit
from rdmadiag.logs.blocks import Blocks, Cuts
from rdmadiag.logs.borders import line_start, record_start
from rdmadiag.logs.census import Census
from rdmadiag.logs.children import Child, forked
from rdmadiag.logs.finder import Finder
from rdmadiag.logs.layout import Layout
from rdmadiag.logs.options import LogOptions
from rdmadiag.logs.recorder import Recorder
from rdmadiag.logs.sparse import Sparse, Tools

SMALLEST = 48 << 20
"""Bytes that take about as long to read as it takes to begin and end a process."""

HELD = 20_000
"""Records that a process keeps until it is its range's turn."""

PROBES, PROBE = 8, 64 << 10
DENSE, MIN_LINES = 8, 500
"""A hit in so many lines, when there are enough of them to tell."""

Range = tuple[int, int]


class _Done(msgspec.Struct):
    """The last that a process sends; *problems*: what was wrong with the file, and where."""

    problems: list[tuple[str, int]]
    tally: Tally
    cuts: Cuts
    lines: int
    handed: int


def processes(options: LogOptions) -> int:
    """Return how many processes may be used; where the address space is limited, one: threads and queues need much of it."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return 1
    return options.jobs or len(os.sched_getaffinity(0))


def worth_it(size: int, options: LogOptions) -> bool:
    """Tell whether reading *size* bytes in ranges is faster."""
    return processes(options) > 1 and size >= 2 * SMALLEST


def is_flood(file: FileStream, tools: Tools) -> bool:
    """
    Tell whether much of the file must be read.

    What is found is handed from process to process and read again there: of a flood that takes longer than to
    read it in one.
    """
    finder = Finder(tools.search, tools.literals)
    hits = lines = 0
    for number in range(PROBES):
        start = line_start(file, file.size * number // PROBES)
        blocks = Blocks(file.part(start, start + PROBE), Cuts(), PROBE, tools.options.limits)
        for block in blocks:
            hits += len(finder.find(block).hits)
            block.count()
            lines += block.lines
    return hits * DENSE > lines >= MIN_LINES


class Ranges:
    """
    Reads a plain file, or a part of it, in ranges.

    :ivar tally: How many records there were, and lines that are none.
    """

    def __init__(self, file: FileStream, layout: Layout, tools: Tools, cuts: Cuts) -> None:
        """:param cuts: Takes the lines that were too long."""
        self.tally = Tally()
        self._file = file
        self._layout = layout
        self._tools = tools
        self._cuts = cuts

    def units(self, start: int, end: int) -> Iterator[Unit]:
        """Yield the records between two offsets."""
        line = 1 + self._file.count_lines(0, start)
        ranges = self._ranges(start, end)
        if len(ranges) == 1:
            yield from self._alone(ranges[0], line)
            return
        self._tools.search(b"")  # made before the fork, once for all
        handed = -1
        with forked(self._work, ranges) as workers:
            for worker in workers:
                while not isinstance(batch := worker.receive(), _Done):
                    for unit in batch:
                        if unit.offset > handed:
                            unit.line += line - 1
                            yield unit
                self._count(batch)
                line, handed = line + batch.lines, batch.handed

    def _ranges(self, start: int, end: int) -> list[Range]:
        options = self._tools.options
        count = max(1, min(processes(options), (end - start) // SMALLEST))
        census = Census(self._layout)
        edges = [start]
        for n in range(1, count):
            wanted = max(start + (end - start) * n // count, edges[-1])
            edges.append(min(record_start(self._file, wanted, census), end))
        return [(a, b) for a, b in pairwise([*edges, end]) if a < b] or [(start, end)]

    def _alone(self, extent: Range, line: int) -> Iterator[Unit]:
        sparse = Sparse(self._layout, self._tools, self._cuts, line)
        yield from sparse.units(self._blocks(extent, self._cuts))
        yield from sparse.rest(self._blocks((extent[1], self._file.size), self._cuts))
        self.tally = sparse.tally

    def _blocks(self, extent: Range, cuts: Cuts) -> Blocks:
        options = self._tools.options
        return Blocks(self._file.part(*extent), cuts, options.block, options.limits)

    def _count(self, done: _Done) -> None:
        for problem in done.problems:
            self._file.report(*problem)
        self.tally.records += done.tally.records
        self.tally.unparsed += done.tally.unparsed
        if done.cuts.count:
            self._cuts.first = self._cuts.first if self._cuts.count else done.cuts.first
            self._cuts.count += done.cuts.count

    def _work(self, parent: Child, extent: Range) -> None:
        """Read a range; the process of its own that does it has a clock and a reader of traces of its own."""
        problems: list[tuple[str, int]] = []
        self._file.report = lambda what, offset: problems.append((what, offset))
        worker = _Worker(self._tools)
        cuts = Cuts()
        sparse = Sparse(self._layout, worker.tools, cuts)
        for unit in sparse.units(self._blocks(extent, cuts)):
            worker.take(unit, parent)
        lines, handed = sparse.line - 1, -1
        for unit in sparse.rest(self._blocks((extent[1], self._file.size), cuts)):
            worker.take(unit, parent)
            handed = unit.offset
        parent.send(worker.units)
        parent.send(_Done(problems, sparse.tally, cuts, lines, handed))


class _Worker:
    """Takes in the records of a range, and what they say."""

    def __init__(self, tools: Tools) -> None:
        self.units: list[Unit] = []
        self._recorder = Recorder(0.0, tools.options.zone)
        self._traces = tools.make_traces("")
        self.tools = replace(tools, wants=self._traces.wants)

    def take(self, unit: Unit, parent: Child) -> None:
        record = self._recorder.record(unit)
        if record is not None:
            self._traces.feed(record)
            unit.said = self.tools.say(record.message)
        self.units.append(unit)
        if len(self.units) >= HELD:
            parent.send(self.units)
            self.units = []
