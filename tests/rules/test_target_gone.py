"""An NVMe target that does not answer, told from one of which nothing is known but that a connect is under way."""

from typing import Any

import pytest

from rdmadiag.facts.model import Fact
from rdmadiag.rules.conditions import condition, template
from rdmadiag.rules.engine import Fired
from rdmadiag.rules.load import load_diagnoses, rule_dirs
from tests.rules.make import event, run, state

RULE = load_diagnoses(rule_dirs(()))["nvme-rdma-target-gone"]


def controller(**fields: Any) -> Fact:
    defaults: dict[str, Any] = {
        "controller": "nvme0",
        "traddr": "10.9.8.7",
        "nqn": "nqn.2026-01.lab:sub1",
        "state": "CONNECTING",
        "reconnects": 1,
        "max_reconnects": 20,
        "reconnect_work": "running",
        "reconnect_due_seconds": None,
        "attempt_seconds": 1.5,
        "waiting_behind": [],
        "disks": [],
        "mounts": [],
    }
    return state("nvme.rdma_controller", **(defaults | fields))


def fired(*facts: Fact) -> Fired:
    (found,) = run(RULE, *facts)[RULE.id].fired
    return found


def said(found: Fired) -> str:
    return " ".join(template(RULE.summary)(found.names).split())


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({}, "possible"),
        ({"attempt_seconds": None}, "possible"),
        ({"attempt_seconds": 5.0}, "probable"),
        ({"reconnects": 2}, "confirmed"),
        ({"reconnect_work": "delayed", "reconnect_due_seconds": 9.0}, "confirmed"),
        ({"reconnect_work": "delayed", "reconnects": 0}, "probable"),
    ],
)
def test_only_an_attempt_that_failed_confirms_it(fields: dict[str, Any], verdict: str) -> None:
    assert fired(controller(**fields)).verdict == verdict


def test_the_log_may_tell_of_attempts_that_failed() -> None:
    failed = event("nvme.reconnect_failed", 900.0, controller="nvme0", attempt=1)
    assert fired(failed, controller()).verdict == "confirmed"


def test_the_text_says_no_more_than_is_known() -> None:
    first = said(fired(controller()))
    assert "nvme0 has lost its connection to its target 10.9.8.7; the first attempt" in first
    assert "under way for 1.5 s" in first
    waits = said(
        fired(controller(reconnect_work="delayed", reconnects=0, reconnect_due_seconds=9.0))
    )
    assert "(no attempt as yet of 20, the next in 9.0 s)" in waits
    again = said(fired(controller(reconnects=3)))
    assert "has lost its target 10.9.8.7 and reconnects (attempt 3 of 20)" in again


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "LIVE"},
        {"waiting_behind": [{"pid": 7, "comm": "sh", "what": "its delete"}]},
        {"reconnects": 0, "reconnect_work": "idle"},
    ],
)
def test_nothing_is_said(fields: dict[str, Any]) -> None:
    assert not run(RULE, controller(**fields))[RULE.id].fired


def test_a_controller_that_came_back_is_a_remark() -> None:
    lost = event("nvme.error_recovery", 890.0, controller="nvme0")
    failed = event("nvme.connect_error", 900.0, controller="nvme0", transport="rdma", err=-104)
    back = event("nvme.reconnected", 912.0, controller="nvme0")
    found = fired(lost, failed, back)
    assert condition(RULE.severity_when["info"])(found.names)
    assert "came back after 22.0 s; 1 attempt failed before" in said(found)


@pytest.mark.parametrize(("err", "local"), [(-12, True), (-22, True), (-104, False), (-110, False)])
def test_an_attempt_that_fails_on_this_host_says_nothing_of_the_target(
    err: int, local: bool
) -> None:
    lost = event("nvme.error_recovery", 890.0, controller="nvme0")
    failed = event("nvme.connect_error", 900.0, controller="nvme0", transport="rdma", err=err)
    found = fired(lost, failed)
    assert ("fails on this host" in said(found)) == local
    assert ("lost its target" in said(found)) != local


@pytest.mark.parametrize("made", [False, True])
def test_a_first_attempt_that_fails_is_no_lost_target(made: bool) -> None:
    failed = event("nvme.connect_error", 900.0, controller="nvme0", transport="rdma", err=-104)
    new = event("nvme.new_controller", 918.0, controller="nvme0")
    found = fired(*([failed, new] if made else [failed]))
    assert "could not be connected: an attempt failed" in said(found)
    assert ("connected 18.0 s later" in said(found)) == made
    assert bool(condition(RULE.severity_when["info"])(found.names)) == made


def test_an_attempt_that_fails_after_a_connection_is_a_lost_target() -> None:
    new = event("nvme.new_controller", 800.0, controller="nvme0")
    failed = event("nvme.connect_error", 900.0, controller="nvme0", transport="rdma", err=-104)
    assert "lost its target" in said(fired(new, failed))
