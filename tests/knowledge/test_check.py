"""What is refused in a fix file, and how it is said."""

from pathlib import Path

import jsonschema
import msgspec
import pytest

from rdmadiag.data import data_dir
from rdmadiag.errors import RuleError
from rdmadiag.knowledge.base import fix_files, read_fixes
from rdmadiag.knowledge.check import check_fixes, fix_schema

GOOD = """\
fixes:
  - id: X-1
    title: A title
    subsystem: rds
    explanation: What goes wrong.
    basis: report
    confidence: likely
    sources: [somewhere]
"""


def file(folder: Path, *lines: str, name: str = "x.yaml") -> Path:
    path = folder / name
    keys = tuple(f"    {line.partition(':')[0]}:" for line in lines)
    kept = [row for row in GOOD.splitlines() if not row.startswith(keys)] if lines else [GOOD]
    path.write_text("\n".join([*kept, *(f"    {line}" for line in lines), ""]))
    return path


def test_a_good_file(tmp_path: Path):
    assert check_fixes([file(tmp_path)]) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("colour: red", "unknown field `colour`"),
        ("orabug: [28733324]", "Expected `str`, got `int` - at `$.fixes[0].orabug[0]`"),
        ("fixed_in: [{tree: mainline, version: 6.10}]", "$.fixes[0].fixed_in[0].version"),
        ("fixed_in: [{version: '6.10'}]", "missing required field `tree`"),
        (
            "fixed_in: [{tree: mainline, version: '6.1', bound: maybe}]",
            "$.fixes[0].fixed_in[0].bound",
        ),
        ("marks: [{mark: 'symbol:x', means: perhaps}]", "$.fixes[0].marks[0].means"),
        ("signature: {stack: schedule}", "$.fixes[0].signature.stack"),
        ("log_marks: ['a line']", "$.fixes[0].log_marks[0]"),
    ],
)
def test_the_schema_names_file_key_and_entry(tmp_path: Path, line: str, said: str):
    path = file(tmp_path, line)
    with pytest.raises(RuleError) as error:
        read_fixes(path)
    assert str(error.value).startswith(f"{path}: ")
    assert said in str(error.value)
    assert "X-1" in str(error.value)
    assert check_fixes([path]) == [str(error.value)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fixes: [", "not YAML"),
        ("fixes: 7", "$.fixes"),
        ("- a", "Expected `object`"),
        ("fixes:\n  - title: no id", "missing required field `id`"),
        ("fixes:\n  - id: A\n    confidence: sure", "X"),
    ],
)
def test_files_that_are_no_fix_files(tmp_path: Path, text: str, said: str):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    faults = check_fixes([path])
    assert len(faults) == 1
    assert faults[0].startswith(str(path))
    assert said in faults[0] or said == "X"


def test_a_file_that_is_not_there(tmp_path: Path):
    assert len(check_fixes([tmp_path / "none.yaml"])) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("related: [X-2]", "related: there is no X-2"),
        ("fixed_in: [{tree: linux-6.1.y, version: '6.1.5'}]", "linux-6.1.y is none that is known"),
        ("fixed_in: [{tree: stable-6.1, version: '6.6.5'}]", "6.6.5 is not of stable-6.1"),
        ("fixed_in: [{tree: mainline, version: soon}]", "soon is no upstream release"),
        ("fixed_in: [{tree: mainline, version: '6.1 or later'}]", "is no upstream release"),
        ("fixed_in: [{tree: UEK4, version: '4.14.35-1844.2.1'}]", "is not of UEK4"),
        ("introduced: [{tree: stable-6.1, version: '5.4.5'}]", "introduced[0]: version"),
        ("orabug: ['12']", "12 is not an Orabug number"),
        ("cve: [CVE-24-1]", "CVE-24-1 is not a CVE number"),
        ("commit: abc123", "abc123 is not a commit of 8 to 40 hex digits"),
        ("culprits: [xyz]", "xyz is not a commit"),
        ("marks: [{mark: 'member:rds.i_flags'}]", "is of no kind that is known"),
        ("marks: [{mark: 'symbol:x', since: never}]", "never is no mainline release"),
        ("marks: [{mark: 'symbol:x', trees: [UEK99]}]", "UEK99 is none that is known"),
        ("signature: {stack: ['a+0x10']}", "a+0x10 is no function name"),
        ("signature: {basis: trace}", "says trace, but there is no stack"),
        ("signature: {log: [{pattern: '(', samples: [x]}]}", "signature.log[0]: pattern"),
        ("signature: {log: [{pattern: '(a+)+b', samples: [ab]}]}", "may take for ever"),
        (
            f"signature: {{log: [{{pattern: '{'(' * 900}{')' * 900}', samples: [x]}}]}}",
            "log[0]: pattern",
        ),
        (
            f"signature: {{log: [{{pattern: '{'a' * 9000}', samples: [x]}}]}}",
            "longer than 8000 characters",
        ),
        (
            f"log_marks: [{{pattern: '.*.*.*.*.*.*.*.*.*.*=.*z', samples: [{'a ' * 4000}]}}]",
            "samples: does not match",
        ),
        ("signature: {log: [{pattern: abc, samples: [xyz]}]}", "samples: does not match: xyz"),
        ("signature: {log: [{pattern: abc, samples: []}]}", "samples: there is none"),
        ("log_marks: [{pattern: abc, samples: [xyz]}]", "log_marks[0]: samples: does not match"),
        ("sources: []", "sources: there is none"),
        ("title: ' '", "title: is empty"),
    ],
)
def test_faults_beyond_the_schema(tmp_path: Path, line: str, said: str):
    faults = check_fixes([file(tmp_path, line)])
    assert any(said in fault for fault in faults), faults
    assert all(fault.startswith(f"{tmp_path / 'x.yaml'}: X-1: ") for fault in faults)


def test_ids_that_say_another_number(tmp_path: Path):
    path = tmp_path / "x.yaml"
    path.write_text(GOOD.replace("X-1", "UP-123456789abc") + "    commit: 0123456789ab\n")
    assert any("id: the commit is 0123456789ab" in fault for fault in check_fixes([path]))
    path.write_text(GOOD.replace("X-1", "ORA-12345678"))
    assert any("orabug: does not hold 12345678" in fault for fault in check_fixes([path]))


def test_twice_in_two_files(tmp_path: Path):
    faults = check_fixes([file(tmp_path), file(tmp_path, name="y.yaml")])
    assert [fault for fault in faults if "is there twice" in fault]


def test_related_may_be_of_another_folder(tmp_path: Path):
    assert check_fixes([file(tmp_path, "related: [ORA-1]")], {"ORA-1"}) == []


def test_the_json_schema_accepts_what_is_shipped_and_refuses_what_is_not():
    schema = fix_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for path in fix_files(data_dir("rules") / "fixes"):
        assert list(validator.iter_errors(msgspec.yaml.decode(path.read_bytes()))) == []
    assert list(validator.iter_errors({"fixes": [{"id": "X"}]}))
    wrong = msgspec.yaml.decode(GOOD.encode())
    wrong["fixes"][0]["colour"] = "red"
    assert list(validator.iter_errors(wrong))
