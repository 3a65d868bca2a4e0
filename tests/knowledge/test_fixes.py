"""The shipped entries: complete, well formed, found by every number, and loaded fast."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest

from rdmadiag.data import data_dir
from rdmadiag.errors import RuleError
from rdmadiag.knowledge.base import (
    Knowledge,
    compile_fixes,
    fix_files,
    load,
    read_fixes,
    read_folder,
)
from rdmadiag.knowledge.check import check_fixes
from rdmadiag.knowledge.lines import certain, matches
from rdmadiag.rules.precompiled import COMPILED
from rdmadiag.rules.schema import Fix

FOLDER = data_dir("rules") / "fixes"


def all_fixes() -> list[Fix]:
    return [fix for path in fix_files(FOLDER) for fix in read_fixes(path)]


def test_no_fault_in_any_file():
    assert check_fixes(fix_files(FOLDER)) == []


def test_ids_are_unique_and_none_is_lost(known: Knowledge):
    entries = all_fixes()
    assert len({fix.id for fix in entries}) == len(entries) == len(known.fixes)
    assert len(entries) >= 239
    assert sum(fix.id.startswith("ORA-") for fix in entries) == 66
    assert sum(fix.basis == "cve-record" for fix in entries) >= 112


@pytest.mark.parametrize("fix", all_fixes(), ids=lambda fix: fix.id)
def test_an_entry_says_what_why_and_from_where(fix: Fix):
    assert len(fix.explanation) > 15
    assert not re.search(r"\b(above|below|layouts\.md)\b", fix.explanation.replace("below iw", ""))
    assert all(source.strip() for source in fix.sources)
    assert fix.confidence in ("verified", "likely", "hint")


@pytest.mark.parametrize("fix", all_fixes(), ids=lambda fix: fix.id)
def test_every_pattern_matches_a_line_and_not_just_any(fix: Fix):
    lines = [*fix.signature.log, *fix.log_marks]
    for line in lines:
        assert line.samples
        for sample in line.samples:
            assert matches(line.pattern, sample)
            assert matches(line.pattern, f"kernel: {sample} ")
            assert matches(line.pattern, sample.replace(" ", "  "))
        assert not matches(
            line.pattern, "mlx5_core 0000:08:00.0: Port module event: module 0, Cable plugged"
        )
        assert len(certain(line.pattern)) >= 5


@pytest.mark.parametrize(
    ("key", "ids"),
    [
        ("28733324", ["ORA-28733324"]),
        ("Orabug 28733324", ["ORA-28733324"]),
        ("orabug: 29180514", ["ORA-29180514"]),
        ("ORA-28733324", ["ORA-28733324"]),
        ("29200902", ["ORA-28425811"]),  # the same change in another tree
        ("29391909", ["ORA-29391909-mlx4", "ORA-29391909"]),
        ("CVE-2024-42285", ["UP-aee2424246f9"]),
        ("cve-2024-42285", ["UP-aee2424246f9"]),
        ("aee2424246f9f1dadc33faa78990c1e2eb7826e4", ["UP-aee2424246f9"]),
        ("6883b680", ["UP-6883b680e703"]),
        ("59c68ac31e15", ["UP-59c68ac31e15"]),
        ("81091d7696ae", ["UP-ead54ced6321"]),  # no fix: what brought the fault
        ("UP-96d9cbe2f2ff", ["UP-T-rdma-cm-add-timeout-to-cm-destroy-id-wait"]),
        (
            "96d9cbe2f2ff7abde021bac75eafaceabe9a51fa",
            ["UP-T-rdma-cm-add-timeout-to-cm-destroy-id-wait"],
        ),
        ("5acb959ad599", ["ORA-22347191"]),
        ("59c68ac", []),  # too short for a commit
        ("99999999", []),
        ("", []),
    ],
)
def test_find(known: Knowledge, key: str, ids: list[str]):
    assert sorted(fix.id for fix in known.find(key)) == sorted(ids)


def entry(name: str = "PRIVATE-1", **more: object) -> dict[str, object]:
    return {
        "id": name,
        "title": "A private fault",
        "subsystem": "rds",
        "explanation": "Something of our own.",
        "basis": "report",
        "confidence": "likely",
        "sources": ["ticket 7"],
        **more,
    }


def write(folder: Path, *entries: dict[str, object], name: str = "own.yaml") -> Path:
    path = folder / "fixes" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.yaml.encode({"fixes": list(entries)}))
    return path


def test_private_entries_are_added_and_override_by_id(tmp_path: Path, known: Knowledge):
    write(tmp_path, entry(), entry("ORA-28733324", title="Our own words", orabug=["28733324"]))
    mine = load((tmp_path,))
    assert len(mine.fixes) == len(known.fixes) + 1
    assert mine.fixes["ORA-28733324"].title == "Our own words"
    assert mine.fixes["PRIVATE-1"].title == "A private fault"
    assert known.fixes["ORA-28733324"].title != "Our own words"


def test_a_later_folder_wins(tmp_path: Path):
    write(tmp_path / "a", entry(title="first"))
    write(tmp_path / "b", entry(title="second"))
    assert load((tmp_path / "a", tmp_path / "b")).fixes["PRIVATE-1"].title == "second"


def test_the_same_id_twice_in_a_folder_is_refused(tmp_path: Path):
    write(tmp_path, entry(), name="a.yaml")
    write(tmp_path, entry(), name="b.yaml")
    with pytest.raises(RuleError, match=r"b\.yaml: PRIVATE-1: id: is there twice"):
        load((tmp_path,))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"related": ["NONE-1"]}, "related: there is no NONE-1"),
        ({"signature": {"log": [{"pattern": "(", "samples": ["x"]}]}}, "signature.log[0]: pattern"),
        ({"signature": {"log": [{"pattern": "(a*)*b", "samples": ["b"]}]}}, "may take for ever"),
        ({"colour": "red"}, "unknown field `colour`"),
    ],
)
def test_a_private_folder_is_checked_when_it_is_read(
    tmp_path: Path, more: dict[str, object], said: str
):
    write(tmp_path, entry(**more))
    with pytest.raises(RuleError) as error:
        load((tmp_path,))
    assert said in str(error.value)


def test_the_example_for_contributors_is_right(tmp_path: Path):
    text = (FOLDER.parent.parent / "CONTRIBUTING.md").read_text()
    block = re.search(r"^    fixes:\n(?:    .*\n|\n)+?(?=\n- )", text, re.MULTILINE)
    assert block
    path = tmp_path / "example.yaml"
    path.write_text(textwrap.dedent(block[0]))
    assert check_fixes([path]) == []


def test_compiled_is_used_while_it_is_of_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = write(tmp_path, entry())
    folder = tmp_path / "fixes"
    compiled = compile_fixes(folder).replace(b"A private", b"C private")
    (folder / COMPILED).write_bytes(compiled)
    size = path.stat().st_size
    monkeypatch.setattr("rdmadiag.rules.precompiled.data_dir", lambda _name: tmp_path)
    assert read_folder(folder)[0][1].title == "C private fault"
    # Same size, other words: what was compiled is stale, whatever the clock says.
    path.write_bytes(path.read_bytes().replace(b"A private", b"B private"))
    assert path.stat().st_size == size
    monkeypatch.setattr("rdmadiag.rules.precompiled._digests", {})
    assert read_folder(folder)[0][1].title == "B private fault"


def test_compiled_needs_no_yaml(tmp_path: Path):
    """With the compiled copy in place the YAML reader is not even imported."""
    folder = tmp_path / "rules" / "fixes"
    folder.mkdir(parents=True)
    for path in fix_files(FOLDER):
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / COMPILED).write_bytes(compile_fixes(folder))
    code = (
        "import sys; from pathlib import Path; import rdmadiag.knowledge.base as b; import rdmadiag.rules.load as l, rdmadiag.rules.precompiled as p;"
        f"p.data_dir = l.data_dir = lambda name: Path({str(tmp_path)!r}) / name;"
        "assert len(b.load().fixes) >= 239; assert 'yaml' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_is_read_before_something_asks():
    code = (
        "import rdmadiag.knowledge.match, rdmadiag.knowledge.survey, rdmadiag.knowledge.explain;"
        "import sys; from rdmadiag.knowledge.base import load;"
        "assert load.cache_info().currsize == 0; assert 'yaml' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_commit_is_shortened_to_ambiguity(known: Knowledge):
    commits = [fix.commit for fix in known.fixes.values() if fix.commit]
    assert len({commit[:8] for commit in commits}) == len(commits)
