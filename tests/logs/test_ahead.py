"""Threads that are ahead give what one thread gives."""

import random
import sys
import threading
import time

import pytest

from rdmadiag.logs.ahead import ahead
from rdmadiag.logs.blocks import Blocks, Cuts


class Bytes:
    def __init__(self, data):
        self._data, self._at = data, 0

    def read(self, size, /):
        data = self._data[self._at : self._at + size]
        self._at += len(data)
        return data


def text():
    rng = random.Random(1)
    return b"".join(b"%d %s\n" % (n, b"x" * rng.randrange(300)) for n in range(4000))


def test_order_is_kept():
    assert list(ahead(range(1000), str)) == [(n, str(n)) for n in range(1000)]


@pytest.mark.parametrize("slow", [0, 1, 2])
def test_a_buffer_is_not_used_again_too_early(slow):
    rng = random.Random(2)

    def seen(block, stage=1):
        if stage == slow:
            time.sleep(rng.random() / 2000)
        return bytes(block.view)

    blocks = list(ahead((seen(b, 0) for b in Blocks(Bytes(text()), Cuts(), 4096)), len))
    assert b"".join(b for b, _ in blocks) == text()
    pairs = [(seen(b, 2), then) for b, then in ahead(Blocks(Bytes(text()), Cuts(), 4096), seen)]
    assert all(now == then for now, then in pairs)
    assert b"".join(now for now, _ in pairs) == text()


def test_what_is_raised_reaches_the_one_who_asks():
    def items():
        yield 1
        raise OSError("gone")

    made = ahead(items(), str)
    assert next(made) == (1, "1")
    with pytest.raises(OSError, match="gone"):
        next(made)


def test_nothing_is_left_when_no_more_is_asked_for():
    usual, threads = sys.getswitchinterval(), threading.active_count()
    made = ahead(iter(range(1000)), str)
    assert next(made) == (0, "0")
    made.close()
    assert threading.active_count() == threads
    assert sys.getswitchinterval() == pytest.approx(usual)
