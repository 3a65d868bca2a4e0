"""Logs of the cases, damaged at random: read to their end, and no finding because of lines that say nothing."""

import random
from pathlib import Path

import pytest

from rdmadiag.commands.diagnose import Request, make_report
from rdmadiag.errors import UserError

LOGS = Path(__file__).parents[1] / "cases" / "logs"
FILES = sorted(p for p in LOGS.glob("*/*.log") if p.stat().st_size < 100_000)
RECORDS = ("export", "quoted-printable")
"""Cases whose records take several lines: without some of them others change."""


def _dropped(rng, lines, _):
    return [x for x in lines if rng.random() > 0.2]


def _swapped(rng, lines, _):
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return lines


def _doubled(rng, lines, _):
    i = rng.randrange(len(lines))
    return lines[:i] + lines[i : i + 30] * 2 + lines[i + 30 :]


def _truncated(rng, lines, _):
    return [x[: rng.randrange(len(x) + 1)] if rng.random() < 0.1 else x for x in lines]


def _ended(rng, lines, _):
    return lines[: rng.randrange(1, len(lines) + 1)]


def _with_returns(_rng, lines, _):
    return [x + b"\r" for x in lines]


def _interleaved(_rng, lines, other):
    pieces = [
        x[i : i + 3] for i in range(0, max(len(lines), len(other)), 3) for x in (lines, other)
    ]
    return [line for piece in pieces for line in piece]


def _damaged(rng, lines, _):
    data = bytearray(b"\n".join(lines))
    for _ in range(20):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data).split(b"\n")


DAMAGES = (_dropped, _swapped, _doubled, _truncated, _ended, _with_returns, _interleaved, _damaged)


def _found(path):
    try:
        return {f.id for f in make_report(Request([str(path)], jobs=1)).findings}
    except UserError:
        return set()


@pytest.mark.parametrize("seed", range(40))
def test_damaged_logs_are_read_to_their_end(tmp_path, seed):
    rng = random.Random(seed)
    lines, other = (rng.choice(FILES).read_bytes().split(b"\n") for _ in range(2))
    for _ in range(3):
        lines = rng.choice(DAMAGES)(rng, lines, other) or [b"x"]
    path = tmp_path / "log"
    path.write_bytes(b"\n".join(lines) or b"x")
    _found(path)


@pytest.mark.parametrize("seed", range(20))
def test_lines_that_say_nothing_do_not_keep_a_finding_away(tmp_path, vocabulary, seed):
    rng = random.Random(seed)
    source = rng.choice([f for f in FILES if not f.parent.name.endswith(RECORDS)])
    lines = source.read_bytes().split(b"\n")
    telling = [n for n, x in enumerate(lines) if any(y in x for y in vocabulary.literals)]
    near = {n + d for n in telling for d in range(-2, 3)} | {0, 1}
    path = tmp_path / source.name
    path.write_bytes(b"\n".join(x for n, x in enumerate(lines) if n in near or rng.random() < 0.5))
    assert _found(path) <= _found(source)
