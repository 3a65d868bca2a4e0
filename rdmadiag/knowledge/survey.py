"""Which known faults a kernel still has, and which the facts of some inputs look like."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from rdmadiag.facts.model import Fact
from rdmadiag.knowledge.base import Knowledge
from rdmadiag.knowledge.match import Matched, matcher_of
from rdmadiag.knowledge.status import KernelEvidence, status
from rdmadiag.knowledge.verdicts import FixStatus
from rdmadiag.rules.schema import Fix

_SETTLED = 30
"""A sleep of a dump's task that is shorter than so many seconds is ordinary."""

_ENOUGH = 3
"""So many lines that each have other causes make a likely match together, when an entry has no more."""


class Standing(msgspec.Struct, frozen=True):
    """A known fault, and whether a kernel has its fix."""

    fix: Fix
    verdict: FixStatus


class Seen(msgspec.Struct):
    """
    A known fault that inputs look like.

    :ivar fact: Where it fits best; *count*: how many facts look like it.
    """

    host: str
    matched: Matched
    fact: Fact
    verdict: FixStatus
    count: int = 1


def survey_kernel(knowledge: Knowledge, evidence: KernelEvidence) -> list[Standing]:
    """Return all known faults with their standing on a kernel: missing fixes first, then those not known."""
    order = ("missing", "unknown", "present")
    rows = [Standing(fix, status(fix, evidence)) for fix in knowledge.fixes.values()]
    return sorted(rows, key=lambda row: (order.index(row.verdict.status), row.fix.subsystem))


def survey_facts(
    knowledge: Knowledge, facts: Iterable[Fact], kernels: Mapping[str, KernelEvidence]
) -> list[Seen]:
    """
    Return the known faults that *facts* look like, one row for each and host, the best first.

    :param kernels: What is known of the kernel of each host.
    """
    matcher = matcher_of(knowledge)
    seen: dict[tuple[str, str], Seen] = {}
    sides: dict[tuple[str, str], dict[str, Fact]] = defaultdict(dict)
    for fact in facts:
        if not _worth_a_look(fact):
            continue
        evidence = kernels.get(fact.host)
        for matched in matcher.match(fact, evidence):
            _note(seen, fact, matched, evidence)
        for fix, line in matcher.lines(fact.text):
            sides[fact.host, fix.id].setdefault(line.pattern, fact)
    for (host, name), lines in sides.items():
        _together(seen, knowledge.fixes[name], lines, host, kernels.get(host))
    return sorted(seen.values(), key=lambda row: (row.matched.order, row.host))


def _worth_a_look(fact: Fact) -> bool:
    """Tell whether a fact may be a fault: an idle task of a dump is none."""
    if fact.kind != "task":
        return True
    waits = fact.fields.get("wait_seconds")
    long = isinstance(waits, int | float) and waits >= _SETTLED
    return long or fact.fields.get("state") in ("D", None)


def _note(
    seen: dict[tuple[str, str], Seen],
    fact: Fact,
    matched: Matched,
    evidence: KernelEvidence | None,
) -> None:
    key = (fact.host, matched.fix.id)
    row = seen.get(key)
    if row is None:
        verdict = _verdict(matched.fix, evidence)
        seen[key] = Seen(fact.host, matched, fact, verdict)
        return
    row.count += 1
    if matched.order < row.matched.order:
        row.matched, row.fact = matched, fact


def _verdict(fix: Fix, evidence: KernelEvidence | None) -> FixStatus:
    if evidence is None:
        return FixStatus("unknown", "the kernel is not known")
    return status(fix, evidence)


def _together(
    seen: dict[tuple[str, str], Seen],
    fix: Fix,
    lines: Mapping[str, Fact],
    host: str,
    evidence: KernelEvidence | None,
) -> None:
    """Note an entry whose lines say nothing one by one, but were all found, or most of them."""
    wanted = len(fix.signature.log)
    if (host, fix.id) in seen or wanted < 2 or len(lines) < 2:
        return
    verdict = _verdict(fix, evidence)
    whole = len(lines) == wanted >= _ENOUGH and verdict.status != "present"
    reason = f"{len(lines)} of its {wanted} log lines, each with other causes too"
    matched = Matched(fix, len(lines) / wanted, "likely" if whole else "hint", reason)
    seen[host, fix.id] = Seen(host, matched, min(lines.values(), key=_place), verdict, len(lines))


def _place(fact: Fact) -> tuple[str, int]:
    return fact.where.input, fact.where.line or 0
