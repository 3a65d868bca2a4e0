"""What is told of a work queue of iw_cm that does not drain: its worker, and who holds what that one waits for."""

from typing import Any

from rdmadiag.facts.model import Fact
from rdmadiag.rules.clues import evidence_of
from rdmadiag.rules.conditions import condition, template
from rdmadiag.rules.engine import Fired
from rdmadiag.rules.load import load_diagnoses, rule_dirs
from tests.rules.make import run, state

FLUSH = "iwcm-flush-stuck"
RULE = load_diagnoses(rule_dirs(()))[FLUSH]


def task(pid: int, comm: str, **fields: Any) -> Fact:
    return state("task", pid=pid, comm=comm, wait_seconds=40.0, **fields)


def mutex(pid: int | None) -> dict[str, Any]:
    return {"type": "struct mutex", "address": "0x10", "what": "a mutex", "pid": pid}


def flushed(*others: Fact) -> Fired:
    destroyer = task(20, "nvme", functions=["__flush_workqueue", "iw_destroy_cm_id"])
    work = state("workqueue.work", workqueue="iw_cm_wq", state="running", worker_pid=30)
    (fired,) = run(RULE, destroyer, work, *others)[FLUSH].fired
    return fired


def steps(fired: Fired) -> list[tuple[str, str]]:
    chosen = [s for s in fired.rule.next_steps if condition(s.when)(fired.names)]
    return [(template(s.text)(fired.names), template(s.command)(fired.names)) for s in chosen]


def test_worker_and_holder_are_named_and_each_stack_is_shown_once() -> None:
    worker = task(30, "kworker/u8:3", waits_on=mutex(40))
    other = task(50, "kworker/u8:1", waits_on=mutex(40))
    fired = flushed(worker, other, task(40, "rmmod"))
    assert steps(fired) == [
        (
            "Find out what pid 40 is at. The worker of iw_cm_wq, pid 30, "
            "waits for it; that is why the queue does not drain.",
            "bt 40",
        )
    ]
    shown = [
        f.fields.get("pid") for *_, m in evidence_of(fired.matches, RULE.clues) for f in m.facts
    ]
    assert sorted(p for p in shown if p) == [20, 30, 40, 50]


def test_a_worker_is_named_when_nobody_knows_what_it_waits_for() -> None:
    text = "Find out what the worker of iw_cm_wq, pid 30, waits for; that is the cause."
    assert steps(flushed(task(30, "kworker/u8:3", waits_on=None))) == [(text, "bt 30")]
    assert steps(flushed(task(30, "kworker/u8:3", waits_on=mutex(None)))) == [(text, "bt 30")]


def test_a_worker_that_is_not_known_is_to_be_found() -> None:
    (step,) = steps(flushed())
    assert step[0] == "Find the worker of iw_cm_wq and its stack; that is the cause."
