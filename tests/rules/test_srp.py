"""SRP targets that cannot be reached, and those that can."""

from typing import Any

import pytest

from rdmadiag.facts.model import Fact
from rdmadiag.rules.conditions import condition, template
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


def told(*facts: Fact, end: float | None = None) -> tuple[str, str, str, str]:
    """Return verdict, severity, title and summary of the one finding."""
    (found,) = run(GONE, *facts, end=end)["srp-target-gone"].fired
    severity = "info" if condition(GONE.severity_when["info"])(found.names) else GONE.severity
    texts = [" ".join(template(t)(found.names).split()) for t in (GONE.title, GONE.summary)]
    return found.verdict, severity, texts[0], texts[1]


def calls(*whats: tuple[float, str]) -> list[Fact]:
    return [event("srp.error_handling", at, scsi_host=2, what=what) for at, what in whats]


RESET = "SCSI's error handler resets the host of an SRP target, without success as yet"


@pytest.mark.parametrize(
    ("end", "verdict"), [(61.5, "possible"), (75.0, "probable"), (None, "possible")]
)
def test_log_in_which_the_host_is_reset(end: float | None, verdict: str) -> None:
    found = told(*calls(*CALLS), end=end)
    assert found[:3] == (verdict, "warning", RESET)
    assert "reset the host, after commands were not answered; that it came back is not" in found[3]


def test_log_in_which_a_reset_by_hand_does_not_end() -> None:
    assert told(*calls((61.0, "reset_host")), end=95.0)[:2] == ("possible", "warning")
    assert run(GONE, *calls((61.0, "reset_host")), end=62.0)["srp-target-gone"].fired == []


def test_log_of_a_reset_by_hand_that_succeeds_at_once() -> None:
    back = event("srp.reconnected", 61.4, scsi_host=2)
    result = run(GONE, *calls((61.0, "reset_host")), back, end=900.0)["srp-target-gone"]
    assert (result.fired, result.outcome) == ([], "ruled-out")
    assert "reset and connected again at once" in result.reason
    device = run(GONE, *calls((61.0, "reset_device"), (62.0, "abort")), end=900.0)
    assert device["srp-target-gone"].outcome == "ruled-out"
    assert device["srp-target-gone"].fired == []


def test_log_of_a_target_that_was_away() -> None:
    back = event("srp.reconnected", 61.9, scsi_host=2)
    found = told(*calls(*CALLS), back, end=900.0)
    assert found[:3] == ("probable", "info", "An SRP target was away for a while")
    assert "it came back 0.90 s later" in found[3]
    other = event("srp.reconnected", 61.9, scsi_host=3)
    assert told(*calls(*CALLS), other, end=900.0)[1] == "warning"
    again = calls((80.0, "abort"), (99.0, "reset_host"))
    assert told(*calls(*CALLS), back, *again, end=900.0)[:3] == ("probable", "warning", RESET)


def test_log_in_which_attempts_to_reconnect_fail() -> None:
    failed = [
        event("srp.reconnect_failed", 100.0 + 11 * n, scsi_host=2, attempt=n, err=-104)
        for n in (1, 2)
    ]
    refused = event("srp.connection_closed", 121.0, scsi_host=2, what="REJ received")
    found = told(*failed, refused)
    title = "An SRP target cannot be reached; "
    assert found[:3] == ("confirmed", "warning", title + "its disks wait")
    assert "2 attempts to connect again failed (last: -104)" in found[3]
    fast = event("srp.gave_up", 115.0, scsi_host=2, timer="fast_io_fail_tmo", port="port-2:1")
    assert told(*failed, fast)[2] == title + "commands to its disks fail"
    lost = event("srp.gave_up", 715.0, scsi_host=2, timer="dev_loss_tmo", port="port-2:1")
    assert told(*failed, fast, lost)[2] == title + "its disks are given up"
    back = event("srp.reconnected", 125.0, scsi_host=2)
    assert told(*failed, back)[1:3] == ("info", "An SRP target was away for a while")


def test_log_in_which_disks_are_taken_offline() -> None:
    gone = event("scsi.offlined", 72.0, scsi_host=2, address="0:0:0")
    found = told(*calls(*CALLS), gone)
    title = "An SRP target cannot be reached; commands to its disks fail"
    assert found[:3] == ("confirmed", "warning", title)
    assert "1 disk was taken offline" in found[3]


def test_log_of_what_the_dump_shows_to_be_connected() -> None:
    healthy = target(port_state="RUNNING", connected=2)
    result = run(GONE, *calls(*CALLS), healthy)["srp-target-gone"]
    assert result.fired == []
    assert "by the dump it is connected" in result.reason
