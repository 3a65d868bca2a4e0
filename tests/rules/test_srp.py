"""SRP targets that cannot be reached, and those that can."""

from typing import Any

import pytest

from rdmadiag.facts.model import Fact
from rdmadiag.rules.load import load_diagnoses, rule_dirs
from tests.rules.make import run, state

GONE = load_diagnoses(rule_dirs(()))["srp-target-gone"]


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


@pytest.mark.parametrize("port", ["BLOCKED", "FAIL_FAST", "LOST"])
def test_connection_that_is_lost(port: str) -> None:
    (found,) = run(
        GONE, target(port_state=port), target(target="10.9.8.8:5555", port_state="RUNNING")
    )["srp-target-gone"].fired
    assert found.verdict == "confirmed"
    assert found.candidate.key == {"target": "10.9.8.7:5555", "scsi_host": 2}


def test_targets_of_the_ib_cm_are_told_apart() -> None:
    facts = target(), target(target=None, scsi_host=3), target(target=None, scsi_host=4)
    found = run(GONE, *facts)["srp-target-gone"].fired
    assert sorted(one.candidate.key["scsi_host"] for one in found) == [2, 3, 4]


@pytest.mark.parametrize(
    "fields",
    [{"port_state": "RUNNING"}, {"port_state": None}, {"state": "REMOVED", "port_state": "LOST"}],
    ids=["running", "not known to SCSI yet", "removed on purpose"],
)
def test_what_is_none(fields: dict[str, Any]) -> None:
    assert run(GONE, target(**fields))["srp-target-gone"].fired == []
