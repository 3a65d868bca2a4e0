"""Reading logs in tests: a vocabulary that says what each message is, so that records can be looked at."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rdmadiag.data import data_dir
from rdmadiag.facts.model import Collected, Fact
from rdmadiag.inputs import open_input
from rdmadiag.logs.collect import LogCollector
from rdmadiag.logs.options import LogOptions
from rdmadiag.logs.vocabulary import Vocabulary

NOW = 1_770_000_000.0  # 2026-02-02T02:40:00Z


@dataclass
class Rule:
    event: str


@dataclass
class Said:
    rule: Rule
    fields: dict[str, Any]


@dataclass
class Echo:
    """Says of every message what it is; its literals are what the tests' messages hold."""

    literals: list[bytes] = field(default_factory=lambda: [b"CQ error", b"RDS/IB", b"nvme"])
    companions: list[tuple[bytes, ...]] = field(default_factory=lambda: [(), (), ()])
    event_kinds: set[str] = field(default_factory=lambda: {"message"})

    def match(self, message: str) -> list[Said]:
        return [Said(Rule("message"), {"message": message})]


class NoTraces:
    dropped = 0

    def feed(self, record: Any) -> None:
        pass

    def wants(self) -> bool:
        return False

    def finish(self) -> list[Fact]:
        return []


@dataclass
class Log:
    """What was read of one or several logs."""

    collected: Collected

    @property
    def facts(self) -> list[Fact]:
        return [f for f in self.collected.facts if f.kind != "log.span"]

    @property
    def messages(self) -> list[str]:
        return [f.fields["message"] for f in self.facts]

    @property
    def info(self) -> Any:
        return self.collected.inputs[0]

    @property
    def problems(self) -> str:
        return "\n".join(f"{p.what} | {p.where}" for i in self.collected.inputs for p in i.problems)


def collect(
    vocabulary: Any, names: list[str], options: LogOptions, traces: Any = None
) -> Collected:
    collected = Collected()
    collector = (
        LogCollector(vocabulary, options, traces) if traces else LogCollector(vocabulary, options)
    )
    for name in names:
        for part in collector.collect(open_input(name)):
            collected.add(part)
    return collected


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Log]:
    """Read a text as a log, every record of it."""

    def reader(text: str | bytes, name: str = "log", mtime: float = NOW, **options: Any) -> Log:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(path, (mtime, mtime))
        made = LogOptions(now=NOW, **options)
        return Log(collect(Echo(), [str(path)], made, lambda _: NoTraces()))

    return reader


@pytest.fixture(scope="session")
def vocabulary() -> Iterator[Vocabulary]:
    """The shipped event rules."""
    yield Vocabulary.load([data_dir("rules")])


@pytest.fixture
def diagnose(vocabulary: Vocabulary) -> Callable[..., Log]:
    """Read files with the shipped event rules."""

    def reader(*names: Path | str, **options: Any) -> Log:
        made = LogOptions(**{"now": NOW, **options})
        return Log(collect(vocabulary, [str(n) for n in names], made))

    return reader
