"""Tasks that no finding explains, and tasks that wait for each other."""

from typing import Any

from rdmadiag.facts.model import Fact
from rdmadiag.rules.load import load_diagnoses, rule_dirs
from rdmadiag.rules.schema import Diagnosis
from tests.rules.make import rule, run, state

SHIPPED = load_diagnoses(rule_dirs(()))
UNEXPLAINED = SHIPPED["task-unexplained"]


def task(pid: int, *behind: int, **fields: Any) -> Fact:
    """Return a task in D state that waits for *behind*."""
    chain = [{"pid": one, "comm": "t", "state": "D", "what": ""} for one in (pid, *behind)]
    defaults: dict[str, Any] = {
        "state": "D",
        "wait_seconds": 30.0,
        "functions": ["schedule", "deep"],
        "subsystem": "",
        "idle": False,
        "deadlock": [],
    }
    return state("task", pid=pid, comm=f"t{pid}", chain=chain, **(defaults | fields))


def telling(**clue: Any) -> Diagnosis:
    """Return a rule that explains what *clue* finds."""
    whole = {"kind": "cause", "anchor": True} | clue
    return rule(clues={"one": whole}, verdict={"confirmed": "one"})


def listed(*facts: Fact, rules: tuple[Diagnosis, ...] = ()) -> list[int]:
    """Return the pids that are left over."""
    fired = run([*rules, UNEXPLAINED], *facts)["task-unexplained"].fired
    matches = [one.matches["tasks"] for one in fired]
    return sorted(f.fields["pid"] for m in matches if m for f in m.facts)


def test_what_nobody_explains_is_listed_in_one_finding() -> None:
    assert listed(task(1), task(2)) == [1, 2]
    assert len(run(UNEXPLAINED, task(1), task(2))["task-unexplained"].fired) == 1


def test_tasks_that_a_finding_names_are_left_out() -> None:
    named = state("cause", shutdown_task=1, waiting_behind=[{"pid": 3}])
    assert listed(task(1), task(2), task(3), named, rules=(telling(),)) == [2]


def test_a_task_behind_an_explained_one_is_explained_but_not_the_one_it_waits_for() -> None:
    named = state("cause", pid=2)
    assert listed(task(1, 2, 3), task(2, 3), task(3), named, rules=(telling(),)) == [3]


def test_all_explained_is_said_so() -> None:
    result = run([telling(), UNEXPLAINED], task(1), state("cause", pid=1))["task-unexplained"]
    assert (result.outcome, result.reason) == ("ruled-out", "other findings explain all of them")


def test_idle_short_and_other_hosts_tasks() -> None:
    assert listed(task(1, state="S", subsystem="siw", idle=True)) == []
    assert listed(task(1, wait_seconds=0.2)) == []
    assert listed(task(1, state="S", subsystem="rds")) == [1]
    assert listed(task(1, state="S", subsystem="")) == []
    other = state("cause", host="node2", pid=1)
    assert listed(task(1), other, rules=(telling(),)) == [1]


def test_a_circle_is_one_deadlock_and_not_unexplained() -> None:
    facts = [task(p, *rest, deadlock=[1, 2]) for p, *rest in ((1, 2), (2, 1), (3, 1, 2))]
    results = run([SHIPPED["task-deadlock"], UNEXPLAINED], *facts)
    assert [len(one.matches["tasks"].facts) for one in results["task-deadlock"].fired] == [3]  # type: ignore[union-attr]
    assert results["task-unexplained"].fired == []
