"""Facts and rules for the tests of the rules station, in few words."""

from typing import Any

import msgspec

from rdmadiag.facts.merge import merge
from rdmadiag.facts.model import Collected, Coverage, Fact, InputInfo, Moment, Where
from rdmadiag.facts.store import FactStore
from rdmadiag.rules.engine import Result, run_rules
from rdmadiag.rules.schema import Diagnosis

BASE = {
    "title": "a test",
    "subsystem": "test",
    "severity": "warning",
    "summary": "s",
    "explanation": "e",
}


def event(
    kind: str,
    at: float | None = None,
    host: str = "node1",
    input: str = "log",
    wall: float | None = None,
    **fields: Any,
) -> Fact:
    """Return a log fact at *at* seconds of uptime, and at *wall* if given."""
    number = event.count = getattr(event, "count", 0) + 1
    time = None if at is None and wall is None else Moment(wall=wall, uptime=at, order=number)
    return Fact(
        kind, fields, Where(input, line=number, offset=number * 100), host, time, f"{kind} {fields}"
    )


def state(
    kind: str, at: float = 1000.0, host: str = "node1", input: str = "vmcore", **fields: Any
) -> Fact:
    """Return a dump's fact: no line, the moment of the dump."""
    return Fact(
        kind, fields, Where(input, type="struct x", address=0xFFFF0000), host, Moment(uptime=at)
    )


def rule(**keys: Any) -> Diagnosis:
    """Return a diagnosis rule from its YAML-like data."""
    return msgspec.convert({"id": "test-rule", **BASE, **keys}, Diagnosis)


def run(
    rules: Diagnosis | list[Diagnosis],
    *facts: Fact,
    coverage: tuple[Coverage, ...] = (),
    end: float | None = None,
) -> dict[str, Result]:
    """Run *rules* over *facts*, merged as the program does."""
    inputs = (
        [InputInfo("log", "log", host="node1", end=Moment(uptime=end))] if end is not None else []
    )
    collected = Collected(inputs=inputs, facts=list(facts), coverage=list(coverage))
    merge(collected)
    wanted = rules if isinstance(rules, list) else [rules]
    return {r.rule.id: r for r in run_rules({r.id: r for r in wanted}, FactStore(collected))}
