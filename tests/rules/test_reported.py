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
