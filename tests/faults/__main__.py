"""``python -m tests.faults [COUNT]``: run all trials and print the figures."""

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from .damage import KINDS, damages
from .trial import SAMPLES, Verdict, run


def main(count: int = 225) -> int:
    """Return 1 when a trial went wrong."""
    samples = sorted(path.parent.name for path in SAMPLES.glob("*/vmcore"))
    figures: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    bad, slowest = 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for damage in damages(samples, count):
            began = time.monotonic()
            verdict = Verdict(damage, run(damage, Path(folder)))
            slowest = max(slowest, time.monotonic() - began)
            row = figures[damage.kind]
            row.update(
                {
                    "trials": 1,
                    "broke": bool(verdict.seen.broke),
                    "refused": bool(verdict.seen.refused),
                    "told": bool(verdict.seen.unsure),
                    "lost": bool(verdict.lost),
                    "silent": bool(verdict.silent),
                    "weaker": bool(verdict.weaker),
                    "invented": bool(verdict.invented),
                }
            )
            if verdict.seen.broke or verdict.invented or verdict.silent:
                bad += 1
                silent = [f"lost without a word: {one}" for one in sorted(verdict.silent)]
                found = verdict.seen.broke or [*sorted(verdict.invented), *silent]
                sys.stdout.write(f"{damage}: {found}\n")
    names = ("trials", "broke", "refused", "told", "lost", "silent", "weaker", "invented")
    sys.stdout.write(f"{'damage':22}" + "".join(f"{name:>10}" for name in names) + "\n")
    total: Counter[str] = sum(figures.values(), Counter())
    for kind, row in [*figures.items(), ("all", total)]:
        sys.stdout.write(f"{kind:22}" + "".join(f"{row[name]:10}" for name in names) + "\n")
    sys.stdout.write(f"slowest {slowest:.1f} s\n")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
