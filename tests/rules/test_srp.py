"""SRP targets that cannot be reached, and those that can."""

from typing import Any

import pytest

from rdmadiag.facts.model import Fact
from rdmadiag.rules.conditions import template
from rdmadiag.rules.load import load_diagnoses, rule_dirs
from tests.rules.make import event, run, state

RULES = load_diagnoses(rule_dirs(()))
GONE, ERRORS = RULES["srp-target-gone"], RULES["hca-completion-error"]
CALLS = (46.0, "abort"), (56.0, "reset_device"), (61.0, "reset_host")


def target(**fields: Any) -> Fact:
    defaults: dict[str, Any] = {
        "target": "10.9.8.7:5555",
        "scsi_host": 2,
        "state": "LIVE",
        "port_state": "BLOCKED",
        "channel_count": 2,
        "connected": 0,
        "failed_reconnects": 3,
        "reconnect_due_seconds": 4.0,
        "fail_due_seconds": 9.0,
        "loss_due_seconds": None,
    }
    return state("srp.target", **(defaults | fields))


@pytest.mark.parametrize(
    ("port", "disks"),
    [
        ("BLOCKED", "its disks wait"),
        ("FAIL_FAST", "commands to its disks fail"),
        ("LOST", "its disks are given up"),
    ],
)
def test_connection_that_is_lost(port: str, disks: str) -> None:
    (found,) = run(
        GONE, target(port_state=port), target(target="10.9.8.8:5555", port_state="RUNNING")
    )["srp-target-gone"].fired
    assert found.verdict == "confirmed"
    assert found.candidate.key == {"target": "10.9.8.7:5555", "scsi_host": 2}
    assert template(GONE.title)(found.names) == f"An SRP target cannot be reached; {disks}"


def test_targets_of_the_ib_cm_are_told_apart() -> None:
    facts = target(), target(target=None, scsi_host=3), target(target=None, scsi_host=4)
    found = run(GONE, *facts)["srp-target-gone"].fired
    assert sorted(one.candidate.key["scsi_host"] for one in found) == [2, 3, 4]


@pytest.mark.parametrize(("seconds", "verdict"), [(9.9, "probable"), (0.4, "possible")])
def test_host_that_is_reset_without_an_answer(seconds: float, verdict: str) -> None:
    channels = [{"qp_state": "INIT", "waiters": []}, {"qp_state": "INIT", "waiters": [172]}]
    reset = target(port_state="RUNNING", channels=channels, failed_reconnects=0)
    handler = state("task", pid=172, comm="scsi_eh_2", wait_seconds=seconds)
    calls = [event("srp.error_handling", at, scsi_host=2, what=what) for at, what in CALLS]
    (found,) = run(GONE, reset, state("task", pid=199), handler, *calls)["srp-target-gone"].fired
    assert found.verdict == verdict
    assert template("{{ handling.seen }} {{ handling.what }}")(found.names) == "3 reset_host"
    told = template(GONE.summary)(found.names)
    assert "0 of 2 channels connected, 0 attempts" in told
    assert "pid 172 (scsi_eh_2) has waited for a channel" in told


@pytest.mark.parametrize(
    "fields",
    [
        {"port_state": "RUNNING", "connected": 2},
        {"port_state": "RUNNING"},
        {"port_state": None},
        {"state": "REMOVED", "port_state": "LOST"},
    ],
    ids=["running", "nobody waits for it", "not known to SCSI yet", "removed on purpose"],
)
def test_what_is_none(fields: dict[str, Any]) -> None:
    assert run(GONE, target(**fields))["srp-target-gone"].fired == []


@pytest.mark.parametrize(
    ("status", "own"), [(5, False), (12, False), (4, True)], ids=["flushed", "no answer", "a key"]
)
def test_errors_of_a_lost_connection_are_told_with_it(status: int, own: bool) -> None:
    error = event("srp.completion_error", scsi_host=2, status=status)
    results = run([GONE, ERRORS], target(), error)
    assert len(results["srp-target-gone"].fired) == 1
    assert bool(results["hca-completion-error"].fired) == own


@pytest.mark.parametrize(
    ("fields", "own"),
    [({}, False), ({"qp": 19}, True), ({"device": "rxe1"}, True), ({"status": 4}, True)],
    ids=["a channel's", "another queue pair", "another device", "a key"],
)
def test_what_the_driver_says_of_a_channel_is_told_with_it(
    fields: dict[str, Any], own: bool
) -> None:
    lost = target(device="rxe0", channels=[{"qp_num": 18, "qp_state": "ERR"}])
    error = event("hca.completion_error", **{"device": "rxe0", "qp": 18, "status": 12} | fields)
    assert bool(run([GONE, ERRORS], lost, error)["hca-completion-error"].fired) == own


def test_queue_pair_in_error_is_told_of_a_channel_that_is_still_called_connected() -> None:
    channels = [{"qp_state": "ERR"}, {"qp_state": "RTS"}]
    (found,) = run(GONE, target(channels=channels, connected=2))["srp-target-gone"].fired
    assert "2 of 2 channels connected (1 with the queue pair in error)" in template(GONE.summary)(
        found.names
    )
