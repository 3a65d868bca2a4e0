"""``rules check``: the shipped rules are clean, and each kind of fault is found and named."""

import re
from pathlib import Path

import pytest

from rdmadiag.commands.rules import check_rules, event_fields
from rdmadiag.data import data_dir
from rdmadiag.errors import RuleError
from rdmadiag.knowledge.base import load
from rdmadiag.logs.traces import TRACE_FIELDS, TRACE_KINDS
from rdmadiag.rules.load import load_diagnoses, rule_dirs

GOOD = """\
id: my-rule
title: A rule
subsystem: rds
severity: warning
key: [laddr, faddr]
clues:
  dropped:
    kind: rds.connection_dropped
    anchor: true
    when: reason == 'hb timeout'
  hung:
    kind: kernel.hung_task
    near: {of: dropped, before: 0, after: 60}
    when: in_stack(functions, 'rds_shutdown_worker') and pid != dropped.tos
  back:
    kind: rds.connected
    join: [laddr, faddr]
verdict:
  confirmed: dropped and not back and log.after(dropped) > 60
summary: "{{ subject.laddr }} {{ dropped.reason }} {{ dropped.seen }} {{ dropped.column('tos') }}"
explanation: text
gives_way_to: [rds-shutdown-stuck]
fixes: [ORA-28733324]
"""


def check(folder: Path, text: str, name: str = "my-rule") -> str:
    path = folder / "diagnoses" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return check_rules(folder)[0]


def test_the_shipped_rules_are_clean() -> None:
    said, status = check_rules(None)
    assert (status, "no fault" in said) == (0, True), said


def test_a_good_rule(tmp_path: Path) -> None:
    assert "no fault" in check(tmp_path, GOOD)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind: rds.connected", "kind: rds.conected", "clues.back: no rule or collector gives"),
        ("join: [laddr, faddr]", "join: [laddr, port]", "join: rds.connected has no field port"),
        ("reason == 'hb", "raeson == 'hb", "clues.dropped.when: nothing is called raeson"),
        ("reason == 'hb", "fact.raeson == 'hb", "clues.dropped.when: fact has no field raeson"),
        ("pid != dropped.tos", "pid != dropped.toss", "clues.hung.when: dropped has no field toss"),
        ("{of: dropped,", "{of: droped,", "clues.hung: near: no earlier clue droped"),
        ("{of: dropped,", "{of: back,", "clues.hung: near: no earlier clue back"),
        ("    anchor: true\n", "", "no clue is an anchor, so it can never fire"),
        ("not back", "not came_back", "verdict.confirmed: nothing is called came_back"),
        ("log.after(dropped)", "log.before", "verdict.confirmed: log has no field before"),
        ("log.after", "log.before", "verdict.confirmed: not an expression"),
        ("subject.laddr", "subject.addr", "summary: subject has no field addr"),
        ("{{ dropped.reason }}", "{{ dropped.why }}", "summary: dropped has no field why"),
        ("column('tos')", "column('tosh')", "summary: dropped has no field tosh"),
        ("{{ dropped.seen }}", "{{ dropped.seen }", "my-rule.yaml: summary: not a template"),
        ("not back and", "not back andd", "verdict.confirmed: not an expression"),
        ("[rds-shutdown-stuck]", "[rds-shutdown]", "gives_way_to: no diagnosis rds-shutdown"),
        ("[ORA-28733324]", "[ORA-1]", "fixes: no fix ORA-1"),
        ("id: my-rule", "id: your-rule", "so the file must be called your-rule.yaml"),
        ("severity: warning", "severity: loud", "$.severity"),
        ("severity: warning", "colour: red", "my-rule.yaml: Object"),
        ("explanation: text", "explanation: [", "my-rule.yaml:23: not YAML"),
        ("  back:", "  hung:", "my-rule.yaml:15: hung is there twice"),
    ],
)
def test_a_fault_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    answer = check(tmp_path, GOOD.replace(old, new, 1))
    assert said in answer
    assert "no fault" not in answer


def test_two_files_of_one_id(tmp_path: Path) -> None:
    (tmp_path / "diagnoses" / "other").mkdir(parents=True)
    (tmp_path / "diagnoses" / "other" / "my-rule.yaml").write_text(GOOD)
    assert "my-rule.yaml has the same id" in check(tmp_path, GOOD)


@pytest.mark.parametrize("name", ["bad.yaml", "bad.yml", "event/bad.yaml", "my/rds/bad.yaml"])
def test_a_file_that_is_not_where_rules_are(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(GOOD)
    said = re.escape(f"{tmp_path / name}: is in none of the folders events, diagnoses and fixes")
    with pytest.raises(RuleError, match=said):
        check(tmp_path, GOOD)
    with pytest.raises(RuleError, match=said):
        load((tmp_path,))


def test_a_rule_file_with_another_ending(tmp_path: Path) -> None:
    (tmp_path / "diagnoses").mkdir()
    (tmp_path / "diagnoses" / "bad.yml").write_text(GOOD)
    with pytest.raises(
        RuleError, match=r"diagnoses/bad\.yml: the names of rule files end in \.yaml"
    ):
        load_diagnoses(rule_dirs([tmp_path]))


def test_a_folder_without_rules(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="has none of the folders events, diagnoses and fixes"):
        check_rules(tmp_path)


def test_what_other_programs_keep_beside_rules(tmp_path: Path) -> None:
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    (tmp_path / ".github" / "workflows" / "ci.yaml").touch()
    (tmp_path / ".pre-commit-config.yaml").touch()
    (tmp_path / "README.md").touch()
    assert "no fault" in check(tmp_path, GOOD)


def test_a_broken_event_rule_is_named(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "mine.yaml").write_text("events:\n- event: my.event\n")
    said, status = check_rules(tmp_path)
    assert (status, "mine.yaml" in said) == (1, True)


def test_a_broken_fix_is_named(tmp_path: Path) -> None:
    (tmp_path / "fixes").mkdir()
    (tmp_path / "fixes" / "mine.yaml").write_text("fixes:\n- id: X-1\n")
    said, status = check_rules(tmp_path)
    assert (status, "mine.yaml" in said) == (1, True)


def test_the_vocabulary_says_what_facts_have() -> None:
    fields = event_fields([data_dir("rules")])
    assert {"laddr", "faddr", "tos", "reason", "reason_meaning"} <= fields["rds.connection_dropped"]
    assert {"device", "cqn", "syndrome", "netdev"} <= fields["hca.cq_error"]
    assert all(fields[kind] >= TRACE_FIELDS for kind in TRACE_KINDS)
