"""Folders of rules that were made to hurt: a sentence in moderate time, nothing run, nothing taken on trust."""

import os
from pathlib import Path

import pytest

from rdmadiag.commands.rules import check_rules, list_rules
from rdmadiag.errors import RuleError
from rdmadiag.logs.compiled import compile_events
from rdmadiag.logs.vocabulary import Vocabulary
from rdmadiag.rules import precompiled
from rdmadiag.rules.load import load_diagnoses, read_yaml, rules_version
from rdmadiag.rules.precompiled import COMPILED
from rdmadiag.rules.schema import EventFile

EVENT = """\
events:
- event: hca.tilted
  subsystem: test
  meaning: It leans.
  pattern: 'tilter: tilted by (?P<angle>\\d+) degrees'
  samples: {match: [{text: 'tilter: tilted by 12 degrees'}], miss: [upright]}
"""
LAUGH = "\n".join(
    f"    z{n}: &z{n} [{', '.join([f'*z{n - 1}' if n else 'ha'] * 9)}]" for n in range(12)
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "events").mkdir()
    return tmp_path / "events" / "mine.yaml"


def refused(file: Path) -> str:
    with pytest.raises(RuleError) as refusal:
        Vocabulary.load([file.parent.parent])
    assert str(file.parent) in str(refusal.value)
    return str(refusal.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (f"  set:\n{LAUGH}\n", "mine.yaml:8: aliases are not for rules"),
        ("  set: {z: &z [*z]}\n", "mine.yaml:7: aliases are not for rules"),
        ("- &r {event: a}\n- *r\n", "mine.yaml:7: aliases are not for rules"),
        ("  set: &s {a: b}\n  values: {a: {<<: *s}}\n", "tag:yaml.org,2002:merge"),
        ("  set: {a: b, a: c}\n", "mine.yaml:7: a is there twice"),
        ("  set: {1: b, 0x1: c}\n", "mine.yaml:7: a key is there twice"),
        ("events: []\n", "mine.yaml:7: events is there twice"),
        ("  set: {a: [b]}\n", "$.events[0].set[...]"),
        ("  set: {a: !!binary aGE=}\n", "$.events[0].set[...]"),
        ("  set: {a: 2018-01-01}\n", "$.events[0].set[...]"),
        (f"  set: {{a: 0x{'f' * 9999}}}\n", "$.events[0].set[...]"),
        ("  set: {a: 2018-13-45}\n", "mine.yaml:7: no timestamp: '2018-13-45'"),
        (f"  set: {{a: {'9' * 5000}}}\n", "mine.yaml:7: no int: '9999"),
        ("  set: {a: !!int x}\n", "mine.yaml:7: no int: 'x'"),
        ("  set: {a: !!float x}\n", "mine.yaml:7: no float: 'x'"),
        ("  set: {a: !!bool maybe}\n", "mine.yaml:7: no bool: 'maybe'"),
        ("  set: {a: !!timestamp x}\n", "mine.yaml:7: no timestamp: 'x'"),
        ("  set: {a: !!python/name:os.system x}\n", "python/name:os.system"),
        ("  set: {a: " + "[" * 99_000 + "\n", "nesting"),
        ("  set: {a: " + "[" * 800 + "]" * 800 + "}\n", "$.events[0].set[...]"),
        ("\0", "not YAML"),
    ],
)
def test_what_yaml_can_do_beyond_plain_values(file: Path, more: str, said: str) -> None:
    file.write_text(EVENT + more)
    assert said in refused(file)


def test_links_are_read_and_folders_looked_into(file: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(EVENT)
    file.mkdir()
    (file / "deep.yaml").symlink_to(tmp_path / "elsewhere")
    assert "hca.tilted" in Vocabulary.load([tmp_path]).event_kinds


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/null", "/no/such"])
def test_what_is_no_file_is_not_read(file: Path, target: str) -> None:
    file.symlink_to(target)
    refused(file)


def test_nobody_is_waited_for(file: Path) -> None:
    os.mkfifo(file)
    assert "is no ordinary file" in refused(file)


def test_folders_that_are_none(file: Path, tmp_path: Path) -> None:
    file.parent.rmdir()
    file.parent.write_text(EVENT)
    refused(file)


def test_too_much(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with file.open("wb") as huge:
        huge.truncate(precompiled.MAX_BYTES + 1)
    assert "larger than 1 MiB" in refused(file)
    with pytest.raises(RuleError, match="larger than 1 MiB"):
        rules_version([file.parent.parent])
    for n in range(4):
        (file.parent / f"{n}.yaml").write_bytes(b"#" * precompiled.MAX_BYTES)
    assert "more than 4 MiB" in refused(file)
    monkeypatch.setattr(precompiled, "MAX_FILES", 3)
    assert "more than 3 rule files" in refused(file)


def test_a_compiled_file_of_a_folder_of_ones_own_says_nothing(file: Path) -> None:
    """It would get round every check: patterns that take for ever, names that are none."""
    file.write_text(EVENT)
    planted = compile_events(file.parent.parent).replace(b"hca.tilted", b"hca.faked!")
    (file.parent / COMPILED).write_bytes(planted)
    vocabulary = Vocabulary.load([file.parent.parent])
    assert vocabulary.event_kinds == {"hca.tilted", "rdma.message"}
    (file.parent / COMPILED).unlink()
    os.mkfifo(file.parent / COMPILED)
    Vocabulary.load([file.parent.parent])


def test_sample_fields_are_plain_values(file: Path) -> None:
    file.write_text(EVENT.replace("degrees'}]", "degrees', fields: {angle: [1]}}]"))
    with pytest.raises(RuleError, match=r"samples.match\[0\].fields"):
        read_yaml(file, EventFile)


def test_a_bad_text_is_told_before_anything_is_read(file: Path) -> None:
    """Not when it is first used: the report on all the rest would be lost."""
    folder = file.parent.parent / "diagnoses"
    folder.mkdir()
    (folder / "mine.yaml").write_text(
        "{id: mine, title: t, subsystem: t, severity: info, clues: {}, verdict: {}, summary: s,"
        " explanation: '{{ s | center(9) }}'}"
    )
    with pytest.raises(RuleError, match=r"mine.yaml: explanation: not a template"):
        load_diagnoses([file.parent.parent])


def test_nothing_of_a_folder_reaches_the_terminal_raw(tmp_path: Path) -> None:
    (tmp_path / "diagnoses").mkdir()
    (tmp_path / "diagnoses" / "mine.yaml").write_text(
        '{id: mine, title: "\\e[2J\\u202e", subsystem: t, severity: info, clues: {}, verdict: {},'
        " summary: s, explanation: e}"
    )
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "\x1b[2J\n.yaml").write_text("events: 7")
    assert (
        "mine                                     info      t          \\x1b[2J\\u202e\n"
        in (list_rules([tmp_path])[0])
    )
    said = check_rules(tmp_path)[0]
    assert "\\x1b[2J\\n.yaml: Expected `array`" in said
    assert "\x1b" not in said
