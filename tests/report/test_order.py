"""In which order findings are told."""

from rdmadiag.report.order import GENERAL, ordered
from rdmadiag.rules.load import load_diagnoses, rule_dirs
from tests.report.samples import finding_a, finding_b


def test_new_comes_before_known():
    known, new = finding_a(known=True), finding_b(1)
    assert ordered([known, new]) == [new, known]


def test_the_cause_comes_before_the_report_of_the_kernel():
    panic = finding_a(id="kernel-panic", verdict="confirmed")
    cause = finding_a(id="rds-shutdown-stuck", verdict="probable")
    warning = finding_b(1, id="hca-cq-error", severity="warning")
    assert ordered([warning, panic, cause]) == [cause, panic, warning]


def test_general_diagnoses_are_those_that_give_way_to_all():
    rules = load_diagnoses(rule_dirs(())).values()
    assert {r.id for r in rules if "*" in r.gives_way_to} == GENERAL
