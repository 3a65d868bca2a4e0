"""Errors that a log holds, and that no diagnosis of their own is about."""

from pathlib import Path
from typing import Any

import yaml

from rdmadiag.rules.clues import clue_kinds
from rdmadiag.rules.conditions import template
from rdmadiag.rules.load import load_diagnoses, rule_dirs
from tests.rules.make import event, run

RULES = load_diagnoses(rule_dirs(()))
EVENTS = Path(__file__).parents[2] / "rules" / "events"


def summaries(rule: str, *facts: Any) -> list[str]:
    results = run(RULES[rule], *facts)[rule]
    return [" ".join(template(RULES[rule].summary)(f.names).split()) for f in results.fired]


def test_some_diagnosis_looks_at_each_kind_of_error() -> None:
    files = [yaml.safe_load(path.read_text()) for path in EVENTS.glob("*.yaml")]
    errors = {e["event"] for f in files for e in f.get("events", ()) if e.get("level") == "error"}
    seen = {kind for rule in RULES.values() for c in rule.clues.values() for kind in clue_kinds(c)}
    assert errors - seen == set()
    assert len(errors) > 50


def test_what_was_reported_is_named_by_kind() -> None:
    facts = [
        event("ib.mad_error", 5.0, device="mlx5_0"),
        event("nvmet.keepalive_expired", 6.0),
        event("nvmet.keepalive_expired", 7.0),
    ]
    assert summaries("rdma-error-reported", *facts) == [
        "3 errors were reported: ib.mad_error, nvmet.keepalive_expired; the first is of mlx5_0."
    ]


def test_heat_a_cable_and_lost_events_are_told_for_each_adapter() -> None:
    fault = {"state": "Cable error", "reason": "Bus stuck"}
    facts = [
        event("hca.module_event", 5.0, device="0000:0a:00.0", module=0, **fault),
        event("hca.temperature", 6.0, device="0000:0a:00.0", temperature=107, threshold=105),
        event("hca.eq_overrun", 7.0, device="0000:0b:00.0", eqn=3),
    ]
    assert summaries("hca-alarm", *facts) == [
        "0000:0a:00.0 reports module 0: Cable error (Bus stuck), and that it is too hot (107 degrees Celsius).",
        "0000:0b:00.0 reports that events of an event queue were lost.",
    ]


def test_a_cable_that_is_pulled_out_is_no_alarm() -> None:
    pulled = event(
        "hca.module_event",
        5.0,
        device="0000:0a:00.0",
        module=0,
        state="Cable unplugged",
        reason=None,
    )
    assert summaries("hca-alarm", pulled) == []


def test_a_disk_without_a_path_is_told_with_the_target_that_is_gone() -> None:
    ids = ("rdma-error-reported", "nvme-rdma-target-gone")
    no_path = event("nvme.no_path", 4.9, device="nvme2n1", transport=None)
    gone = [
        event("nvme.error_recovery", 5.0, controller="nvme2"),
        no_path,
        event("nvme.connect_error", 8.0, controller="nvme2", transport="rdma", err=-110),
        event("nvme.reconnect_failed", 8.1, controller="nvme2", transport="rdma", attempt=1),
    ]
    results = run([RULES[name] for name in ids], *gone)
    assert [len(results[name].fired) for name in ids] == [0, 1]
    assert results["rdma-error-reported"].reason == "explained by nvme-rdma-target-gone"
    clue = results["nvme-rdma-target-gone"].fired[0].matches["no_path"]
    assert clue is not None and clue.facts == [no_path]
    alone = run([RULES[name] for name in ids], no_path)
    assert [len(alone[name].fired) for name in ids] == [1, 0]


DETECTOR = {"kind_of": "kmemleak", "signature": "kmemleak", "subsystem": None}


def test_what_kmemleak_counts_and_shows_is_one_finding() -> None:
    count = event("kernel.memory_leak", 5.0, message="2 new suspected memory leaks", **DETECTOR)
    leak = event(
        "kernel.memory_leak",
        6.0,
        kind_of="kmemleak",
        signature="qedr_iw_connect",
        subsystem="qedr",
        functions=["kmem_cache_alloc_trace", "qedr_iw_connect"],
    )
    rule = RULES["kernel-memory-leak"]
    (found,) = run(rule, count, leak)[rule.id].fired
    assert found.candidate.key == {"signature": "qedr_iw_connect"}
    told = found.matches["detector"]
    assert told is not None and told["message"] == "2 new suspected memory leaks"
    (alone,) = run(rule, count)[rule.id].fired
    assert alone.candidate.key == {"signature": "kmemleak"}
