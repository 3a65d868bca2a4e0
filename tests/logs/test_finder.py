"""Counting lines in passing gives what counting them gives, and both searches find the same lines."""

import random
import sys

import pytest

from rdmadiag.logs.blocks import Block
from rdmadiag.logs.finder import Finder, anchor_of, odd_pattern
from rdmadiag.logs.prefilter import HyperscanSearch, PlainSearch, make_search

LITERALS = [b"CQ error", b"CQ", b"QP", b"RDS/IB: connection <", b"connection"]
STARTS = [
    b"Sep 29 22:32:33 a b: ",
    b"Sep  1 22:32:33 a b: ",
    b"Se",
    b"S",
    b"Sep",
    b"\t",
    b"",
    b"Oct  1 00:00:00 a ",
    b"\xff",
    b"Se\0p",
]


def text(seed, share, ending=b"\n"):
    rng = random.Random(seed)
    lines = [
        rng.choice(STARTS if rng.random() < share else STARTS[:2])
        + rng.choice([b"", b"x" * rng.randrange(90), b"a CQ error b", b"connections"])
        for _ in range(rng.randrange(1, 400))
    ]
    return b"\n".join(lines) + ending


def block_of(data, context=b""):
    return Block(bytearray(context + data), 0, len(context), len(context) + len(data), 0, last=True)


def search(anchor):
    return make_search(LITERALS, odd_pattern(anchor))


@pytest.mark.parametrize("ending", [b"\n", b"", b"\nSe", b"\nSep 29"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
def test_counts(monkeypatch, share, ending):
    monkeypatch.setattr("rdmadiag.logs.blocks.STRIPE", 100)
    counted = 0
    for seed in range(60):
        data = text(seed, share, ending)
        block = block_of(data, b"before\n")
        found = Finder(search, len(LITERALS)).find(block)
        found.count(block)
        hits, odd = found.hits, found.odd
        assert block.lines == data.count(b"\n")
        for position in range(len(b"before\n"), block.end, 37):
            assert block.line_at(position) == 1 + block.data.count(b"\n", 7, position)
        starts = [n + 1 for n in range(7, block.end - 1) if block.data[n] == 10]
        if odd is not None:
            counted += 1
            anchor = anchor_of(data.removesuffix(b"\n").rpartition(b"\n")[2])
            assert [p + 1 for p in odd] == [
                x for x in starts if not block.data.startswith(anchor, x)
            ]
        assert {end for end, _ in hits} == {
            n + len(x) for x in LITERALS for n in range(7, block.end) if block.data.startswith(x, n)
        }
    assert counted > 10 or ending.startswith(b"\nSe") or share == 0.5


def test_an_odd_line_end_is_found_once():
    search = HyperscanSearch([], odd_pattern(b"Sep "))
    for tail in (b"Sep 1", b"S\n", b"", b"Sepx", b"Sex", b"\nS", b"\xffSep ", b"\0", b"S\0ep "):
        found = search.find(memoryview(b"a\n" + tail))
        assert len(found) == (0 if tail.startswith(b"Sep ") or not tail else 1)


@pytest.mark.parametrize(
    ("line", "anchor"),
    [
        (b"Sep 29 22:32:33 a", b"Sep "),
        (b"2018-09-29T22:32:33", b"2018"),
        (b"[    1.000000] x", b"["),
        (b"[<0>] x", b""),
        (b'{"MESSAGE":', b'{"'),
        (b'"2018-09', b'"201'),
        (b"<4>[ 1.0", b"<4"),
        (b"mlx4_core: x", b""),
    ],
)
def test_what_lines_begin_with(line, anchor):
    assert anchor_of(line) == anchor


def test_lines_that_are_found_are_the_same_without_hyperscan():
    fast, slow = HyperscanSearch(LITERALS), PlainSearch(LITERALS)
    for seed in range(40):
        data = text(seed, 0.2)
        view = memoryview(data)
        lines = [{data.count(b"\n", 0, end) for end, _ in s.find(view)} for s in (fast, slow)]
        assert lines[0] == lines[1]


def test_hyperscan_that_cannot_be_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "hyperscan", None)
    assert isinstance(make_search(LITERALS), PlainSearch)


def test_nothing_to_look_for():
    assert make_search([]).find(memoryview(b"x\n")) == []
