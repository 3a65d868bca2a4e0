"""From blocks to the lines that matter: those with a known literal, with what belongs to them."""

from collections.abc import Iterable, Iterator, Sequence

from rdmadiag.logs import wrapping
from rdmadiag.logs.ahead import ahead
from rdmadiag.logs.blocks import NUL_RUN, Block, Cuts
from rdmadiag.logs.census import Census
from rdmadiag.logs.finder import Finder
from rdmadiag.logs.lines import LINE, Line, squeezed

MAX_REST = 8
MAX_ENTRY = 400
MOST_WHOLE = 1000
_OPEN_ENDS = (b"", b" ", b":")
PREVIOUS = b"last message repeated"


class Scanner:
    """
    Hands on the lines of a log that may say something, in order, each with the record it belongs to.

    ``None`` between lines says that the lines that follow are others': what was read so far is complete.

    :ivar follow: Hand on every line until it is unset again: whoever reads a trace sets it.
    :ivar cuts: The lines that were too long.
    :ivar line: Number of the line after the last block.
    """

    def __init__(
        self,
        census: Census,
        finder: Finder,
        companions: Sequence[tuple[bytes, ...]],
        cuts: Cuts,
        line: int = 1,
    ) -> None:
        """
        :param companions: For each literal those of which its line must hold one; none: no need.
        :param cuts: Takes the lines that were too long.
        :param line: Number of the first line.
        """
        self.follow = False
        self.cuts = cuts
        self.line = line
        self._census = census
        self._finder = finder
        self._companions = companions
        self._by_line = census.layout.style == "text" and not (
            census.layout.quoted_printable or census.layout.escaped or census.layout.cover
        )
        self._most = MAX_REST if census.layout.style == "text" else MAX_ENTRY
        self._ahead = 0
        self._unfinished = False
        self._cursor = 0
        self._handed = 0
        self._number = line

    def all_lines(self, blocks: Iterable[Block]) -> Iterator[Line]:
        """Yield every line."""
        for block in blocks:
            block.count()
            self._enter(block)
            while self._cursor < block.end:
                yield self._take(block)

    def lines(self, blocks: Iterable[Block], *, threads: bool) -> Iterator[Line | None]:
        """
        Yield the first line of each block, the last one of all, and those that hold a literal.

        :param threads: Whether other threads may read and search.
        """
        find = self._finder.find
        for block, found in ahead(blocks, find) if threads else ((b, find(b)) for b in blocks):
            found.count(block)
            self._enter(block)
            hits = found.hits
            wrapped = [(p + 1, -1) for p in self._census.count(block, found.odd)]
            if block.start < block.end:
                hits.insert(0, (block.start + 1, -1))
            if block.last and block.start < block.end:
                hits.append((block.end, -1))
            yield from self._sparse(block, sorted(hits + wrapped) if wrapped else hits)

    def _enter(self, block: Block) -> None:
        """Begin with a block whose line ends were counted."""
        block.line = self.line + block.skipped
        self.line = block.line + block.lines
        self._cursor, self._number = block.start, block.line

    def _sparse(self, block: Block, hits: list[tuple[int, int]]) -> Iterator[Line | None]:
        for end, number in hits:
            if end <= self._cursor:
                continue
            if self._ahead or self.follow:
                yield from self._following(block)
            if end > self._cursor and (start := self._candidate(block, end, number)) is not None:
                self._move(block, self._record_start(block, start))
                while self._cursor < end:
                    yield self._next(block)
        yield from self._following(block)

    def _following(self, block: Block) -> Iterator[Line | None]:
        """Yield what still belongs to the lines before, and all lines while a trace is read."""
        while self._ahead or self.follow:
            while self._cursor < block.end and self._belongs(block):
                yield self._next(block)
            if self._cursor >= block.end and not block.last:
                return
            self._ahead = 0
            yield None
            if self._cursor >= block.end:
                return

    def _belongs(self, block: Block) -> bool:
        if self.follow:
            return True
        if not self._ahead:
            return False
        line = bytes(block.data[self._cursor : self._line_end(block, self._cursor, 400)])
        if not self._census.is_head(line) or line.startswith(b"kernel:"):
            return True
        # the kernel printed the record in two steps, which the log daemon took for two
        return self._unfinished

    def _candidate(self, block: Block, end: int, number: int) -> int | None:
        """Return where the line of a hit starts, if it has the companions that its literal needs."""
        start = self._line_start(block, end - 1)
        if end - start > LINE:
            # What stands so far out in a line is not looked at, and that is said: it might have mattered.
            self.cuts.add(block.offset + start - block.start)
            return None
        needed = self._companions[number] if 0 <= number < len(self._companions) else ()
        if needed:
            stop = min(self._line_end(block, end - 1), start + LINE)
            if all(block.data.find(x, start, stop) < 0 for x in needed):
                return None
        return start

    def _record_start(self, block: Block, start: int) -> int:
        """Return where the record begins that the line at *start* is a part of."""
        floor = max(block.context, block.start + self._handed - block.offset)
        if block.data.find(PREVIOUS, start, self._line_end(block, start)) >= 0:
            return self._same_host(block, start, floor)
        position = start
        for _ in range(self._most):
            line = bytes(block.data[position : self._line_end(block, position, 400)])
            if position <= floor or self._census.is_head(line):
                return max(position, floor)
            position = block.data.rfind(b"\n", floor, position - 1) + 1 or floor
        return start

    def _same_host(self, block: Block, start: int, floor: int) -> int:
        """Return where the record begins that *last message repeated* speaks of: the last one of that host."""
        line = bytes(block.data[start : self._line_end(block, start)])
        host = line.partition(PREVIOUS)[0].rstrip(b" -").rpartition(b" ")[2]
        before = block.data.rfind(b" " + host + b" ", floor, start) if host else -1
        if before < 0:
            return start
        return block.data.rfind(b"\n", floor, before) + 1 or floor

    def _move(self, block: Block, position: int) -> None:
        if position != self._cursor:
            self._cursor, self._number = position, block.line_at(position)

    def _next(self, block: Block) -> Line:
        line = self._take(block)
        self._handed = block.offset + self._cursor - block.start
        if self._is_whole(block, line):
            line.whole, self._unfinished, self._ahead = True, False, 0
            return line
        self._unfinished = line.raw.rstrip(b"\r").endswith(b" ") and not self._unfinished
        head = self._ahead == 0 or self._census.is_head(line.raw)
        self._ahead = self._most if head else self._ahead - 1
        return line

    def _is_whole(self, block: Block, line: Line) -> bool:
        """Tell whether nothing belongs to the line but itself: so it is with most, above all in floods."""
        raw, after = line.raw, self._cursor
        if (
            after >= block.end
            or not self._by_line
            or raw[-1:] in _OPEN_ENDS
            or len(raw) > MOST_WHOLE
        ):
            return False
        if b"\0" in raw or b"\r" in raw or b"\x1b" in raw or not self._census.is_head(raw):
            return False
        following = bytes(block.data[after : self._line_end(block, after, 400)])
        if not self._census.is_head(following) or following.startswith(b"kernel:"):
            return False
        return not wrapping.is_dangling(raw[-wrapping.TAIL :].decode("utf-8", "backslashreplace"))

    def _take(self, block: Block) -> Line:
        """Return the line at the cursor, and go on to the next one."""
        start, end = self._cursor, self._line_end(block, self._cursor)
        offset = block.offset + start - block.start
        line = Line(self._number, offset, squeezed(block.data, start, end))
        if end - start > LINE and len(line.raw) == LINE:
            self.cuts.add(offset)
        self._cursor = min(end + 1, block.end)
        self._number += 1
        return line

    @staticmethod
    def _line_end(block: Block, position: int, most: int = 1 << 62) -> int:
        """Return where the line ends that *position* is in, or *most* bytes after it."""
        stop = min(block.end, position + most)
        end = block.data.find(b"\n", position, stop)
        return stop if end < 0 else end

    @staticmethod
    def _line_start(block: Block, position: int) -> int:
        start = block.data.rfind(b"\n", block.start, position) + 1 or block.start
        run = block.data.rfind(NUL_RUN, start, position)
        return start if run < 0 else run + len(NUL_RUN)
