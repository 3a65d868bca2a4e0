"""``rdmadiag rules``: list, check and test the rules."""

from collections.abc import Sequence
from pathlib import Path

import regex

from rdmadiag.errors import RuleError
from rdmadiag.knowledge.explain import general_title
from rdmadiag.report.escape import visible
from rdmadiag.rules.load import FOLDERS, load_diagnoses, rule_dirs, rule_files


def list_rules(extra: Sequence[Path] = ()) -> tuple[str, int]:
    """Return the diagnoses, one a line."""
    rules = sorted(load_diagnoses(rule_dirs(extra)).values(), key=lambda r: (r.subsystem, r.id))
    rows = (f"{r.id:40} {r.severity:9} {r.subsystem:10} {general_title(r)}" for r in rules)
    return "".join(f"{visible(row)}\n" for row in rows), 0


def check_rules(directory: Path | None) -> tuple[str, int]:
    """
    Check the shipped rules and those of *directory*: schema, names, fields, references.

    :returns: A line a fault, and the exit status: 1 when there is any.
    :raises RuleError: If *directory* is no folder of rules, or has rule files that would not be read.
    """
    from rdmadiag.knowledge.base import load
    from rdmadiag.knowledge.check import check_fixes
    from rdmadiag.rules.check import check_diagnoses

    extra = (directory,) if directory else ()
    dirs = rule_dirs(extra)
    faults: list[str] = []
    try:
        shipped = load(()).fixes.keys()
        for folder in dirs:
            faults += check_fixes(rule_files([folder], "fixes"), shipped)
        faults += check_diagnoses(dirs, event_fields(dirs), load(extra).fixes)
    except RuleError as error:
        faults.append(str(error))
    return _verdict(list(dict.fromkeys(faults)), dirs)


def test_rules(directory: Path | None) -> tuple[str, int]:
    """Try the samples of all event rules; exit status 1 when one of them goes wrong."""
    from rdmadiag.logs.samples import check_samples, count_samples

    dirs = rule_dirs((directory,) if directory else ())
    text, status = _verdict(list(check_samples(dirs)), dirs)
    return f"{count_samples(dirs):,} samples of event rules tried\n{text}", status


def event_fields(dirs: Sequence[Path]) -> dict[str, set[str]]:
    """Return the fields of the facts that logs give, by kind."""
    from rdmadiag.logs.traces import TRACE_FIELDS, TRACE_KINDS
    from rdmadiag.logs.vocabulary import Vocabulary

    fields = {kind: set(TRACE_FIELDS) for kind in TRACE_KINDS}
    for rule in Vocabulary.load(dirs).rules:
        names = {*regex.compile(rule.pattern).groupindex, *rule.types, *rule.set, *rule.difference}
        decoded = {f"{name}_meaning" for name in rule.values}
        fields[rule.event] = fields.get(rule.event, set()) | names | decoded
    return fields


def _verdict(faults: Sequence[str], dirs: Sequence[Path]) -> tuple[str, int]:
    files = sum(len(rule_files(dirs, kind)) for kind in FOLDERS)
    if faults:
        rows = "".join(f"{visible(fault)}\n" for fault in faults)
        return f"{rows}{len(faults)} faults in {files} files\n", 1
    return f"{files} rule files, no fault\n", 0
