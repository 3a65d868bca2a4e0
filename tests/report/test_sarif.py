"""SARIF 2.1.0: valid, and saying the same as the report."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from rdmadiag.report import sarif
from tests.report.samples import SAMPLES, incomplete, story_a
from tests.report.test_hostile import PAYLOADS, hostile

SCHEMA = json.loads(
    (Path(__file__).parent / "schemas" / "sarif-2.1.0.json").read_text(encoding="utf-8")
)
VALIDATOR = jsonschema.Draft4Validator(
    SCHEMA, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER
)


@pytest.mark.parametrize("sample", SAMPLES)
def test_is_valid(sample):
    VALIDATOR.validate(json.loads(sarif.render(SAMPLES[sample]())))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_is_valid_whatever_it_holds(payload):
    VALIDATOR.validate(json.loads(sarif.render(hostile(payload))))


def test_a_finding_is_a_result_with_its_evidence_in_order():
    run = json.loads(sarif.render(story_a()))["runs"][0]
    result = run["results"][0]
    assert (result["kind"], result["level"]) == ("fail", "error")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "messages"
    assert place["region"]["startLine"] == 88214
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    times = [row["executionTimeUtc"] for row in flow]
    assert times == sorted(times)
    assert len(flow) == 6
    assert flow[3]["location"]["logicalLocations"][0]["fullyQualifiedName"].startswith(
        "struct rds_ib_connection 0xffff88c1f2dee000"
    )
    assert len(result["stacks"][0]["frames"]) == 10
    assert result["partialFingerprints"] == {"rdmadiag/v1": "8c1f0b7e2a934d55"}


def test_what_could_not_run_is_open_and_told():
    run = json.loads(sarif.render(incomplete()))["runs"][0]
    assert [(r["kind"], r["level"]) for r in run["results"]] == [("open", "none")] * 3
    notes = [n["message"]["text"] for n in run["invocations"][0]["toolExecutionNotifications"]]
    assert sum("could not run" in n for n in notes) == 3
    assert any("cut short" in n for n in notes)


def test_known_findings_are_unchanged():
    report = story_a()
    known = msgspec.structs.replace(report.findings[0], known=True)
    run = json.loads(sarif.render(msgspec.structs.replace(report, findings=[known])))["runs"][0]
    assert run["results"][0]["baselineState"] == "unchanged"


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a b.log", "a%20b.log"),
        ("/var/log/messages", "file:///var/log/messages"),
        ("//evil/share", "file:///evil/share"),
        ("javascript:alert(1)", "javascript%3Aalert%281%29"),
        ("x.tar.xz!var/log/m", "x.tar.xz%21var/log/m"),
        ("é", "%C3%A9"),
    ],
)
def test_paths_become_uris(path, uri):
    assert sarif.uri(path) == uri


def test_every_rule_is_described():
    report = incomplete()
    checks = [msgspec.structs.replace(c, title="What it is about") for c in report.checks]
    run = json.loads(sarif.render(msgspec.structs.replace(report, checks=checks)))["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert len(rules) == 3
    assert {r["shortDescription"]["text"] for r in rules} == {"What it is about"}
    plain = json.loads(sarif.render(report))["runs"][0]["tool"]["driver"]["rules"]
    assert all(rule["fullDescription"]["text"] for rule in plain)
