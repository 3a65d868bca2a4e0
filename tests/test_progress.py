"""Progress bars: on a terminal, after a second, and nowhere else."""

import io
import re
import time

import pytest

from rdmadiag import progress
from rdmadiag.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def run(stream, clock, step, enabled=None):
    with Progress(stream, enabled) as bars, bars.task("messages\x1b[31m", 1000) as task:
        for _ in range(10):
            clock[0] += step
            task.advance(100)
    return stream.getvalue()


def test_nothing_when_piped(clock):
    assert run(io.StringIO(), clock, 1.0) == ""


def test_nothing_within_a_second(clock):
    assert run(Terminal(), clock, 0.05) == ""


def test_bar_with_bytes_rate_and_time_left(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "DELAY", 0.05)
    monkeypatch.setattr(progress, "_EVERY", 0.02)
    stream = Terminal()
    with Progress(stream) as bars, bars.task("messages\x1b[31m", 1 << 20) as task:
        for _ in range(20):
            time.sleep(0.03)
            task.advance(1 << 14)
    shown = stream.getvalue()
    assert "messages\\x1b[31m" in shown
    assert re.search(r"\d+(\.\d+)?/1\.0 MiB", shown)
    assert re.search(r"\d+(\.\d+)? [kM]B/s", shown)
    assert re.search(r"\d\d:\d\d", shown)


def test_unknown_total_and_no_advance_after_the_end(clock):
    stream = Terminal()
    with Progress(stream) as bars:
        with bars.task("stdin") as task:
            clock[0] += 2
            task.advance(5)
        bars.close()
        before = stream.getvalue()
        clock[0] += 2
        task.advance(5)
    assert stream.getvalue() == before
