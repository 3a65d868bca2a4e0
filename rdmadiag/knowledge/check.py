"""``rules check`` for fixes: what the schema cannot see; and the schema itself, for editors."""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rdmadiag.errors import RuleError
from rdmadiag.knowledge.base import read_fixes
from rdmadiag.knowledge.kernels import parse_kernel
from rdmadiag.knowledge.lines import matches
from rdmadiag.knowledge.versions import branch, parse_number
from rdmadiag.lazy import Lazy
from rdmadiag.logs.patterns import PatternError, loosen_blanks, usable
from rdmadiag.rules.schema import Fix, FixedIn, FixFile, Mark, Signature

_TREE = Lazy(
    r"mainline|stable-\d+\.\d+(?:\.\d+)?|UEK[1-8]?|RHEL\d+|SLES(?:15\.\d)?|Debian|Ubuntu|any"
)
_COMMIT = Lazy(r"[0-9a-f]{8,40}")
_CVE = Lazy(r"CVE-\d{4}-\d{4,}")
_ORABUG = Lazy(r"\d{7,9}")
_ID = Lazy(r"[A-Za-z0-9][\w.-]*")
_MARK = Lazy(
    r"(?:no_)?member:struct \w+\.\w+|enumerator:\w+|symbol:(?:\w+:)?\w+|wq_flag:[^:]+:WQ_\w+"
    r"|string:\w+:.+"
)
_FUNCTION = Lazy(r"[A-Za-z_]\w*(?:\|[A-Za-z_]\w*)*")
_NUMBERED = ("mainline", "stable-")


def check_fixes(files: Sequence[Path], known: Collection[str] = ()) -> list[str]:
    """
    Return what is wrong with fix files, a sentence each; an empty list when nothing is.

    :param files: The files of one folder: an id is there only once.
    :param known: Ids of other folders, which entries may name as related and may replace.
    """
    faults: list[str] = []
    entries: list[tuple[Path, Fix]] = []
    for path in files:
        try:
            entries += [(path, fix) for fix in read_fixes(path)]
        except RuleError as error:
            faults.append(str(error))
    ids = [fix.id for _, fix in entries]
    for path, fix in entries:
        faults += [f"{path}: {fix.id}: {fault}" for fault in _faults(fix, {*ids, *known})]
        if ids.count(fix.id) > 1:
            faults.append(f"{path}: {fix.id}: id: is there twice")
    return faults


def fix_schema() -> dict[str, Any]:
    """Return the JSON Schema of a fix file, for editors that check YAML while it is written."""
    schema = msgspec.json.schema(FixFile)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _faults(fix: Fix, ids: set[str]) -> Iterator[str]:
    yield from _names(fix)
    yield from (f"related: there is no {name}" for name in fix.related if name not in ids)
    for field in ("fixed_in", "introduced", "reverted", "never_in"):
        for index, row in enumerate(getattr(fix, field)):
            yield from (f"{field}[{index}]: {fault}" for fault in _row(row))
    yield from _signature(fix.signature)
    yield from (f"marks[{i}]: {fault}" for i, mark in enumerate(fix.marks) for fault in _mark(mark))
    for index, line in enumerate(fix.log_marks):
        yield from (f"log_marks[{index}]: {f}" for f in _pattern(line.pattern, line.samples))


def _names(fix: Fix) -> Iterator[str]:
    for field in ("title", "explanation", "basis", "subsystem"):
        if not getattr(fix, field).strip():
            yield f"{field}: is empty"
    if not fix.sources:
        yield "sources: there is none"
    if not _ID.fullmatch(fix.id):
        yield "id: letters, digits, dots and dashes only"
    commits = [c for c in (fix.commit, fix.uek_commit, *fix.culprits) if c]
    for pattern, values, what in (
        (_ORABUG, fix.orabug, "an Orabug number"),
        (_CVE, fix.cve, "a CVE number"),
        (_COMMIT, commits, "a commit of 8 to 40 hex digits"),
    ):
        yield from (f"{value} is not {what}" for value in values if not pattern.fullmatch(value))
    yield from _id_says(fix)


def _id_says(fix: Fix) -> Iterator[str]:
    """Compare the numbers that an id is made of with those inside the entry."""
    commit = re.fullmatch(r"UP-([0-9a-f]{12})", fix.id)
    if commit and not fix.commit.startswith(commit[1]):
        yield f"id: the commit is {fix.commit or 'missing'}"
    orabug = re.fullmatch(r"ORA-(\d+)(?:-\w+)?", fix.id)
    if orabug and orabug[1] not in fix.orabug:
        yield f"orabug: does not hold {orabug[1]}"


def _row(row: FixedIn) -> Iterator[str]:
    if not _TREE.fullmatch(row.tree):
        yield f"tree: {row.tree} is none that is known"
    if not row.version:
        return
    number = parse_number(row.version)
    if row.tree.startswith(_NUMBERED) and (
        number is None or not re.fullmatch(r"[\d.]+", row.version)
    ):
        yield f"version: {row.version} is no upstream release"
    elif row.tree.startswith("stable-") and number and branch(number) != parse_number(row.tree[7:]):
        yield f"version: {row.version} is not of {row.tree}"
    elif re.fullmatch(r"UEK\d", row.tree):
        kernel = parse_kernel(row.version, distro="uek")
        if kernel.tree != row.tree:
            yield f"version: {row.version} is not of {row.tree}"


def _signature(signature: Signature) -> Iterator[str]:
    for field in ("stack", "must", "without"):
        for name in getattr(signature, field):
            if not _FUNCTION.fullmatch(name):
                yield f"signature.{field}: {name} is no function name, nor several with |"
    if signature.basis == "trace" and not (signature.stack or signature.work):
        yield "signature.basis: says trace, but there is no stack"
    for index, line in enumerate(signature.log):
        where = f"signature.log[{index}]"
        yield from (f"{where}: {fault}" for fault in _pattern(line.pattern, line.samples))


def _mark(mark: Mark) -> Iterator[str]:
    if not _MARK.fullmatch(mark.mark):
        yield f"mark: {mark.mark} is of no kind that is known"
    yield from (
        f"trees: {tree} is none that is known" for tree in mark.trees if not _TREE.fullmatch(tree)
    )
    if mark.since and parse_number(mark.since) is None:
        yield f"since: {mark.since} is no mainline release"


def _pattern(pattern: str, samples: Sequence[str]) -> Iterator[str]:
    try:
        usable(loosen_blanks(pattern))
    except PatternError as error:
        yield f"pattern: {error}"
        return
    if not samples:
        yield "samples: there is none"
    yield from (
        f"samples: does not match: {text}" for text in samples if not matches(pattern, text)
    )
