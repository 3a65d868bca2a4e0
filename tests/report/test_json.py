"""The JSON report: its published schema, and reading it back as what it is: untrusted."""

import io
import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

import rdmadiag.report
from rdmadiag.errors import UserError
from rdmadiag.report import json as renderer
from rdmadiag.report import load as loader
from rdmadiag.report.load import load
from rdmadiag.report.model import Finding, Report
from tests.report.samples import SAMPLES, story_a

SCHEMA = Path(rdmadiag.report.__file__).parent / "report-1.schema.json"


def test_published_schema_is_that_of_the_model():
    # python -c 'from rdmadiag.report import json; print(json.schema(), end="")' > report-1.schema.json
    assert SCHEMA.read_text(encoding="utf-8") == renderer.schema()


@pytest.mark.parametrize("sample", SAMPLES)
def test_samples_follow_the_schema(sample):
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    validator.validate(json.loads(renderer.render(SAMPLES[sample]())))


def test_schema_says_no():
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    rows = json.loads(renderer.render(story_a()))
    for change in (
        {"schema": 2},
        {"findings": {}},
        {"checks": [{"id": "x", "outcome": "maybe", "reason": ""}]},
        {"timeline": [{"host": "x", "text": "y"}]},
    ):
        assert not validator.is_valid({**rows, **change})
    del rows["tool"]
    assert not validator.is_valid(rows)


def test_names_of_the_design():
    """The names that other programs rely on: DESIGN.md's, as long as the schema's number is 1."""
    rows = json.loads(renderer.render(story_a()))
    assert {
        "schema",
        "tool",
        "started",
        "seconds",
        "inputs",
        "findings",
        "checks",
        "facts",
        "timeline",
    } <= rows.keys()
    assert {
        "path",
        "kind",
        "host",
        "kernel_release",
        "bytes",
        "records",
        "unparsed",
        "types",
        "problems",
    } <= rows["inputs"][0].keys()
    finding = rows["findings"][0]
    assert {
        "id",
        "title",
        "subsystem",
        "severity",
        "verdict",
        "host",
        "subject",
        "first_seen",
        "last_seen",
        "summary",
        "explanation",
        "evidence",
        "fixes",
        "next_steps",
        "fingerprint",
    } <= finding.keys()
    assert {"clue", "kind", "text", "time", "fields", "where"} <= finding["evidence"][0].keys()
    assert {
        "id",
        "orabug",
        "cve",
        "commit",
        "title",
        "url",
        "fixed_in",
        "status",
        "why",
    } <= finding["fixes"][0].keys()
    assert {"time", "host", "text", "finding"} <= rows["timeline"][0].keys()


@pytest.mark.parametrize("sample", SAMPLES)
def test_round_trip(sample, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(renderer.render(SAMPLES[sample]()), encoding="utf-8")
    assert load(path) == SAMPLES[sample]()


def test_older_reports_without_the_later_fields(tmp_path):
    rows = json.loads(renderer.render(story_a()))
    del rows["tables"], rows["redacted"]
    for row in rows["inputs"]:
        del row["start"], row["end"]
    for row in rows["findings"]:
        del row["known"]
    path = tmp_path / "report.json"
    path.write_text(json.dumps(rows))
    assert isinstance(load(path), Report)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "truncated"),
        (b"\xff\xfe", "malformed"),
        (b"[]", "object"),
        (b"{}", "schema"),
        (b'{"schema": 2}', "enum"),
        (b"[" * 100_000, ""),
        (b'{"a": ' * 50_000, ""),
        (b"plain text", "malformed"),
    ],
)
def test_what_is_no_report_is_a_user_error(data, word, tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"x\.json: no rdmadiag report") as caught:
        load(path)
    assert word in str(caught.value)


def test_deep_fields_are_rendered(tmp_path):
    """Fields may nest as deep as the decoder lets them."""
    from rdmadiag.report.render import FORMATS, render

    deep: dict = {"end": 1}
    for _ in range(200):
        deep = {"x": deep}
    finding = story_a().findings[0]
    evidence = msgspec.structs.replace(
        finding.evidence[3], fields={**finding.evidence[3].fields, **deep}
    )
    report = msgspec.structs.replace(
        story_a(),
        findings=[msgspec.structs.replace(finding, evidence=[evidence])],
        tables={"x": [deep]},
    )
    for name in FORMATS:
        assert render(report, name)


def test_unreadable_and_huge(tmp_path, monkeypatch):
    with pytest.raises(UserError, match="No such file"):
        load(tmp_path / "none.json")
    with pytest.raises(UserError, match="directory"):
        load(tmp_path)
    monkeypatch.setattr(loader, "LIMIT", 10)
    path = tmp_path / "x.json"
    path.write_bytes(b"x" * 11)
    with pytest.raises(UserError, match="larger than"):
        load(path)


@pytest.mark.parametrize("too_long", [False, True])
def test_texts_that_take_minutes_to_lay_out_are_refused(tmp_path, too_long):
    rows = json.loads(renderer.render(story_a()))
    path = tmp_path / "x.json"
    text = "x" * (loader.LONGEST + too_long)
    for change in ({"started": text}, {"facts": {text: 1}}, {"tables": {"t": [{"a": [text]}]}}):
        path.write_text(json.dumps(rows | change))
        if too_long:
            with pytest.raises(UserError, match="a text of more than"):
                load(path)
        else:
            load(path)


def test_standard_input(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(renderer.encode(story_a()))

    monkeypatch.setattr("sys.stdin", Stdin())
    assert load(Path("-")) == story_a()


def test_wrong_types_in_fields_do_not_break_a_drawing():
    """``fields`` may hold anything: a saved report is untrusted."""
    from rdmadiag.report.render import FORMATS, render

    finding = story_a().findings[0]
    for value in (None, True, -1, 1e300, "x", [], [1, "a", None], {}, {"nr": "x"}, 10**30):
        evidence = [
            msgspec.structs.replace(
                e, fields=dict.fromkeys(e.fields, value), where=dict.fromkeys(e.where, value)
            )
            for e in [*finding.evidence, *SAMPLES["story-b"]().findings[0].evidence]
        ]
        changed: Finding = msgspec.structs.replace(finding, evidence=evidence)
        report = msgspec.structs.replace(story_a(), findings=[changed])
        for name in FORMATS:
            assert render(report, name)
