"""
``rules check``: what the schema cannot see.

A condition that names a field no collector gives is never true, and silence is what it would be found by; so the
names are compared with what the kinds declare.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from rdmadiag.errors import RuleError
from rdmadiag.facts.kinds import KINDS
from rdmadiag.rules.clues import clue_kinds
from rdmadiag.rules.conditions import condition, template, texts_of
from rdmadiag.rules.load import load_diagnoses, rule_files
from rdmadiag.rules.sandbox import fields_in, names_in
from rdmadiag.rules.schema import Clue, Diagnosis

EVERYWHERE = {
    "subject",
    "host",
    "log",
    "gap",
    "fact",
    "in_stack",
    "callee",
    "who",
    "release_at_least",
    "same_subnet",
    "abs",
    "min",
    "max",
}
"""Names that every condition has."""

OF_MATCH = {"seen", "rows", "kinds", "column", "moment", "line", "kind", "host"}
"""What a clue that was found has besides the fields of its fact."""

OF_LOG = {"after", "reboot"}


def check_diagnoses(
    dirs: Iterable[Path], event_fields: Mapping[str, set[str]], fix_ids: Iterable[str]
) -> list[str]:
    """
    Return what is wrong with the diagnosis rules in *dirs*, a sentence each.

    :param event_fields: Fields by event kind.
    """
    dirs = list(dirs)
    faults = _duplicates(dirs)
    try:
        rules = load_diagnoses(dirs)
    except RuleError as error:
        return [*faults, str(error)]
    fields = {kind: {name.partition(".")[0] for name in names} for kind, names in KINDS.items()}
    for kind, names in event_fields.items():
        fields[kind] = fields.get(kind, set()) | names
    known = set(fix_ids)
    for rule in rules.values():
        faults += _check(rule, rules, fields, known)
    return faults


def _duplicates(dirs: Iterable[Path]) -> list[str]:
    faults = []
    for directory in dirs:
        seen: dict[str, Path] = {}
        for path in rule_files([directory], "diagnoses"):
            if path.stem in seen:
                faults.append(f"{path}: {seen[path.stem]} has the same id")
            seen[path.stem] = path
    return faults


def _check(
    rule: Diagnosis, rules: Mapping[str, Diagnosis], fields: Mapping[str, set[str]], fixes: set[str]
) -> Iterator[str]:
    where = f"{rule.id}.yaml"
    if not any(c.anchor for c in rule.clues.values()):
        yield f"{where}: no clue is an anchor, so it can never fire"
    for other in rule.gives_way_to:
        if other != "*" and other not in rules:
            yield f"{where}: gives_way_to: no diagnosis {other}"
    for fix in rule.fixes:
        if fix not in fixes:
            yield f"{where}: fixes: no fix {fix}"
    has = _parts(rule, fields)
    earlier: set[str] = set()
    for name, clue in rule.clues.items():
        yield from _check_clue(f"{where}: clues.{name}", clue, rule, earlier | {name}, fields)
        earlier.add(name)
    for label, source, compiler in texts_of(rule):
        yield from _check_names(f"{where}: {label}", source, earlier, compiler, has)


def _parts(rule: Diagnosis, fields: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return what conditions and texts may take of each name: ``clue.FIELD``."""
    of_clues = {name: _own(clue, fields) | OF_MATCH for name, clue in rule.clues.items()}
    return {**of_clues, "subject": {*rule.key, *rule.subject}, "log": OF_LOG}


def _own(clue: Clue, fields: Mapping[str, set[str]]) -> set[str]:
    return set().union(*(fields.get(k, set()) for k in clue_kinds(clue)))


def _check_clue(
    where: str, clue: Clue, rule: Diagnosis, earlier: set[str], fields: Mapping[str, set[str]]
) -> Iterator[str]:
    kinds = clue_kinds(clue)
    for kind in kinds:
        if kind not in fields:
            yield f"{where}: no rule or collector gives facts of kind {kind}"
    own = _own(clue, fields)
    has = {**_parts(rule, fields), "fact": own}
    # A clue may name any clue of the rule: as an anchor it is looked at before the others are.
    yield from _check_names(f"{where}.when", clue.when, own | set(rule.clues), condition, has)
    for name in clue.join or ():
        if name.partition(".")[0] not in own:
            yield f"{where}: join: {', '.join(kinds)} has no field {name}"
    for name in filter(None, clue.key.values()):
        if name.partition(".")[0] not in own:
            yield f"{where}: key: {', '.join(kinds)} has no field {name}"
    windows = clue.near if isinstance(clue.near, list) else [clue.near] if clue.near else []
    for window in windows:
        if window.of not in earlier:
            yield f"{where}: near: no earlier clue {window.of}"


def _check_names(
    where: str,
    source: str,
    known: set[str],
    compiler: Callable[[str, str], object],
    has: Mapping[str, set[str]],
) -> Iterator[str]:
    if not source:
        return
    if compiler is template and "{" not in source:
        return
    for name in sorted(names_in(source) - known - EVERYWHERE):
        yield f"{where}: nothing is called {name}"
    for name, part in sorted(fields_in(source)):
        if name in has and part not in has[name]:
            yield f"{where}: {name} has no field {part}"
