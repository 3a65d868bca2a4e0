"""The shipped sample dumps: each gives exactly the findings that are true of it, with no debug info."""

import json
from functools import cache
from pathlib import Path

import pytest

from rdmadiag.commands.diagnose import Request, make_report
from rdmadiag.report.model import Report

SAMPLES = Path(__file__).parents[1] / "sample_dumps"
NAMES = sorted(p.parent.name for p in SAMPLES.glob("*/expect.json"))


@cache
def diagnosed(name: str) -> Report:
    """Diagnose the dump of a sample, once a process."""
    return make_report(Request([str(SAMPLES / name / "vmcore")]))


def expected(name: str) -> dict[str, object]:
    """Return what is true of a sample: from the ground truth that drgn read with full debug info."""
    return json.loads((SAMPLES / name / "expect.json").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_findings_are_exactly_those_that_are_true(name: str) -> None:
    found = [
        [f.id, f.verdict, f.subject.get("controller") or f.subject.get("laddr")]
        for f in diagnosed(name).findings
    ]
    assert sorted(found, key=str) == sorted(expected(name)["findings"], key=str)


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_ground_truth(name: str) -> None:
    evidence = [e for f in diagnosed(name).findings for e in f.evidence]
    for kind, fields in expected(name)["values"]:
        assert any(e.kind == kind and fields.items() <= e.fields.items() for e in evidence), (
            kind,
            fields,
        )


@pytest.mark.parametrize("name", NAMES)
def test_what_was_left_unchecked_is_said(name: str) -> None:
    report = diagnosed(name)
    lost = [c.id for c in report.checks if c.outcome == "could-not-run"]
    assert lost == expected(name)["unchecked"]
    assert [i.types for i in report.inputs] == ["btf"]


def test_a_dump_and_the_syslog_of_the_same_node_tell_one_story() -> None:
    folder = SAMPLES / "rds-stuck-recv"
    report = make_report(Request([str(folder / "vmcore"), str(folder / "messages")]))
    alone = diagnosed("rds-stuck-recv")
    assert [(f.id, f.subject, f.verdict) for f in report.findings] == [
        (f.id, f.subject, f.verdict) for f in alone.findings
    ]
    assert report.facts["hca.cq_error"] == 1


def test_samples_are_small() -> None:
    sizes = [p.stat().st_size for p in SAMPLES.rglob("*") if p.is_file()]
    assert max(sizes) < 6_000_000
    assert sum(sizes) < 60_000_000
    assert NAMES
