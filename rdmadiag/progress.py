"""
Progress on standard error: what is read, how fast, and how long it will still take.

Nothing is shown for work that ends within a second, nor when standard error is no terminal.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from rdmadiag.report.escape import visible

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

DELAY = 1.0
"""Seconds before a bar appears."""
_EVERY = 0.1


class Progress:
    """
    The bars of one run; a context manager that takes them off the screen at its end.

    :param stream: Where to draw; standard error by default.
    :param enabled: Draw, or not; by default when *stream* is a terminal.
    """

    def __init__(self, stream: TextIO | None = None, enabled: bool | None = None) -> None:
        self._stream = stream or sys.stderr
        self._enabled = self._stream.isatty() if enabled is None else enabled
        self._start = time.monotonic()
        self._bars: Bars | None = None

    def __enter__(self) -> Self:
        """Start the clock."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bars off the screen."""
        self.close()

    def close(self) -> None:
        """Take the bars off the screen, and draw none any more."""
        self._enabled = False
        if self._bars is not None:
            self._bars.stop()
            self._bars = None

    @contextmanager
    def task(self, what: str, total: int | None = None) -> Iterator["Task"]:
        """
        Show a piece of work for as long as the block runs.

        :param what: Such as a file's name; shown escaped.
        :param total: Bytes to do, or ``None`` when nobody knows.
        """
        task = Task(self, visible(what), total)
        try:
            yield task
        finally:
            task.hide()

    def bars(self) -> "Bars | None":
        """Return what draws the bars, or ``None`` while there is nothing to draw."""
        if not self._enabled or time.monotonic() - self._start < DELAY:
            return None
        if self._bars is None:
            self._bars = _bars(self._stream)
            self._bars.start()
        return self._bars


class Task:
    """One bar; :meth:`advance` costs next to nothing while none is drawn."""

    def __init__(self, progress: Progress, what: str, total: int | None) -> None:
        self._progress, self._what, self._total = progress, what, total
        self._done = 0
        self._next = 0.0
        self._id: TaskID | None = None

    def advance(self, size: int) -> None:
        """Say that *size* more bytes are done."""
        self._done += size
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY
        bars = self._progress.bars()
        if bars is None:
            return
        if self._id is None:
            # What was done before the bar appeared is no part of the rate.
            self._id = bars.add_task(self._what, total=self._total, completed=self._done)
        bars.update(self._id, completed=self._done)

    def hide(self) -> None:
        """Take the bar away: the work is done."""
        bars = self._progress.bars()
        if bars is not None and self._id is not None:
            bars.remove_task(self._id)
            self._id = None


def _bars(stream: TextIO) -> "Bars":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import Progress as RichProgress
    from rich.table import Column

    return RichProgress(
        TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
        BarColumn(bar_width=20),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(compact=True),
        console=Console(file=stream, highlight=False, markup=False, emoji=False),
        transient=True,
        expand=True,
    )
