"""Findings of one diagnosis on one host are told together; nothing of them is lost."""

import json

import msgspec
import pytest

from rdmadiag.report.groups import Stacks, grouped, labelled, labels_of, span
from rdmadiag.report.model import StepRow
from rdmadiag.report.render import render
from tests.report.samples import finding_a, finding_b, several, story_b


def alike():
    return [
        msgspec.structs.replace(
            finding_b(n),
            severity="warning",
            explanation=f"Of all.\n\nOnly {n}.",
            next_steps=[StepRow("All."), StepRow(f"See {n}.", f"bt {n}")],
        )
        for n in range(4)
    ]


def test_what_all_have_is_shared_and_the_rest_is_not():
    (group,) = grouped(labelled(alike()))
    assert (group.label, len(group)) == ("F1-F4", 4)
    assert group.shared.explanation == "Of all."
    assert [s.text for s in group.shared.next_steps] == ["All."]
    assert group.shared.fixes == finding_b(0).fixes
    assert [m.own.explanation for m in group.members] == [f"Only {n}." for n in range(4)]
    assert [m.own.next_steps for m in group.members] == [
        [StepRow(f"See {n}.", f"bt {n}")] for n in range(4)
    ]
    assert all(m.own.fixes == [] for m in group.members)
    for member in group.members:
        parts = [*group.shared.evidence, *member.own.evidence]
        assert sorted(map(repr, parts)) == sorted(map(repr, member.finding.evidence))


def test_a_single_finding_keeps_all():
    (group,) = grouped(labelled([finding_a()]))
    assert group.members[0].own == finding_a()
    assert (group.shared.evidence, group.shared.explanation) == ([], "")


@pytest.mark.parametrize(
    "change", [{"host": "other"}, {"verdict": "possible"}, {"known": True}, {"id": "x"}]
)
def test_what_differs_in_the_heading_stands_apart(change):
    first, second, *_ = alike()
    groups = grouped(labelled([first, msgspec.structs.replace(second, **change)]))
    assert [g.label for g in groups] == ["F1", "F2"]


@pytest.mark.parametrize("format", ["text", "markdown", "html"])
def test_every_subject_and_command_is_shown_and_common_text_once(format):
    text = render(story_b(), format)
    for finding in story_b().findings:
        assert finding.subject["nqn"] in text.replace("\n            ", " ")
        for step in finding.next_steps:
            assert step.command in text
    shared = story_b().findings[1].next_steps[0].text
    several = sum(f.severity == "warning" for f in story_b().findings)
    assert several > 1
    assert text.count(shared) < len(story_b().findings)


def test_machines_get_every_finding_whole():
    report = several()
    assert len(json.loads(render(report, "json"))["findings"]) == len(report.findings)
    results = json.loads(render(report, "sarif"))["runs"][0]["results"]
    assert sum(r["kind"] == "fail" for r in results) == len(report.findings)
    assert render(report, "junit").count("<failure") >= len(report.findings)


def test_labels():
    assert span(["F1"]) == "F1"
    assert span(["F1", "F2"]) == "F1, F2"
    assert span(["F1", "F2", "F3"]) == "F1-F3"
    assert span(["F1", "F2", "F4"]) == "F1, F2, F4"
    assert labels_of(alike()) == {finding_b(0).id: "F1-F4"}


def test_a_stack_is_shown_once():
    stacks = Stacks()
    assert stacks.shown_in(["a", "b"], "F1") == ""
    assert stacks.shown_in(["a", "b"], "F1") == ""
    assert stacks.shown_in(["a", "b"], "F2") == "F1"
    assert stacks.shown_in(["a"], "F2") == ""
