"""What ``explain`` says."""

from pathlib import Path

import msgspec
import pytest

from rdmadiag.commands.explain import explain
from rdmadiag.commands.rules import list_rules
from rdmadiag.data import data_dir
from rdmadiag.errors import UserError
from rdmadiag.knowledge.base import Knowledge
from rdmadiag.knowledge.explain import explain_diagnosis, explain_fix, general_title, links, render
from rdmadiag.rules.load import load_diagnoses
from rdmadiag.rules.schema import Fix


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines()[1:] if line and not line.startswith(" ")]


def test_a_fix():
    text, status = explain("28733324")
    assert status == 0
    assert text.startswith("ORA-28733324: rds: RDS connection does not reconnect")
    assert headings(text) == [
        "Known as",
        "What it looks like",
        "Why it happens",
        "What to do",
        "Where it is fixed",
        "How it was checked",
        "See also",
        "Links",
    ]
    for words in ("UEK4 4.1.12-124.24.3", "as Orabug 29180514", "BugDisplay?id=28733324"):
        assert words in text
    assert "https://linux.oracle.com/errata/ELSA-2019-4510.html  (erratum)" in text


def test_a_fix_on_a_kernel():
    text, _ = explain("ORA-28733324", kernel="4.1.12-124.18.6.el6uek.x86_64")
    assert "On 4.1.12-124.18.6.el6uek.x86_64\n  missing: fixed in 4.1.12-124.24.3" in text
    assert "\nWhat to do\n" in text


def test_a_kernel_with_the_fix_needs_nothing():
    text, _ = explain("ORA-28733324", kernel="4.1.12-124.24.3.el6uek")
    assert "On 4.1.12-124.24.3.el6uek\n  present: fixed in 4.1.12-124.24.3" in text
    assert "What to do" not in text


@pytest.mark.parametrize("kernel", ["blah", ""])
@pytest.mark.parametrize("name", ["28733324", "rds-shutdown-stuck"])
def test_no_kernel(name: str, kernel: str):
    with pytest.raises(UserError, match="no kernel release"):
        explain(name, kernel=kernel)


@pytest.mark.parametrize("name", ["CVE-2024-47696", "86dfdd828890", "UP-86dfdd828890"])
def test_a_fix_by_any_number(name: str):
    text, _ = explain(name)
    assert "Since when\n  stable-4.19 4.19.320" in text
    assert "https://git.kernel.org/linus/86dfdd828890  (commit)" in text
    assert "https://www.cve.org/CVERecord?id=CVE-2024-47696" in text


def test_several_entries_of_one_number():
    text, _ = explain("29391909")
    assert text.count("\nLinks\n") == 2


def test_bounds_are_told():
    assert "UEK4 4.1.12-124.24.5 or earlier" in explain("29138813")[0]
    assert "UEK7 5.15.0-4.70.5 or later" in explain("34684321")[0]
    assert "taken out again in UEK5 4.14.35-1902.303.5.3" in explain("31463014")[0]
    assert "only the title" in explain("29004503")[0].lower()


def test_every_fix_can_be_explained(known: Knowledge):
    for fix in known.fixes.values():
        told = explain_fix(fix, known)
        text = render(told, 100)
        assert fix.title in text
        assert text.endswith("\n")
        assert all(
            address.startswith("https://") or "http://" in address for _, address in told.links
        )
        assert len({address for _, address in told.links}) == len(told.links)


def test_every_diagnosis_can_be_explained(known: Knowledge):
    rules = load_diagnoses([data_dir("rules")])
    assert rules
    for rule in rules.values():
        text = render(explain_diagnosis(rule, known))
        assert "{" not in text.replace("{[", "")
        assert "Why it happens" in headings(text)


def test_a_diagnosis_in_general():
    text, status = explain("rds-shutdown-stuck-on-cq-error")
    assert status == 0
    assert "Known fixes\n    ORA-28733324" in text
    assert "Here: state" not in text  # what is about one case is left out
    assert "bt <connection.shutdown_task>" in text


def test_an_event():
    text, status = explain("hca.cq_error")
    assert status == 0
    assert "CQ access violation on CQN" in text
    assert "Fields: cqn" in text


def test_nothing_of_that_name():
    with pytest.raises(
        UserError, match=r"nothing is called 'rds-shutdown-stuk'; there is rds-shutdown-stuck"
    ):
        explain("rds-shutdown-stuk")
    with pytest.raises(UserError, match="nothing is called 'zzzzzz'"):
        explain("zzzzzz")


def test_a_private_entry(tmp_path: Path):
    (tmp_path / "fixes").mkdir()
    entry = {
        "id": "OWN-1", "title": "Ours", "subsystem": "rds", "explanation": "Because.", "basis": "our own trial",
        "confidence": "hint", "sources": ["ticket 7"], "url": "https://wiki.example/7",
    }  # fmt: skip
    (tmp_path / "fixes" / "own.yaml").write_bytes(msgspec.yaml.encode({"fixes": [entry]}))
    text, _ = explain("OWN-1", [tmp_path])
    assert "Our own trial (hint: neither numbers nor signature are certain)." in text
    assert "https://wiki.example/7  (page)" in text


def test_width():
    text, _ = explain("ORA-28733324", width=40)
    wrapped = [
        line for line in text.splitlines() if line.startswith("  ") and not line.startswith("    ")
    ]
    assert max(len(line) for line in wrapped if "http" not in line) <= 40


def test_links_without_any_number():
    fix = Fix("X", "t", "rds", "e", "report", "likely", ["a book", "https://example.org/errata/1"])
    assert links(fix) == [("erratum", "https://example.org/errata/1")]


@pytest.mark.parametrize("name", load_diagnoses([data_dir("rules")]))
def test_no_template_is_left_in_a_diagnosis(name: str):
    text, _ = explain(name)
    assert not any(mark in text for mark in ("{{", "{%", "%}", "}}", "<...>"))
    assert "Why it happens" in text


def test_what_depends_on_a_case_is_left_out_of_what_is_general():
    text, _ = explain("rds-shutdown-stuck-on-cq-error")
    why = text.partition("Why it happens")[2].partition("What to do")[0]
    assert "posts no completion" in " ".join(why.split())
    assert "<" not in why
    assert "[bt <connection.shutdown_task>]" in " ".join(text.split())


def test_a_title_of_several_is_the_one_of_all_other_cases():
    rule = load_diagnoses([data_dir("rules")])["hca-fatal-error"]
    assert general_title(rule) == "The HCA or its driver reports a fatal error"
    listed, _ = list_rules()
    assert f" {general_title(rule)}\n" in listed
    assert "{" not in listed
