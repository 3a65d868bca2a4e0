"""``rdmadiag explain ID``: a diagnosis, an event or a fix in words."""

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

from rdmadiag.errors import UserError
from rdmadiag.knowledge.base import load
from rdmadiag.knowledge.explain import (
    Explanation,
    explain_diagnosis,
    explain_event,
    explain_fix,
    render,
)
from rdmadiag.knowledge.kernels import named_kernel
from rdmadiag.knowledge.status import KernelEvidence
from rdmadiag.report.escape import visible
from rdmadiag.rules.load import load_diagnoses, read_yaml, rule_dirs, rule_files
from rdmadiag.rules.schema import EventFile, EventRule

_SUGGESTIONS = 3


def explain(
    name: str, rules: Sequence[Path] = (), kernel: str | None = None, width: int = 80
) -> tuple[str, int]:
    """
    Explain what *name* is.

    :param name: Id of a diagnosis, name of an event, or id, Orabug, CVE or commit of a fix.
    :param rules: Folders of ``--rules``.
    :param kernel: A release, to say whether it has the fix; ``None``: none is asked for.
    :returns: The text, and the exit status.
    :raises UserError: Nothing is called that; the text has what comes near. Or *kernel* is no kernel's name.
    """
    evidence = None if kernel is None else KernelEvidence(named_kernel(kernel))
    told = list(_explanations(name, rules, evidence))
    if not told:
        raise UserError(f"nothing is called {name!r}{_near(name, rules)}")
    return visible("\n".join(render(one, width) for one in told), lines=True), 0


def _explanations(
    name: str, rules: Sequence[Path], evidence: KernelEvidence | None
) -> Iterator[Explanation]:
    dirs = rule_dirs(rules)
    diagnoses = load_diagnoses(dirs)
    known = load(tuple(rules))
    if name in diagnoses:
        yield explain_diagnosis(diagnoses[name], known)
        return
    fixes = known.find(name)
    yield from (explain_fix(fix, known, evidence) for fix in fixes)
    if not fixes:
        events = [rule for rule in _events(dirs) if rule.event == name]
        if events:
            yield explain_event(events)


def _events(dirs: Sequence[Path]) -> Iterator[EventRule]:
    """Yield all event rules from YAML: what is loaded at start-up has no samples."""
    for path in rule_files(dirs, "events"):
        yield from read_yaml(path, EventFile).events


def _near(name: str, rules: Sequence[Path]) -> str:
    dirs = rule_dirs(rules)
    known = {
        *load_diagnoses(dirs),
        *load(tuple(rules)).fixes,
        *(rule.event for rule in _events(dirs)),
    }
    near = difflib.get_close_matches(name, known, _SUGGESTIONS)
    return f"; there is {', '.join(near)}" if near else ""
