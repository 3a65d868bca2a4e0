"""The states of a dump in which iWARP connection attempts do, or do not, block NVMe controllers."""

from typing import Any

import pytest

from rdmadiag.facts.model import Fact
from rdmadiag.rules.conditions import template
from rdmadiag.rules.load import load_diagnoses, rule_dirs
from tests.rules.make import event, run, state

BLOCKED = "nvme-rdma-blocked-by-iwcm-connect-wait"
OTHER = "iwcm-connect-wait"
LOADED = load_diagnoses(rule_dirs(()))
RULES = [LOADED[i] for i in (BLOCKED, OTHER, "nvme-rdma-target-gone")]
DESTROYER = ["schedule", "destroy_cm_id", "iw_destroy_cm_id", "rdma_destroy_id"]


def cm_id(controller: str | None, ulp: str = "nvme_rdma", **fields: Any) -> Fact:
    defaults: dict[str, Any] = {
        "address": f"0xffff{controller}",
        "state": "CONN_SENT",
        "connect_wait": True,
        "raddr": "10.9.8.7",
        "owner": {"ulp": ulp, "controller": controller, "queue": 0},
        "destroy_task": None,
        "setup_task": None,
        "waiters": [],
    }
    return state("iwcm.cm_id", **(defaults | fields))


def controller(name: str, **fields: Any) -> Fact:
    defaults: dict[str, Any] = {
        "controller": name,
        "traddr": "10.9.8.7",
        "state": "CONNECTING",
        "reconnects": 3,
        "reconnect_work": "running",
        "iw_cm_id": True,
        "waiting_behind": [],
    }
    return state("nvme.rdma_controller", **(defaults | fields))


def destroyer(pid: int, user: str) -> Fact:
    return state("task", pid=pid, state="D", functions=[*DESTROYER, user], wait_seconds=9.0)


def verdicts(*facts: Fact) -> dict[str, list[tuple[Any, str]]]:
    return {
        i: [(f.candidate.key.get("controller"), f.verdict) for f in r.fired]
        for i, r in run(RULES, *facts).items()
    }


def test_each_controller_is_blocked_by_its_own_id() -> None:
    facts = [
        fact
        for n in range(4)
        for fact in (
            cm_id(f"nvme{n}", destroy_task=700 + n, destroy_wait_seconds=9.0),
            controller(f"nvme{n}", blocked_task=700 + n),
            destroyer(700 + n, "nvme_rdma_alloc_queue"),
        )
    ]
    found = verdicts(*facts)
    assert found[BLOCKED] == [(f"nvme{n}", "confirmed") for n in range(4)]
    assert (found[OTHER], found["nvme-rdma-target-gone"]) == ([], [])


@pytest.mark.parametrize(
    ("seconds", "behind", "verdict"),
    [
        (3.0, [], []),
        (30.0, [], [("nvme0", "possible")]),
        (30.0, [{"pid": 90, "comm": "nvme"}], [("nvme0", "confirmed")]),
    ],
)
def test_a_connect_that_is_pending_for_seconds_is_ordinary(
    seconds: float, behind: list[dict[str, Any]], verdict: list[tuple[str, str]]
) -> None:
    found = verdicts(
        cm_id("nvme0", setup_task=700, setup_wait_seconds=seconds),
        controller("nvme0", reconnect_task=700, waiting_behind=behind),
    )
    assert found[BLOCKED] == verdict


@pytest.mark.parametrize(
    ("id_fields", "attempt", "verdict"),
    [
        ({"destroy_task": 700, "destroy_wait_seconds": 0.8}, None, None),
        ({"destroy_task": 700, "destroy_wait_seconds": 0.8}, 3.0, None),
        ({"destroy_task": 700, "destroy_wait_seconds": 0.8}, 40.0, "confirmed"),
        ({"destroy_task": 700, "destroy_wait_seconds": 2.3}, None, "confirmed"),
        ({"destroy_task": 700, "destroy_wait_seconds": None}, None, "probable"),
        ({"setup_task": 700, "setup_wait_seconds": 1.0}, None, None),
        ({"setup_task": 700, "setup_wait_seconds": 3.0}, None, "possible"),
        ({"setup_task": 700, "setup_wait_seconds": 3.0}, 40.0, "confirmed"),
        ({"setup_task": 700, "setup_wait_seconds": 6.0}, None, "confirmed"),
    ],
)
def test_a_wait_that_is_ordinary_as_yet_confirms_nothing(
    id_fields: dict[str, Any], attempt: float | None, verdict: str | None
) -> None:
    waits = {"destroy_wait_seconds": None, "setup_wait_seconds": None} | id_fields
    found = verdicts(
        cm_id("nvme0", **waits),
        controller(
            "nvme0",
            blocked_task=700,
            attempt_seconds=attempt,
            waiting_behind=[{"pid": 90, "comm": "nvme"}],
        ),
    )
    assert found[BLOCKED] == ([("nvme0", verdict)] if verdict else [])


@pytest.mark.parametrize(
    ("count", "text"), [(1, "1 more waits behind it"), (2, "2 more wait behind it")]
)
def test_those_behind_are_counted(count: int, text: str) -> None:
    behind = [{"pid": 90 + n, "comm": "nvme"} for n in range(count)]
    facts = (
        cm_id("nvme0", setup_task=700, setup_wait_seconds=30.0),
        controller("nvme0", reconnect_task=700, waiting_behind=behind),
    )
    (found,) = run(RULES, *facts)[BLOCKED].fired
    assert text in template(LOADED[BLOCKED].summary)(found.names)


def test_one_that_is_blocked_among_others_that_reconnect() -> None:
    found = verdicts(
        cm_id("nvme0", destroy_task=700, destroy_wait_seconds=9.0),
        controller("nvme0", blocked_task=700),
        destroyer(700, "nvme_rdma_alloc_queue"),
        cm_id("nvme1", setup_task=701, setup_wait_seconds=2.0),
        controller("nvme1", reconnect_task=701),
        controller("nvme2", reconnect_work="delayed", reconnect_due_seconds=4.0, iw_cm_id=False),
        controller("nvme3", state="LIVE", reconnects=0, reconnect_work="idle"),
    )
    assert found[BLOCKED] == [("nvme0", "confirmed")]
    assert [c for c, _ in found["nvme-rdma-target-gone"]] == ["nvme1", "nvme2"]


@pytest.mark.parametrize("ulp", ["iser", "rdma_ucm", "rpcrdma", "rds_rdma"])
def test_an_id_of_another_user_is_another_diagnosis(ulp: str) -> None:
    found = verdicts(cm_id(None, ulp, destroy_task=700), destroyer(700, "ucma_destroy_id"))
    assert (found[BLOCKED], len(found[OTHER])) == ([], 1)


def test_nothing_is_blocked_when_the_attempt_is_over() -> None:
    over = cm_id("nvme0", connect_wait=False, state="ESTABLISHED")
    assert verdicts(over, controller("nvme0", state="LIVE", reconnects=0))[BLOCKED] == []


def test_what_the_log_says_of_others_adds_no_finding() -> None:
    failed = event("nvme.reconnect_failed", 900.0, controller="nvme5", attempt=2, transport="rdma")
    found = verdicts(
        failed,
        cm_id("nvme0", destroy_task=700, destroy_wait_seconds=9.0),
        controller("nvme0", blocked_task=700),
        destroyer(700, "nvme_rdma_alloc_queue"),
    )
    assert found[BLOCKED] == [("nvme0", "confirmed")]
