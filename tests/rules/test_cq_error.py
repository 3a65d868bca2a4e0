"""The states of a dump in which an RDS connection's shutdown is, or is not, stuck on a CQ error."""

from typing import Any

import pytest

from rdmadiag.facts.model import Fact
from rdmadiag.rules.conditions import condition
from rdmadiag.rules.load import load_diagnoses, rule_dirs
from tests.rules.make import event, run, state

ON_CQ_ERROR = "rds-shutdown-stuck-on-cq-error"
STUCK = "rds-shutdown-stuck"
LOADED = load_diagnoses(rule_dirs(()))
RULES = [LOADED[i] for i in (ON_CQ_ERROR, STUCK, "hca-cq-error")]
NOW = 1000.0


def ring(in_flight: int) -> dict[str, int]:
    return {"nr": 1024, "alloc_ctr": 1100, "free_ctr": 1100 - in_flight, "in_flight": in_flight}


def connection(**fields: Any) -> Fact:
    defaults: dict[str, Any] = {
        "laddr": "10.9.8.7",
        "faddr": "10.9.8.6",
        "tos": 0,
        "state": "DISCONNECTING",
        "recv_ring": ring(304),
        "send_ring": ring(0),
        "signaled_sends": 0,
        "shutdown_task": 62577,
        "shutdown_wait_seconds": 120.0,
        "shutdown_wait_clock": "worker.last_active",
        "disconnected_min_seconds": 60.0,
        "cq_error_flag": None,
    }
    return state("rds.ib_connection", NOW, **(defaults | fields))


def worker(**fields: Any) -> Fact:
    functions = ["schedule_timeout", "rds_ib_conn_path_shutdown", "rds_conn_shutdown"]
    return state("task", NOW, **({"pid": 62577, "functions": functions, "state": "D"} | fields))


def cq_error(before: float, **fields: Any) -> Fact:
    return event("hca.cq_error", NOW - before, **({"device": "0000:81:00.0", "cqn": 7} | fields))


def verdicts(*facts: Fact) -> dict[str, list[str]]:
    return {i: [f.verdict for f in r.fired] for i, r in run(RULES, *facts).items()}


@pytest.mark.parametrize(
    ("facts", "command"),
    [
        ([], "rdmadiag diagnose /var/crash/*/vmcore"),
        ([state("kernel", NOW)], "rdmadiag diagnose --debuginfo /usr/lib/debug VMCORE"),
    ],
)
def test_only_a_dump_that_was_read_is_to_be_read_again(facts: list[Fact], command: str) -> None:
    stack = event("kernel.hung_task", NOW, **worker(comm="kworker/u8:1", seconds=122).fields)
    (fired,) = run(RULES, cq_error(130), stack, *facts)[ON_CQ_ERROR].fired
    steps = [s.command for s in fired.rule.next_steps if condition(s.when)(fired.names)]
    assert [c for c in steps if c.startswith("rdmadiag")] == [command]


@pytest.mark.parametrize(
    "out",
    [
        {},
        {"recv_ring": ring(0), "send_ring": ring(3), "signaled_sends": 3},
        {"send_ring": ring(3), "signaled_sends": 3},
        {"recv_ring": ring(0), "fastreg_in_use": 2},
        {"shutdown_task": None, "flags": ["RDS_SHUTDOWN_WAITING"]},
        {"send_cqn": 6, "recv_cqn": 7},
        {"send_cqn": None, "recv_cqn": None},
    ],
)
def test_whatever_is_out_the_wait_is_the_same(out: dict[str, Any]) -> None:
    found = verdicts(cq_error(118), connection(**out), worker())
    assert (found[ON_CQ_ERROR], found[STUCK]) == (["confirmed"], [])


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"shutdown_wait_seconds": 0.5}, "possible"),
        ({"shutdown_wait_seconds": 0.5, "drop_reason": "qp event"}, "probable"),
        ({"shutdown_wait_seconds": 120.0}, "probable"),
    ],
)
def test_a_shutdown_that_has_only_begun_proves_little(fields: dict[str, Any], verdict: str) -> None:
    begun = connection(disconnected_min_seconds=None, **fields)
    assert verdicts(cq_error(0.6), begun, worker())[ON_CQ_ERROR] == [verdict]


@pytest.mark.parametrize(
    ("error", "fields"),
    [
        (cq_error(3600), {}),  # it was over long before
        (cq_error(10), {}),  # the CM was done with the connection 60 s ago
        (cq_error(10), {"shutdown_wait_clock": "reconnect_start"}),
        (cq_error(118, netdev="eth3"), {}),
        (cq_error(118), {"send_cqn": 8, "recv_cqn": 9}),
    ],
)
def test_a_cq_error_of_another_time_or_user_is_none(error: Fact, fields: dict[str, Any]) -> None:
    found = verdicts(error, connection(**fields), worker())
    assert (found[ON_CQ_ERROR], found[STUCK], found["hca-cq-error"]) == (
        [],
        ["confirmed"],
        ["confirmed"],
    )


def test_the_flag_in_the_connection_is_enough() -> None:
    assert verdicts(connection(cq_error_flag=True), worker())[ON_CQ_ERROR] == ["confirmed"]


def test_one_of_many_is_told() -> None:
    others = [
        connection(faddr=f"10.9.9.{n}", state="UP", shutdown_task=None, shutdown_wait_seconds=None)
        for n in range(9)
    ]
    assert verdicts(cq_error(118), connection(), worker(), *others)[ON_CQ_ERROR] == ["confirmed"]


@pytest.mark.parametrize("now", ["UP", "DOWN", "CONNECTING"])
def test_a_drop_beside_it_that_was_got_over(now: str) -> None:
    drops = [
        event(
            "rds.connection_dropped",
            NOW - 117.9,
            reason="qp event",
            laddr="10.9.8.7",
            faddr=f,
            tos=0,
        )
        for f in ("10.9.8.6", "10.9.8.5")
    ]
    over = connection(faddr="10.9.8.5", state=now, shutdown_task=None, shutdown_wait_seconds=None)
    assert verdicts(cq_error(118), *drops, connection(), worker(), over)[ON_CQ_ERROR] == [
        "confirmed"
    ]


def test_a_worker_proves_nothing_of_a_connection_that_is_not_its_own() -> None:
    dropped = event(
        "rds.connection_dropped",
        NOW - 117.9,
        reason="qp event",
        laddr="10.9.8.7",
        faddr="10.9.8.5",
        tos=0,
    )
    found = verdicts(cq_error(118), dropped, connection(), worker())[ON_CQ_ERROR]
    assert sorted(found) == ["confirmed", "probable"]


def test_rings_that_are_empty_are_not_waited_for() -> None:
    done = connection(recv_ring=ring(0), fastreg_full=True)
    found = verdicts(cq_error(118), done, worker())
    assert found[ON_CQ_ERROR] == []


def test_a_dump_without_types_of_rds_tells_by_stack_and_log() -> None:
    assert verdicts(cq_error(118), worker(wait_seconds=120.0))[ON_CQ_ERROR] == ["possible"]
    assert verdicts(cq_error(118), worker(wait_seconds=0.2))[ON_CQ_ERROR] == []


def test_a_return_further_down_with_an_earlier_time_leaves_a_suspicion() -> None:
    tuple_ = {"laddr": "10.9.8.7", "faddr": "10.9.8.6", "tos": 0}
    facts = [
        event("hca.cq_error", wall=5000.0, device="0000:81:00.0", cqn=7),
        event("rds.connection_dropped", wall=5000.0, reason="qp event", **tuple_),
        event("rds.connected", wall=2600.0, **tuple_),
        event("log.span", wall=9000.0),
    ]
    assert verdicts(*facts)[ON_CQ_ERROR] == ["possible"]
    assert verdicts(*facts[:2], facts[3])[ON_CQ_ERROR] == ["probable"]
