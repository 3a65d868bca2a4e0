"""
Running diagnosis rules over facts.

Each rule ends as fired, ruled-out, not-applicable or could-not-run, with its reason. Work is linear in the
facts: candidates come from one pass over a rule's anchor kinds, every other clue from an index.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Literal, get_args

import msgspec

from rdmadiag.facts.model import Coverage
from rdmadiag.facts.store import FactStore
from rdmadiag.rules.candidates import candidates
from rdmadiag.rules.clues import Candidate, Match, clue_kinds, evidence_of, find
from rdmadiag.rules.conditions import condition, template
from rdmadiag.rules.leftover import is_explained, tasks_named
from rdmadiag.rules.schema import Diagnosis, Verdict

Outcome = Literal["fired", "ruled-out", "not-applicable", "could-not-run"]
SPAN = "log.span"
"""Fact that a log gives for each host: from when to when it speaks of it."""
MORE = "more may be there"
"""What the reason of a rule that fired says when it could not look at everything."""
SHOWN_REASONS = 3
"""How many candidates a ruled-out reason names before it counts the rest."""


class Fired(msgspec.Struct):
    """A candidate that a rule found to be true."""

    rule: Diagnosis
    verdict: Verdict
    candidate: Candidate
    matches: dict[str, Match | None]
    names: dict[str, Any]


class Result(msgspec.Struct):
    """
    How a rule ended.

    :ivar looked: Whether there was something to look at: a dump that has nothing of what the rule is about was looked at,
        one without its module was not, nor is a log in which it is not mentioned.
    """

    rule: Diagnosis
    outcome: Outcome
    reason: str
    fired: list[Fired] = []
    looked: bool = True


class HostLog:
    """How far what was read of a host reaches; conditions see it as ``log``."""

    def __init__(self, store: FactStore, host: str) -> None:
        inputs = store.collected.inputs
        ends = [i.end for i in inputs if i.host == host and i.end is not None]
        ends += [f.time for f in store.of((SPAN,)) if f.host == host and f.time is not None]
        self._ends = ends
        self._boots = store.boots(host)

    def after(self, match: Match | None) -> float:
        """Return for how many seconds after *match*, in the same boot, there is still something said; 0 when unknown."""
        moment = match.moment if match is not None else None
        if moment is None:
            return 0.0
        gaps = [end.since(moment) for end in self._ends if end.boot == moment.boot]
        if moment.boot in self._boots:
            gaps.append(self._boots[moment.boot][1].since(moment))
        gaps.append(self.reboot(match))
        return max((g for g in gaps if g is not None), default=0.0)

    def reboot(self, match: Match | None) -> float | None:
        """Return after how many seconds the next boot is seen; ``None`` when none is, or it cannot be told when."""
        moment = match.moment if match is not None else None
        later = [b for b in self._boots if moment is not None and b > moment.boot]
        return self._boots[min(later)][0].since(moment) if moment and later else None


def seconds_between(first: Match | None, last: Match | None) -> float | None:
    """Return the seconds from one clue to another; conditions see it as ``gap``."""
    if first is None or last is None or first.moment is None or last.moment is None:
        return None
    return last.moment.since(first.moment)


def run_rules(rules: Mapping[str, Diagnosis], store: FactStore) -> list[Result]:
    """Run all rules; a finding that a more telling one explains is ruled out by it."""
    results = [_run(rule, store) for rule in rules.values()]
    for result in sorted(results, key=_last_to_give_way):
        _give_way(result, results)
    for result in results:
        if result.rule.leftover and result.fired:
            _leave_out(result, results, store)
    return results


def _run(rule: Diagnosis, store: FactStore) -> Result:
    fired: list[Fired] = []
    reasons: list[str] = []
    for _, alike in groupby(candidates(rule, store), key=lambda c: (c.host, *c.key.values())):
        best, reason = _try(rule, alike, store, explain=len(reasons) < SHOWN_REASONS)
        if best:
            fired.append(best)
        else:
            reasons.append(reason)
    if fired:
        lost = _coverage_lost(rule, reasons, store)
        more = f"; {MORE}: {_lost(lost, store)}" if lost else ""
        return Result(rule, "fired", f"{len(fired)} found{more}", fired)
    return _not_fired(rule, reasons, store)


def _try(
    rule: Diagnosis, alike: Iterable[Candidate], store: FactStore, *, explain: bool
) -> tuple[Fired | None, str]:
    """Try the candidates of one subject; return the strongest that fired (the last of those), or why none did."""
    strength = get_args(Verdict)
    best: Fired | None = None
    reason = ""
    for candidate in alike:
        matches, names = _look(rule, candidate, store)
        verdict = _verdict(rule, names)
        if verdict is None:
            reason = _why_not(rule, candidate, names) if explain and not best else ""
        elif best is None or strength.index(verdict) <= strength.index(best.verdict):
            best = Fired(rule, verdict, candidate, matches, names)
    return best, reason


def _look(
    rule: Diagnosis, candidate: Candidate, store: FactStore
) -> tuple[dict[str, Match | None], dict[str, Any]]:
    """Look for all clues of a candidate; return them, and the names that conditions and texts may use."""
    matches: dict[str, Match | None] = {}
    names: dict[str, Any] = {
        "subject": candidate.key,
        "host": candidate.host,
        "log": HostLog(store, candidate.host),
        "gap": seconds_between,
    }
    for name, clue in rule.clues.items():
        names[name] = matches[name] = find(name, clue, candidate, names, store)
    return matches, names


def _verdict(rule: Diagnosis, names: Mapping[str, Any]) -> Verdict | None:
    if any(condition(r.when)(names) for r in rule.ruled_out):
        return None
    for verdict in get_args(Verdict):
        source = getattr(rule.verdict, verdict)
        if source and condition(source)(names):
            return verdict  # type: ignore[no-any-return]
    return None


def _why_not(rule: Diagnosis, candidate: Candidate, names: Mapping[str, Any]) -> str:
    """Say why a candidate is none: the rule's own words, or the clues that were not found."""
    told = (f"{k} {v}" for k, v in candidate.key.items() if v is not None)
    subject = ", ".join(told) or candidate.host
    label = f"{subject}: " if subject else ""
    for row in rule.ruled_out:
        if condition(row.when)(names):
            return f"{label}{template(row.because)(names)}"
    missing = [c.note or n.replace("_", " ") for n, c in rule.clues.items() if names.get(n) is None]
    return (
        f"{label}not found: {', '.join(missing[:4])}"
        if missing
        else f"{label}the clues found do not make a verdict"
    )


def _not_fired(rule: Diagnosis, reasons: list[str], store: FactStore) -> Result:
    """Tell ruled out, not applicable and could not run apart for a rule that did not fire."""
    lost = _coverage_lost(rule, reasons, store)
    if lost:
        return Result(rule, "could-not-run", _lost(lost, store), looked=False)
    shown = [r for r in reasons if r]
    if reasons:
        more = f" (and {len(reasons) - len(shown)} more)" if len(reasons) > len(shown) else ""
        return Result(rule, "ruled-out", "; ".join(shown) + more)
    anchors = _anchors(rule)
    seen = store.of(anchors)
    if seen:
        kinds = ", ".join(sorted({f.kind for f in seen}))
        why = f"{len(seen)} looked at ({kinds}), none in the state this is about"
        return Result(rule, "ruled-out", why)
    rows = [c for c in store.collected.coverage if c.status == "absent" and c.kind in anchors]
    absent = sorted({c.reason for c in rows if c.reason})
    why = "; ".join(absent) or f"nothing of it in the inputs ({', '.join(sorted(anchors))})"
    dumps = any(i.kind in ("vmcore", "live") for i in store.collected.inputs)
    return Result(rule, "not-applicable", why, looked=dumps and not absent)


def _anchors(rule: Diagnosis) -> set[str]:
    return {k for c in rule.clues.values() if c.anchor for k in clue_kinds(c)} | set(rule.needs)


def _coverage_lost(rule: Diagnosis, reasons: list[str], store: FactStore) -> list[Coverage]:
    """Return what a rule needed and could not be read: what candidates come from, and if some were none, all it looks at."""
    kinds = {k for c in rule.clues.values() for k in clue_kinds(c)} if reasons else set()
    kinds |= _anchors(rule)
    rows = (c for c in store.collected.coverage if c.kind in kinds)
    return [c for c in rows if c.status in ("failed", "partial")]


def _lost(rows: list[Coverage], store: FactStore) -> str:
    unread = {i.path for i in store.collected.inputs if i.kind == "unknown"}
    texts = dict.fromkeys(f"{c.input if c.input in unread else c.kind}: {c.reason}" for c in rows)
    return "; ".join(list(texts)[:SHOWN_REASONS]) + (
        f" (and {len(texts) - SHOWN_REASONS} more)" if len(texts) > SHOWN_REASONS else ""
    )


def _last_to_give_way(result: Result) -> tuple[bool, bool]:
    """Order rules so that those that give way come after those that they give way to."""
    return "*" in result.rule.gives_way_to, bool(result.rule.gives_way_to)


def _give_way(result: Result, results: Iterable[Result]) -> None:
    """Take back the findings of *result* that rest on nothing but facts which explain another finding."""
    names = result.rule.gives_way_to
    if not names or not result.fired:
        return
    claims = {
        id(fact): other.rule.id
        for other in results
        if other.rule.id in names or ("*" in names and "*" not in other.rule.gives_way_to)
        for fired in other.fired
        for _, _, match in evidence_of(fired.matches, other.rule.clues)
        for fact in match.facts
    }
    better: set[str] = set()
    kept = []
    for fired in result.fired:
        rests_on = {
            id(fact)
            for name, match in fired.matches.items()
            if match is not None and fired.rule.clues[name].anchor
            for fact in match.facts
        }
        if rests_on and rests_on <= claims.keys():
            better.update(claims[i] for i in rests_on)
        else:
            kept.append(fired)
    result.fired = kept
    if not kept:
        result.outcome, result.reason = "ruled-out", "explained by " + ", ".join(sorted(better))


def _leave_out(result: Result, results: Iterable[Result], store: FactStore) -> None:
    """Try the findings of *result* again without the tasks that other findings explain."""
    explained = tasks_named(
        fact
        for other in results
        if "*" not in other.rule.gives_way_to and other is not result
        for fired in other.fired
        for _, _, match in evidence_of(fired.matches, other.rule.clues)
        for fact in match.facts
    )
    whole, result.fired = result.fired, []
    for fired in whole:
        candidate = fired.candidate
        anchors = {
            name: [fact for fact in facts if not is_explained(fact, explained)]
            for name, facts in candidate.anchors.items()
        }
        rest = Candidate(candidate.host, candidate.key, anchors)
        if best := _try(result.rule, [rest], store, explain=False)[0]:
            result.fired.append(best)
    if not result.fired:
        result.outcome, result.reason = "ruled-out", "other findings explain all of them"
