"""Completion errors of an RDS connection, and what came after them."""

from rdmadiag.rules.conditions import template
from rdmadiag.rules.load import load_diagnoses, rule_dirs
from tests.rules.make import event, run

RULE = load_diagnoses(rule_dirs(()))["rds-send-completion-error"]
ENDS = {"laddr": "10.9.8.1", "faddr": "10.9.8.2"}


def said(*times: float) -> str:
    errors = [event("rds.completion_error", at, status=12, status_text="x", **ENDS) for at in times]
    back = event("rds.connected", 20.0, **ENDS)
    (found,) = run(RULE, *errors, back)[RULE.id].fired
    return template(RULE.summary)(found.names)


def test_it_came_back_for_good() -> None:
    assert "it came back 6.0 s later." in said(14.0)


def test_it_came_back_and_had_errors_again() -> None:
    assert "it came back 6.0 s later and had errors again." in said(14.0, 21.0)
