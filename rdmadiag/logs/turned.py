"""Logs that have their newest record first."""

from collections.abc import Iterable, Iterator
from itertools import chain

from rdmadiag.inputs.source import Source
from rdmadiag.inputs.streams import FileStream
from rdmadiag.logs.assemble import Assembler, Tally, Unit
from rdmadiag.logs.blocks import Block, Blocks, Cuts
from rdmadiag.logs.borders import line_start, record_start
from rdmadiag.logs.census import Census
from rdmadiag.logs.finder import NO_FINDER
from rdmadiag.logs.layout import Layout
from rdmadiag.logs.lines import Line
from rdmadiag.logs.options import LogOptions
from rdmadiag.logs.scan import Scanner

PIECE = 4 << 20
MAX_UNITS = 60_000


class Turned:
    """
    Reads a log from its end: records keep their lines in order, but come oldest first.

    :ivar tally: What was counted.
    :ivar size: Bytes that were read.
    """

    def __init__(self, source: Source, layout: Layout, cuts: Cuts, options: LogOptions) -> None:
        """:param cuts: Takes the lines that were too long."""
        self.tally = Tally()
        self.size = 0
        self._source = source
        self._layout = layout
        self._census = Census(layout)
        self._cuts = cuts
        self._options = options

    def units(self, first: Block, blocks: Iterable[Block]) -> Iterator[Unit]:
        """
        Yield the records.

        :param blocks: The log's blocks after *first*.
        """
        file = self._source.seekable
        if file is None or first.last:
            yield from self._stream(first, blocks)
            return
        for start, end, line in reversed(self._pieces(file)):
            piece = FileStream(file.fd, self._source.report)
            piece.position, piece.size = start, end
            read = Blocks(piece, self._cuts, self._options.block, self._options.limits)
            yield from self._backward(read, line)
        self.size = file.size

    def _backward(self, blocks: Iterable[Block], line: int = 1) -> Iterator[Unit]:
        """
        Yield the records of some blocks from the last to the first.

        :param line: Number of the first line.
        """
        if not self._layout.lines_reversed:
            yield from _turned(list(self._forward(blocks, line)))
            return
        scanner = Scanner(self._census, NO_FINDER, (), self._cuts, line)
        lines = reversed(list(scanner.all_lines(blocks)))
        yield from chain.from_iterable(self._assembled(lines))

    def _forward(self, blocks: Iterable[Block], line: int = 1) -> Iterator[list[Unit]]:
        scanner = Scanner(self._census, NO_FINDER, (), self._cuts, line)
        for units in self._assembled(scanner.all_lines(blocks)):
            yield units[::-1] if self._layout.style == "text" else units

    def _assembled(self, lines: Iterable[Line]) -> Iterator[list[Unit]]:
        """Yield the records, those of one entry or row, which has them in their order, together."""
        assembler = Assembler(self._layout)
        for line in lines:
            yield assembler.feed(line)
        yield assembler.flush()
        self.tally.records += assembler.tally.records
        self.tally.unparsed += assembler.tally.unparsed

    def _stream(self, first: Block, blocks: Iterable[Block]) -> Iterator[Unit]:
        """Turn what can be read only once as far as it fits into memory."""
        if first.last:
            yield from self._backward([first])
            return
        held: list[list[Unit]] = []
        count = 0
        for units in self._forward(_chained(first, blocks)):
            held.append(units)
            count += len(units)
            if count >= MAX_UNITS:
                self._source.report(
                    "newest record first, and too long to be turned as a whole: read it from a plain file",
                    units[-1].offset,
                )
                yield from _turned(held)
                held, count = [], 0
        yield from _turned(held)

    def _pieces(self, file: FileStream) -> list[tuple[int, int, int]]:
        """Return start, end and first line number of pieces that begin with a record and end with one."""
        pieces: list[tuple[int, int, int]] = []
        start, line = 0, 1
        while start < file.size:
            end = min(start + PIECE, file.size)
            end = record_start(file, end, self._census)
            if self._layout.lines_reversed:  # there a record ends with its head
                end = line_start(file, end + 1)
            pieces.append((start, end, line))
            line += file.count_lines(start, end)
            start = end
        return pieces


def _turned(entries: list[list[Unit]]) -> Iterator[Unit]:
    return chain.from_iterable(reversed(entries))


def _chained(first: Block, blocks: Iterable[Block]) -> Iterator[Block]:
    yield first
    yield from blocks
