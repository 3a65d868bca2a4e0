"""JUnit XML: valid against the schema that Jenkins and pytest use, and counted right."""

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from rdmadiag.report import junit
from tests.report.samples import SAMPLES, incomplete, story_a, story_b
from tests.report.test_hostile import PAYLOADS, hostile


@pytest.fixture(scope="module")
def schema():
    xmlschema = pytest.importorskip("xmlschema", reason="xmlschema is not installed")
    return xmlschema.XMLSchema(str(Path(__file__).parent / "schemas" / "junit-10.xsd"))


@pytest.mark.parametrize("sample", SAMPLES)
def test_is_valid(sample, schema):
    schema.validate(junit.render(SAMPLES[sample]()))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_is_valid_whatever_it_holds(payload, schema):
    schema.validate(junit.render(hostile(payload)))


def suite_of(report):
    return ElementTree.fromstring(junit.render(report)).find("testsuite")


def tags(suite, name):
    return [case.get("name") for case in suite.iter("testcase") if case.find(name) is not None]


@pytest.mark.parametrize("sample", SAMPLES)
def test_counts(sample):
    suite = suite_of(SAMPLES[sample]())
    assert int(suite.get("tests")) == len(list(suite.iter("testcase")))
    for attribute, name in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.get(attribute)) == len(tags(suite, name))


def test_what_passes_and_what_does_not():
    suite = suite_of(story_a())
    assert tags(suite, "failure") == [
        "rds-shutdown-stuck-on-cq-error (cell07 · 198.51.100.43 → 198.51.100.1 · tos 0)"
    ]
    assert tags(suite, "error") == ["ibcm-destroy-stuck"]
    assert tags(suite, "skipped") == ["iwcm-connect-wait", "nvme-rdma-blocked-by-iwcm-connect-wait"]
    assert len(tags(suite, "system-out")) == 5


def test_a_case_for_each_controller():
    assert len(tags(suite_of(story_b()), "failure")) == 4


def test_what_could_not_run_is_no_pass():
    assert len(tags(suite_of(incomplete()), "error")) == 3


def test_known_and_informational_findings_do_not_fail():
    report = story_a()
    known = msgspec.structs.replace(report.findings[0], known=True)
    info = msgspec.structs.replace(report.findings[0], severity="info", id="some-info")
    suite = suite_of(msgspec.structs.replace(report, findings=[known, info]))
    assert tags(suite, "failure") == []
    assert len(tags(suite, "skipped")) == 3
