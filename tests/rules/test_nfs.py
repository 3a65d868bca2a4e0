"""NFS over RDMA whose transport is down, and what only looks like it."""

from typing import Any

import pytest

from rdmadiag.facts.model import Fact
from rdmadiag.rules.load import load_diagnoses, rule_dirs
from tests.rules.make import event, run, state

RULES = load_diagnoses(rule_dirs(()))
DOWN = RULES["nfs-rdma-transport-down"]
UNEXPLAINED = RULES["task-unexplained"]


def transport(**fields: Any) -> Fact:
    defaults: dict[str, Any] = {
        "server": "10.9.8.7",
        "programs": ["nfs 4"],
        "connected": False,
        "backchannel": False,
        "calls": 3,
        "oldest_call_seconds": 47.0,
        "connects": 1,
        "connect_status": -110,
        "connect_work": "running",
        "attempt_seconds": 5.0,
        "connect_task": 70,
        "connect_due_seconds": None,
        "cm_state": None,
        "mounts": ["/data"],
        "callers": [{"pid": 71, "comm": "stat", "what": "the call nfs 4 GETATTR"}],
    }
    return state("xprtrdma.transport", **(defaults | fields))


def waiting(pid: int, comm: str) -> Fact:
    return state(
        "task", pid=pid, comm=comm, state="D", wait_seconds=40.0, functions=["schedule"],
        subsystem="", idle=False, deadlock=[], chain=[],
    )  # fmt: skip


def test_down_with_calls_that_wait() -> None:
    silent = event("sunrpc.server_not_responding", 900.0, server="10.9.8.7", what="still trying")
    (found,) = run(DOWN, transport(), silent)["nfs-rdma-transport-down"].fired
    assert found.verdict == "confirmed"
    assert {name for name, match in found.matches.items() if match} == {"transport", "silent"}


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"connect_work": "delayed", "attempt_seconds": 900.0}, "confirmed"),
        ({"connect_work": "running", "attempt_seconds": 299.0}, "confirmed"),
        ({"connect_work": "running", "attempt_seconds": 900.0}, "possible"),
        ({"connect_work": "running", "attempt_seconds": None}, "possible"),
        ({"connect_work": "pending"}, "confirmed"),
        ({"connect_work": "pending", "attempt_seconds": 900.0}, "possible"),
        ({"connect_work": "idle"}, "possible"),
        ({"connect_work": None}, "possible"),
    ],
)
def test_client_that_may_hang_itself(fields: dict[str, Any], verdict: str) -> None:
    (found,) = run(DOWN, transport(**fields))["nfs-rdma-transport-down"].fired
    assert found.verdict == verdict


def test_who_waits_is_explained_and_another_process_is_not() -> None:
    facts = transport(), waiting(70, "kworker/0:1"), waiting(71, "stat"), waiting(72, "dd")
    (left,) = run([DOWN, UNEXPLAINED], *facts)["task-unexplained"].fired
    match = left.matches["tasks"]
    assert match
    assert [fact.fields["pid"] for fact in match.facts] == [72]


@pytest.mark.parametrize(
    "fields",
    [
        {"connected": True},
        {"connected": None},
        {"calls": 0, "oldest_call_seconds": None},
        {"oldest_call_seconds": 2.0},
        {"backchannel": True},
    ],
    ids=["connected", "unknown", "idle transports are closed", "just reconnecting", "the way back"],
)
def test_what_only_looks_like_it(fields: dict[str, Any]) -> None:
    assert run(DOWN, transport(**fields))["nfs-rdma-transport-down"].fired == []
