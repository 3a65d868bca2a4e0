"""
Comparing two reports: before and after a fix, or one node and another.

Findings are the same when their fingerprints are (rule, host and subject). What is left over on both sides is
then paired by rule and subject, so that a node and its twin, or a host under another name, can be compared.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import msgspec

from rdmadiag.report.model import Check, Finding, Report
from rdmadiag.report.order import ordered
from rdmadiag.report.view import subject_text


class Change(msgspec.Struct, frozen=True):
    """A value that differs: what, before, after."""

    what: str
    before: str
    after: str


class Changed(msgspec.Struct, frozen=True):
    """A finding of both reports, and how it differs."""

    id: str
    title: str
    changes: list[Change]


class Brief(msgspec.Struct, frozen=True):
    """A finding that only one report has."""

    id: str
    title: str
    severity: str
    verdict: str
    host: str
    subject: dict[str, Any]
    fingerprint: str


class Comparison(msgspec.Struct, frozen=True):
    """
    What differs between two reports.

    :ivar same: How many findings are alike in both.
    :ivar checks: Checks that ended otherwise.
    :ivar facts: Kinds of facts whose number differs.
    :ivar kernels: Kernel releases that differ.
    """

    new: list[Brief]
    gone: list[Brief]
    changed: list[Changed]
    same: int
    checks: list[Change]
    facts: list[Change]
    kernels: list[Change]


Pair = tuple[Finding, Finding]


def compare(before: Report, after: Report) -> Comparison:
    """Return what differs from *before* to *after*."""
    pairs, gone, new = _pair(before.findings, after.findings)
    changed = [c for c in (_changed(a, b) for a, b in pairs) if c.changes]
    return Comparison(
        new=[_brief(f) for f in ordered(new)],
        gone=[_brief(f) for f in ordered(gone)],
        changed=changed,
        same=len(pairs) - len(changed),
        checks=_checks(before.checks, after.checks),
        facts=_counts(before.facts, after.facts),
        kernels=_kernels(before, after),
    )


def _pair(
    before: list[Finding], after: list[Finding]
) -> tuple[list[Pair], list[Finding], list[Finding]]:
    pairs: list[Pair] = []
    keys: tuple[Callable[[Finding], Hashable], ...] = (
        lambda f: f.fingerprint,
        lambda f: (f.id, subject_text(f.subject)),
    )
    for key in keys:
        waiting: dict[Hashable, list[Finding]] = {}
        for finding in before:
            waiting.setdefault(key(finding), []).append(finding)
        left = []
        for finding in after:
            twins = waiting.get(key(finding))
            if twins:
                pairs.append((twins.pop(0), finding))
            else:
                left.append(finding)
        before, after = [f for twins in waiting.values() for f in twins], left
    return pairs, before, after


def _changed(before: Finding, after: Finding) -> Changed:
    names = ("severity", "verdict", "host", "title", "summary", "first_seen", "last_seen")
    changes = [_change(n, getattr(before, n), getattr(after, n)) for n in names]
    old = {fix.id: fix.status for fix in before.fixes}
    new = {fix.id: fix.status for fix in after.fixes}
    changes += [_change(f"fix {i}", old.get(i), new.get(i)) for i in dict.fromkeys([*old, *new])]
    return Changed(after.id, after.title, [c for c in changes if c.before != c.after])


def _brief(finding: Finding) -> Brief:
    return Brief(
        finding.id,
        finding.title,
        finding.severity,
        finding.verdict,
        finding.host,
        finding.subject,
        finding.fingerprint,
    )


def _checks(before: Iterable[Check], after: Iterable[Check]) -> list[Change]:
    old, new = {c.id: c.outcome for c in before}, {c.id: c.outcome for c in after}
    return _differences(old, new)


def _counts(before: dict[str, int], after: dict[str, int]) -> list[Change]:
    names = before.keys() | after.keys()
    return _differences({n: before.get(n, 0) for n in names}, {n: after.get(n, 0) for n in names})


def _kernels(before: Report, after: Report) -> list[Change]:
    old, new = _kernel_of(before), _kernel_of(after)
    if len(old) == len(new) == 1 and old.keys() != new.keys():
        (host_a, kernel_a), (host_b, kernel_b) = *old.items(), *new.items()
        change = _change(f"{host_a} and {host_b}", kernel_a, kernel_b)
        return [change] if kernel_a != kernel_b else []
    return _differences(old, new)


def _kernel_of(report: Report) -> dict[str, str]:
    return {i.host: i.kernel_release for i in report.inputs if i.kernel_release}


def _differences(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    names = sorted(old.keys() | new.keys())
    return [_change(n, old.get(n), new.get(n)) for n in names if old.get(n) != new.get(n)]


def _change(what: str, before: Any, after: Any) -> Change:
    texts = ["-" if value is None or value == "" else str(value) for value in (before, after)]
    return Change(what, *texts)
