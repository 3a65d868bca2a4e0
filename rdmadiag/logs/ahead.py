"""Three threads for one log: one reads and one searches blocks while the first works on what was found."""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from rdmadiag.errors import UserError
from rdmadiag.logs.children import NO_MORE

if TYPE_CHECKING:
    from concurrent.futures import Future

DEPTH = 4
"""Blocks that the others are ahead: one takes longer than another."""

SWITCH = 0.0002
"""
Seconds after which a thread that runs Python lets another one go on.

A thread that decompresses or searches needs the interpreter only for moments, and would wait longer for it
than it works.
"""

_Block = TypeVar("_Block")
_Found = TypeVar("_Found")


def ahead(
    blocks: Iterable[_Block], find: Callable[[_Block], _Found]
) -> Iterator[tuple[_Block, _Found]]:
    """Yield each block with what *find* finds in it; decompressors and hyperscan let go of the interpreter."""
    from concurrent.futures import ThreadPoolExecutor

    read = iter(blocks)

    def searched(block: "Future[_Block | None]") -> tuple[_Block, _Found] | None:
        known = block.result()
        return None if known is None else (known, find(known))

    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(1) as searcher:
            try:
                steps = deque(
                    searcher.submit(searched, reader.submit(next, read, None)) for _ in range(DEPTH)
                )
            except RuntimeError as error:  # the threads begin with the first that is submitted
                raise UserError(NO_MORE) from error
            while pair := steps.popleft().result():
                steps.append(searcher.submit(searched, reader.submit(next, read, None)))
                yield pair
    finally:
        sys.setswitchinterval(usual)
