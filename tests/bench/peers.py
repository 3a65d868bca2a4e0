"""Timing whole processes against a peer: both sides in one run, median of five after a warm-up, output thrown away."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

RUNS = 5


class Cost(NamedTuple):
    """Median wall seconds, and peak memory of the largest process in MB."""

    seconds: float
    megabytes: float


def once(command: Sequence[str]) -> Cost:
    """Run *command* and say what it cost."""
    began = time.monotonic()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, _, usage = os.wait4(process.pid, 0)
    return Cost(time.monotonic() - began, usage.ru_maxrss / 1024)


def pair(name: str, ours: Sequence[str], theirs: Sequence[str], goal: float) -> str:
    """Run both in turn and return one line: name, ratio, goal, seconds and peak memory of both."""
    once(ours), once(theirs)
    rows = [(once(ours), once(theirs)) for _ in range(RUNS)]
    mine, peer = (
        Cost(statistics.median(r[i].seconds for r in rows), max(r[i].megabytes for r in rows))
        for i in (0, 1)
    )
    ratio = mine.seconds / peer.seconds
    memory = mine.megabytes / peer.megabytes
    return (
        f"{name}: {ratio:.2f} x the peer's time (goal {goal}), {mine.seconds:.2f} s against {peer.seconds:.2f} s; "
        f"{memory:.2f} x its memory, {mine.megabytes:.0f} MB against {peer.megabytes:.0f} MB"
    )


def rdmadiag(*args: str) -> list[str]:
    """Return the command that runs rdmadiag in this environment."""
    return [sys.executable, "-m", "rdmadiag", *args]
