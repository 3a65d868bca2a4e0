"""Reading a log only where it matters."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from rdmadiag.facts.model import Fields
from rdmadiag.logs.assemble import Assembler, Tally, Unit
from rdmadiag.logs.blocks import Block, Cuts
from rdmadiag.logs.census import Census
from rdmadiag.logs.finder import Finder
from rdmadiag.logs.layout import Layout
from rdmadiag.logs.options import LogOptions
from rdmadiag.logs.prefilter import Search
from rdmadiag.logs.protocols import TraceReader
from rdmadiag.logs.scan import Scanner

MAX_AFTER_END = 400


class Tools(msgspec.Struct):
    """
    What reading takes.

    :ivar search: Makes the search for literals, and for the odd line ends of an anchor; that takes longer than
        reading a short log.
    :ivar literals: How many literals there are.
    :ivar companions: For each literal those of which its line must hold one.
    :ivar say: What a message says: kinds and fields of facts.
    :ivar make_traces: Makes a reader of traces.
    :ivar wants: Whether all the following lines are wanted: a trace is open.
    """

    search: Callable[[bytes], Search]
    literals: int
    companions: Sequence[tuple[bytes, ...]]
    options: LogOptions
    say: Callable[[str], list[tuple[str, Fields]]]
    make_traces: Callable[[str], TraceReader]
    wants: Callable[[], bool]


class Sparse:
    """
    Reads only where it matters.

    :ivar tally: How many records there were, and lines that are none.
    """

    def __init__(self, layout: Layout, tools: Tools, cuts: Cuts, line: int = 1) -> None:
        """
        :param cuts: Takes the lines that were too long.
        :param line: Number of the first line.
        """
        self._census = Census(layout)
        self._tools = tools
        finder = Finder(tools.search, tools.literals)
        self._scanner = Scanner(self._census, finder, tools.companions, cuts, line)
        self._assembler = Assembler(layout)

    @property
    def tally(self) -> Tally:
        """What was counted so far."""
        return self._census.tally

    @property
    def line(self) -> int:
        """Number of the line after what was read so far."""
        return self._scanner.line

    def units(self, blocks: Iterable[Block], *, threads: bool = False) -> Iterator[Unit]:
        """
        Yield the records.

        :param threads: Whether other threads may read and search.
        """
        for line in self._scanner.lines(blocks, threads=threads):
            yield from self._assembler.flush() if line is None else self._assembler.feed(line)
            self._scanner.follow = self._tools.wants()
        yield from self._assembler.flush()

    def rest(self, blocks: Iterable[Block]) -> Iterator[Unit]:
        """Yield what follows until no more is wanted."""
        lines = self._scanner.all_lines(blocks)
        for _ in range(MAX_AFTER_END):
            line = next(lines, None) if self._tools.wants() else None
            if line is None:
                break
            yield from self._assembler.feed(line)
        yield from self._assembler.flush()
