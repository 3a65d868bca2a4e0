"""Comparing two reports, baselines, and the commands that do it."""

import json

import msgspec
import pytest

from rdmadiag.commands.compare import compare as compare_command
from rdmadiag.commands.report import Output, report
from rdmadiag.errors import UserError
from rdmadiag.report import compared
from rdmadiag.report.baseline import exit_status, mark_known
from rdmadiag.report.compare import compare
from rdmadiag.report.json import render
from rdmadiag.report.keyfile import read_key
from rdmadiag.report.load import load
from rdmadiag.report.model import Check
from tests.report.samples import finding_a, finding_b, healthy, several, story_a, story_b

replace = msgspec.structs.replace


def save(path, result):
    path.write_text(render(result), encoding="utf-8")
    return path


def test_nothing_changed():
    result = compare(several(), several())
    assert (result.new, result.gone, result.changed, result.same) == ([], [], [], 6)
    assert compared.render(result) == "No finding is new, gone or changed (6 the same).\n"


def test_before_and_after_a_fix():
    before = story_a()
    after = replace(
        before,
        findings=[],
        checks=[
            Check(c.id, "ruled-out" if c.outcome == "fired" else c.outcome, "")
            for c in before.checks
        ],
        inputs=[replace(before.inputs[0], kernel_release="4.1.12-124.24.3.el6uek.x86_64")],
    )
    result = compare(before, after)
    assert [b.id for b in result.gone] == ["rds-shutdown-stuck-on-cq-error"]
    assert [(c.what, c.before, c.after) for c in result.checks] == [
        ("rds-shutdown-stuck-on-cq-error", "fired", "ruled-out")
    ]
    assert [(c.what, c.after) for c in result.kernels] == [
        ("cell07", "4.1.12-124.24.3.el6uek.x86_64")
    ]
    assert "0 new, 1 gone, 0 changed" in compared.render(result)


def test_changed_findings():
    old = finding_a(verdict="probable", severity="warning")
    new = finding_a()
    new = replace(new, fixes=[replace(new.fixes[0], status="present")])
    result = compare(replace(story_a(), findings=[old]), replace(story_a(), findings=[new]))
    (changed,) = result.changed
    assert [(c.what, c.before, c.after) for c in changed.changes] == [
        ("severity", "warning", "critical"),
        ("verdict", "probable", "confirmed"),
        ("fix ORA-28733324", "missing", "present"),
    ]


def test_two_nodes_with_the_same_fault():
    twin = finding_a(host="cell08", fingerprint="ffff")
    other = replace(
        story_a(),
        findings=[twin],
        inputs=[replace(story_a().inputs[0], host="cell08", kernel_release="x")],
    )
    result = compare(story_a(), other)
    assert (result.new, result.gone) == ([], [])
    assert [(c.what, c.after) for c in result.changed[0].changes] == [("host", "cell08")]
    assert [c.what for c in result.kernels] == ["cell07 and cell08"]


def test_twins_are_paired_once():
    two = [finding_a(fingerprint="1", host="a"), finding_a(fingerprint="2", host="b")]
    result = compare(replace(story_a(), findings=two), replace(story_a(), findings=two[:1]))
    assert ([b.fingerprint for b in result.gone], result.same) == (["2"], 1)


@pytest.mark.parametrize("format", compared.FORMATS)
def test_golden(format, golden):
    text = compared.render(compare(story_a(), several()), format)
    golden(f"compare.{format}", text)


def test_baseline_marks_and_exit_status():
    report_, base = several(), story_a()
    marked = mark_known(report_, base)
    assert [f.known for f in marked.findings].count(True) == 1
    assert exit_status(story_a(), "critical") == 1
    assert exit_status(mark_known(story_a(), base), "info") == 0
    assert exit_status(several(), "never") == 0
    warning = replace(story_a(), findings=[finding_b(1)])
    assert [exit_status(warning, level) for level in ("critical", "warning", "info")] == [0, 1, 1]
    assert exit_status(healthy(), "info") == 0


def test_report_command(tmp_path):
    path = save(tmp_path / "a.json", story_a())
    text, status = report(path, Output(format="text", fail_on="warning"))
    assert text.startswith("CRITICAL")
    assert status == 1
    text, status = report(path, Output(format="text", fail_on="warning", baseline=path))
    assert text.startswith("INCOMPLETE")
    assert status == 0


def test_report_command_redacts_with_a_key(tmp_path):
    path, key = save(tmp_path / "a.json", story_a()), tmp_path / "key"
    first, _ = report(path, Output(format="json", redact=True, save_key=key))
    assert "cell07" not in first
    assert len(read_key(key)) == 32
    assert report(path, Output(format="json", key=key))[0] == first
    assert not (tmp_path / "key2").exists()


def test_report_command_wants_a_folder_of_templates(tmp_path):
    path = save(tmp_path / "a.json", story_a())
    with pytest.raises(UserError, match="no folder of templates"):
        report(path, Output(format="html", templates=tmp_path / "none"))


def test_compare_command(tmp_path):
    a, b = save(tmp_path / "a.json", story_a()), save(tmp_path / "b.json", story_b())
    text, status = compare_command(a, b, "json", fail_on="critical")
    assert len(json.loads(text)["new"]) == 4
    assert status == 1
    assert compare_command(a, a, fail_on="info")[1] == 0
    assert load(a) == story_a()
