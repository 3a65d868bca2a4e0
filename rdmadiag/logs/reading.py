"""The ways to read a log: line by line, only where it matters, from its end, in parts at the same time."""

from collections.abc import Iterable, Iterator
from itertools import chain

from rdmadiag.inputs.source import Source
from rdmadiag.inputs.streams import FileStream, Stream
from rdmadiag.logs.assemble import Assembler, Tally, Unit
from rdmadiag.logs.blocks import Block, Blocks, Cuts
from rdmadiag.logs.census import Census
from rdmadiag.logs.finder import NO_FINDER
from rdmadiag.logs.layout import Layout, survey
from rdmadiag.logs.options import LogOptions
from rdmadiag.logs.ranges import Ranges, is_flood, processes, worth_it
from rdmadiag.logs.scan import Scanner
from rdmadiag.logs.sparse import Sparse, Tools
from rdmadiag.logs.turned import Turned
from rdmadiag.logs.window import find_window

SAMPLE = 256 << 10
TAIL = 64 << 10


class Reading:
    """
    Reads one log.

    :ivar tally: How many records there were, and lines that are none.
    :ivar cuts: Lines that were too long.
    :ivar size: Bytes that were read.
    :ivar ambiguous: Its dates may be read in two ways.
    :ivar reference: What dates without a year are no later than.
    """

    def __init__(self, source: Source, tools: Tools, reference: float) -> None:
        """:param source: Has a stream."""
        self.tally = Tally()
        self.cuts = Cuts()
        self.size = 0
        self.ambiguous = False
        self.reference = reference
        self._source = source
        self._tools = tools

    def units(self, stream: Stream) -> Iterator[Unit]:
        """Yield the records that may say something, oldest first."""
        options = self._tools.options
        blocks = Blocks(stream, self.cuts, options.block, options.limits)
        following = iter(blocks)
        first = next(following)
        file = self._source.seekable
        tail = file.pread(TAIL, max(0, file.size - TAIL)) if file else bytes(first.view[-TAIL:])
        layout = survey(bytes(first.view[:SAMPLE]), tail)
        self.ambiguous = layout.ambiguous
        if layout.newest_first:
            yield from self._turned(layout, first, following)
        elif _is_whole(layout, first, options):
            yield from self._whole(layout, chain([first], following))
        elif file and (part := self._part(file, layout)):
            yield from part
            return
        else:
            yield from self._sparse(layout, chain([first], following))
        self.size = max(self.size, blocks.size)

    def _turned(self, layout: Layout, first: Block, following: Iterable[Block]) -> Iterator[Unit]:
        turned = Turned(self._source, layout, self.cuts, self._tools.options)
        yield from turned.units(first, following)
        self.tally, self.size = turned.tally, turned.size

    def _whole(self, layout: Layout, blocks: Iterable[Block]) -> Iterator[Unit]:
        assembler = Assembler(layout)
        scanner = Scanner(Census(layout), NO_FINDER, (), self.cuts)
        for line in scanner.all_lines(blocks):
            yield from assembler.feed(line)
        yield from assembler.flush()
        self.tally = assembler.tally

    def _sparse(self, layout: Layout, blocks: Iterable[Block]) -> Iterator[Unit]:
        sparse = Sparse(layout, self._tools, self.cuts)
        yield from sparse.units(blocks, threads=processes(self._tools.options) > 1)
        self.tally = sparse.tally

    def _part(self, file: FileStream, layout: Layout) -> Iterator[Unit] | None:
        """Return how to read a plain file otherwise than from its beginning to its end, if that is better."""
        options = self._tools.options
        window = find_window(file, layout, options, self.reference)
        start, end = (window.start, window.end) if window else (0, file.size)
        if window:
            self.reference = window.reference
        elif not worth_it(end - start, options) or is_flood(file, self._tools):
            return None
        return self._ranges(Ranges(file, layout, self._tools, self.cuts), start, end)

    def _ranges(self, ranges: Ranges, start: int, end: int) -> Iterator[Unit]:
        yield from ranges.units(start, end)
        self.tally, self.size = ranges.tally, end - start


def _is_whole(layout: Layout, first: Block, options: LogOptions) -> bool:
    """Tell whether every line must be read."""
    if layout.running or layout.sequential:
        return True
    return first.last and first.end - first.start <= options.whole
