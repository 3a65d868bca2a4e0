"""
A log in blocks of whole lines.

Each block keeps some of what came before it, so that a record can be followed back to its beginning. A line
that is longer than a line may be is cut, and the rest of it counted but not kept.
"""

from collections import deque
from collections.abc import Iterator

import msgspec

from rdmadiag.inputs.limits import DEFAULT, Limits
from rdmadiag.inputs.streams import FileStream, Stream
from rdmadiag.logs.ahead import DEPTH

CONTEXT = 16 << 10
STRIPE = 16 << 10
NEWLINE = 0x0A
NUL_RUN = b"\0" * 8
KEPT = DEPTH
"""Blocks whose buffers are left alone while the next one is read."""


class Block(msgspec.Struct):
    """
    Some whole lines.

    :ivar data: The buffer; it is used again once so many blocks more as :data:`KEPT` were asked for.
    :ivar context: Where lines of the blocks before begin in it.
    :ivar start: Where the lines of this block begin in it, *end*: where they end.
    :ivar offset: Byte offset of *start* in the log.
    :ivar skipped: Line ends between the block before and this one, in what was cut.
    :ivar line: Number of the first line, once that is known.
    :ivar last: The log ends with this block.
    :ivar lines: How many line ends there are, once they were counted; *counts*: before each stripe.
    """

    data: bytearray
    context: int
    start: int
    end: int
    offset: int
    skipped: int = 0
    line: int = 1
    last: bool = False
    lines: int = -1
    counts: list[int] = []

    @property
    def view(self) -> memoryview:
        """The lines of this block, as the prefilter reads them."""
        return memoryview(self.data)[self.start : self.end]

    @property
    def unterminated(self) -> bool:
        """Whether the last line has no line end."""
        return self.end > self.start and self.data[self.end - 1] != NEWLINE

    def count(self) -> None:
        """Count the line ends."""
        self.counts = [0]
        for position in range(self.start, self.end, STRIPE):
            count = self.data.count(b"\n", position, min(position + STRIPE, self.end))
            self.counts.append(self.counts[-1] + count)
        self.lines = self.counts[-1]

    def count_alike(self, needle: bytes, odd: list[int]) -> None:
        """
        Count the line ends by the beginnings of the lines after them.

        Python counts a string of a few bytes in half the time that it takes for a single byte.

        :param needle: A line end and what most lines begin with.
        :param odd: Where the other line ends are, but for one at the very end.
        """
        self.counts, seen = [0], 0
        for position in range(self.start, self.end, STRIPE):
            stop = min(position + STRIPE, self.end)
            count = self.data.count(needle, position, min(stop + len(needle) - 1, self.end))
            while seen < len(odd) and odd[seen] < stop:
                seen, count = seen + 1, count + 1
            self.counts.append(self.counts[-1] + count)
        if self.end > self.start and not self.unterminated:
            self.counts[-1] += 1
        self.lines = self.counts[-1]

    def line_at(self, position: int) -> int:
        """Return the number of the line that begins at *position*, which may be in the context."""
        if position < self.start:
            return self.line - self.data.count(b"\n", position, self.start)
        stripe = (position - self.start) // STRIPE
        counted = self.data.count(b"\n", self.start + stripe * STRIPE, position)
        return self.line + self.counts[stripe] + counted


class Cuts(msgspec.Struct):
    """
    Lines that were too long.

    :ivar first: Byte offset of the first of them.
    """

    count: int = 0
    first: int = 0

    def add(self, offset: int) -> None:
        """Note one more."""
        self.first = self.first if self.count else offset
        self.count += 1


class Blocks:
    """
    Reads a stream in blocks.

    :ivar size: Bytes that were read.
    """

    def __init__(
        self, stream: Stream, cuts: Cuts, size: int = 1 << 20, limits: Limits = DEFAULT
    ) -> None:
        """
        :param cuts: Takes the lines that were too long.
        :param size: Bytes of a block; the whole of it may take a line and the context more.
        """
        self.size = stream.position if isinstance(stream, FileStream) else 0
        self._stream = stream
        self._cuts = cuts
        self._block = size
        self._limits = limits
        self._filled = 0
        self._cutting = False

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks."""
        block = self._fill(self._buffer(), b"", 0)
        kept = deque([block.data])
        yield block
        while not block.last:
            block = self._after(block, kept.popleft() if len(kept) > KEPT else self._buffer())
            kept.append(block.data)
            yield block

    def _buffer(self) -> bytearray:
        return bytearray(CONTEXT + self._limits.line + self._block)

    def _after(self, block: Block, buffer: bytearray) -> Block:
        """Read the block that follows *block* into *buffer*."""
        rest = bytes(block.data[block.end : self._filled])
        context = b"" if self._cutting else self._context(block)
        return self._fill(buffer, context + rest, len(context))

    @staticmethod
    def _context(block: Block) -> bytes:
        """Return the last whole lines of *block*."""
        begin = max(block.context, block.end - CONTEXT)
        if begin > block.context:
            begin = block.data.find(b"\n", begin, block.end) + 1 or block.end
        return bytes(block.data[begin : block.end])

    def _fill(self, buffer: bytearray, head: bytes, start: int) -> Block:
        buffer[: len(head)] = head
        offset, skipped = self.size - (len(head) - start), 0
        filled, ended = self._read(buffer, len(head))
        if self._cutting:
            filled, dropped, skipped = self._drop(buffer, start, filled)
            offset += dropped
        end = filled if ended else self._last_end(buffer, start, filled)
        if end == start and not ended and filled - start > self._limits.line:
            self._cuts.add(offset)
            filled = end = start + self._limits.line
            self._cutting = True
        self._filled = filled
        return Block(buffer, 0, start, end, offset, skipped, last=ended)

    def _read(self, buffer: bytearray, filled: int) -> tuple[int, bool]:
        """Fill the buffer up from the stream; say whether the stream has ended."""
        view = memoryview(buffer)[: max(filled, min(len(buffer), filled + self._block))]
        while filled < len(view):
            if isinstance(self._stream, FileStream):
                count = self._stream.readinto(view[filled:])
            else:
                data = self._stream.read(len(view) - filled)
                count = len(data)
                view[filled : filled + count] = data
            if not count:
                return filled, True
            filled += count
            self.size += count
        return filled, False

    def _last_end(self, buffer: bytearray, start: int, filled: int) -> int:
        """Return where the last whole line ends; a run of NUL bytes ends one, too."""
        end = max(buffer.rfind(b"\n", start, filled) + 1, start)
        if filled - end > self._limits.line:
            run = buffer.rfind(NUL_RUN, end, filled)
            end = run + len(NUL_RUN) if run >= 0 else end
        return end

    def _drop(self, buffer: bytearray, start: int, filled: int) -> tuple[int, int, int]:
        """Leave out what still belongs to the line that was cut; return the new end, and how many bytes and line ends."""
        found = buffer.find(b"\n", start, filled)
        run = buffer.find(NUL_RUN, start, filled if found < 0 else found)
        if found < 0 and run < 0:
            return start, filled - start, 0
        self._cutting = False
        end = found + 1 if run < 0 else run + len(NUL_RUN)
        buffer[start : start + filled - end] = buffer[end:filled]
        return start + filled - end, end - start, int(run < 0)
