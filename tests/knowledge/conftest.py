"""What the tests of the knowledge base share."""

import pytest

from rdmadiag.facts.model import Fact, Where
from rdmadiag.knowledge.base import Knowledge, load


@pytest.fixture(scope="session")
def known() -> Knowledge:
    return load()


@pytest.fixture
def trace():
    """Make a fact of a trace: functions innermost first."""

    def make(kind: str, functions: str, text: str = "", **fields: object) -> Fact:
        return Fact(kind, {"functions": functions.split(), **fields}, Where("log"), text=text)

    return make
