"""Shapes of messages: whatever a message holds, its shape must not deny."""

import random

import pytest

from rdmadiag.logs.alike import Shapes, is_kept, needle, shape
from rdmadiag.logs.starters import STARTERS, may_open
from rdmadiag.logs.words import words_of

PIECES = (
    *(
        "0",
        "12",
        "0x1f",
        "dead",
        "added",
        "bad",
        "ffff88",
        "ffff8801a2b3c4d5",
        "mlx5",
        "qp0",
        "3failed",
        "xffff0000",
    ),
    *(
        " ",
        ":",
        "_",
        "<",
        "+0x",
        "/0x950",
        "conn ",
        "0adde",
        "e12",
        "x",
        "-5",
        ", ",
        "[",
        "a",
        "f",
        "00f00d",
        "٣",
    ),
)


def made(rng):
    return "".join(rng.choice(PIECES) for _ in range(rng.randrange(2, 12)))


@pytest.mark.parametrize("seed", range(20))
def test_a_shape_holds_the_needles_of_all_that_its_message_holds(seed):
    rng = random.Random(seed)
    for _ in range(500):
        message = made(rng)
        start = rng.randrange(len(message))
        literal = message[start : start + rng.randrange(1, 20)]
        assert needle(literal) in shape(message), (message, literal)
        words = set(words_of(message))
        shaped = set(words_of(shape(message)))
        assert {w for w in words if is_kept(w)} == {w for w in shaped if is_kept(w)}, message


def test_messages_that_differ_in_numbers_are_of_one_shape():
    texts = (
        "RDS/IB: conn 00000000a1b2c3d4 <192.168.36.43,192.168.36.2,0> state 12 at ffff8801a2b3c4d5",
        "RDS/IB: conn 0000000000000007 <10.0.0.1,10.0.0.255,4> state 1 at ffff880000000000",
    )
    assert len({shape(t) for t in texts}) == 1
    assert shape("mlx5_core: bad face added") == "mlx5_core: bad face added"


def test_what_is_found_out_for_a_shape_is_found_out_once():
    asked = []
    shapes = Shapes(lambda key: asked.append(key) or len(asked))
    assert [shapes.of(t) for t in ("a 1", "a 22", "b 1", "a 0x3")] == [1, 1, 2, 1]


@pytest.mark.parametrize("text", STARTERS)
def test_every_starter_opens(text):
    assert may_open(text)
    assert may_open(f"x {text} 7")
    assert not may_open("x y 7")
