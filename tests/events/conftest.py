"""The shipped vocabulary, and the facts of a text."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rdmadiag.data import data_dir
from rdmadiag.facts.model import Fact
from rdmadiag.logs.traces import Traces
from rdmadiag.logs.vocabulary import Vocabulary

sys.path.insert(0, str(Path(__file__).parent))

from logtext import record


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    return Vocabulary.load([data_dir("rules")])


@pytest.fixture
def traces() -> Callable[..., list[Fact]]:
    """Return a function from the text of a log to the facts of its traces."""

    def read(text: str, host: str = "node9") -> list[Fact]:
        reader = Traces("messages")
        for number, line in enumerate(text.strip("\n").splitlines(), 1):
            reader.feed(record(line, number, host))
        return reader.finish()

    return read


@pytest.fixture
def trace(traces: Callable[..., list[Fact]]) -> Callable[[str], Fact]:
    """Return a function from the text of a log that holds one report to its fact."""

    def read(text: str) -> Fact:
        facts = traces(text)
        assert [f.kind for f in facts] == [facts[0].kind] if facts else facts
        return facts[0]

    return read
