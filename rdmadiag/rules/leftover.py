"""Which tasks findings explain: those that their evidence names, and those that wait for one of them."""

from collections.abc import Iterable, Iterator
from typing import Any

from rdmadiag.facts.model import Fact

Task = tuple[str, int]
"""Host and pid."""


def tasks_named(facts: Iterable[Fact]) -> set[Task]:
    """Return the tasks that *facts* name: ``pid``, ``blocked_task``, ``worker_pid``, rows of those behind ..."""
    return {(fact.host, pid) for fact in facts for pid in _pids(fact.fields)}


def is_explained(fact: Fact, explained: set[Task]) -> bool:
    """Return whether a fact is of such a task, or of one that waits for such a task."""
    chain = [row.get("pid") for row in fact.fields.get("chain") or ()]
    return any((fact.host, pid) in explained for pid in (fact.fields.get("pid"), *chain))


def _pids(fields: dict[str, Any]) -> Iterator[int]:
    for name, value in fields.items():
        if isinstance(value, int) and (name in ("pid", "worker_pid") or name.endswith("_task")):
            yield value
        elif name in ("behind", "waiting_behind", "callers") and isinstance(value, list):
            yield from (row["pid"] for row in value if isinstance(row.get("pid"), int))
        elif name == "deadlock":
            yield from value or ()
