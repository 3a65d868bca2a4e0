"""What Jinja2 made of the shipped rules when they were compiled is what it makes of them."""

import shutil
from pathlib import Path

import pytest

from rdmadiag.data import data_dir
from rdmadiag.rules import precompiled
from rdmadiag.rules.conditions import condition, template, texts_of
from rdmadiag.rules.generated import GENERATED, Generated, read_generated, write_generated
from rdmadiag.rules.load import load_diagnoses
from rdmadiag.rules.sandbox import make_sandbox

SHIPPED = data_dir("rules")


def test_it_is_what_the_rules_say_today() -> None:
    env = make_sandbox(Generated())
    for rule in load_diagnoses([SHIPPED]).values():
        clues = [(clue.when, condition) for clue in rule.clues.values()]
        for source, compiler in clues + [(s, c) for _, s, c in texts_of(rule)]:
            if compiler is condition and source.strip():
                env.expression(source)
            elif compiler is template and "{" in source:
                env.text(source.strip())
    assert len(env.made.expressions) > 100
    assert env.made == read_generated(SHIPPED), "pip install -e . compiles rules that were changed"


def test_it_says_the_same_as_the_source() -> None:
    made = make_sandbox(Generated())
    source, text = "drop.tos == 4 and not other", "{{ drop.tos }}{% if other %}!{% endif %}"
    made.expression(source)
    made.text(text)
    again = make_sandbox(made.made)
    for names in ({"drop": {"tos": 4}}, {"drop": {"tos": 4}, "other": 1}, {}):
        assert again.expression(source)(names) == made.expression(source)(names)
        assert again.text(text).render(names) == made.text(text).render(names)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the shipped diagnoses, taken for the shipped ones."""
    shutil.copytree(SHIPPED / "diagnoses", tmp_path / "diagnoses")
    monkeypatch.setattr(precompiled, "data_dir", lambda _name: tmp_path)
    monkeypatch.setattr(precompiled, "_digests", {})
    return tmp_path


def test_that_of_other_rules_or_another_jinja2_is_not_used(folder: Path) -> None:
    assert read_generated(folder).texts
    write_generated(folder, Generated("2.11", {"1": "raise SystemExit"}))
    assert read_generated(folder) == Generated()
    write_generated(folder, Generated(expressions={"1": "raise SystemExit"}))
    assert read_generated(folder).expressions
    (folder / "diagnoses" / "mine.yaml").touch()
    precompiled._digests.clear()
    assert read_generated(folder) == Generated()


def test_that_of_a_folder_of_ones_own_is_not_used(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "diagnoses", tmp_path / "diagnoses")
    assert (tmp_path / "diagnoses" / GENERATED).exists()
    assert read_generated(tmp_path) == Generated()
