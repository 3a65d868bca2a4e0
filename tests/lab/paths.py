"""Where the lab keeps what, and how it runs programs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
GUEST = HERE / "guest"
SCENARIOS = HERE / "scenarios"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rdmadiag-lab"


class LabError(Exception):
    """The lab could not do what it was told; the message says what and where to look."""


def as_root() -> list[str]:
    """What a command begins with that only root may run."""
    return [] if os.geteuid() == 0 else ["sudo"]


def say(*words: object) -> None:
    """One line of progress on stderr."""
    print(time.strftime("%H:%M:%S"), *words, file=sys.stderr, flush=True)


def run(*command: str | Path, timeout: float = 900, **options: object) -> str:
    """Run a program at low priority; its output.

    :raises LabError: it failed or took too long
    """
    words = ["nice", "-n", "15", *map(str, command)]
    try:
        done = subprocess.run(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, **options
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(str(error)) from None
    text = done.stdout.decode(errors="replace")
    if done.returncode:
        raise LabError(f"{' '.join(words[3:])}: exit status {done.returncode}\n{text[-3000:]}")
    return text
