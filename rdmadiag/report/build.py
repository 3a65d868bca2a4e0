"""From facts and the rules' results to the report."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from rdmadiag import __version__
from rdmadiag.facts.model import Fact, InputInfo, Moment, Where
from rdmadiag.facts.store import FactStore, sort_key
from rdmadiag.logs.alike import shape
from rdmadiag.report.model import (
    Check,
    Evidence,
    Finding,
    FixRow,
    InputRow,
    ProblemRow,
    Report,
    StepRow,
    TimelineRow,
    Tool,
)
from rdmadiag.report.order import ordered
from rdmadiag.report.times import time_of
from rdmadiag.rules.clues import Match, evidence_of
from rdmadiag.rules.conditions import condition, template
from rdmadiag.rules.engine import Fired, Result
from rdmadiag.rules.schema import Clue, Severity

EVIDENCE_PER_CLUE = 12
"""How many facts of one clue are shown that differ in more than their times; the note of the last says how many are not."""
_DAY_AND_HOUR = re.compile(r"(?<=\d)T(?=\d\d:)")
"""What keeps the day and the hour of an ISO 8601 time from being two numbers."""
TIMELINE_ROWS = 20_000
TABLE_ROWS = 20_000

FixRows = Callable[[Fired], list[FixRow]]


def build_report(
    store: FactStore,
    results: Iterable[Result],
    fixes: FixRows,
    started: str,
    seconds: float,
    rules_version: str,
) -> Report:
    """
    Put the report together.

    :param fixes: Gives the known fixes of a finding, with their status on its kernel.
    """
    results = list(results)
    findings = [_finding(f, fixes(f)) for r in results for f in r.fired]
    findings.sort(key=lambda f: (f.id, f.host, str(f.subject)))
    return Report(
        schema=1,
        tool=Tool("rdmadiag", __version__, rules_version),
        started=started,
        seconds=round(seconds, 3),
        inputs=[_input(i) for i in store.collected.inputs],
        findings=ordered(findings),
        checks=sorted(map(_check, results), key=lambda c: c.id),
        facts=store.count(),
        timeline=_timeline(store.collected.facts, findings),
        tables=_tables(store.collected.facts),
    )


def _check(result: Result) -> Check:
    title = result.rule.title
    title = "" if "{" in title else title
    return Check(result.rule.id, result.outcome, result.reason, title, result.looked)


def _input(info: InputInfo) -> InputRow:
    return InputRow(
        path=info.path,
        kind=info.kind,
        host=info.host,
        kernel_release=info.kernel_release,
        bytes=info.bytes,
        records=info.records,
        unparsed=info.unparsed,
        types=info.types,
        problems=[ProblemRow(p.what, p.where, p.remark) for p in info.problems],
        start=time_of(info.start),
        end=time_of(info.end),
        since=time_of(info.since),
        until=time_of(info.until),
    )


def _finding(fired: Fired, fixes: list[FixRow]) -> Finding:
    rule, names = fired.rule, fired.names
    evidence, times = _evidence(fired.matches, rule.clues)
    subject = _subject(fired)
    return Finding(
        id=rule.id,
        title=template(rule.title)(names),
        subsystem=rule.subsystem,
        severity=_severity(fired),
        verdict=fired.verdict,
        host=fired.candidate.host,
        subject=subject,
        first_seen=time_of(times[0]) if times else None,
        last_seen=time_of(times[-1]) if times else None,
        summary=_flow(template(rule.summary, rule.id)(names)),
        explanation=_paragraphs(template(rule.explanation, rule.id)(names)),
        evidence=evidence,
        fixes=fixes,
        next_steps=[
            _step(s.text, s.command, names) for s in rule.next_steps if condition(s.when)(names)
        ],
        fingerprint=fingerprint(rule.id, fired.candidate.host, subject),
    )


def _severity(fired: Fired) -> Severity:
    for severity in ("critical", "warning", "info"):
        source = fired.rule.severity_when.get(severity)
        if source and condition(source)(fired.names):
            return severity
    return fired.rule.severity


def _subject(fired: Fired) -> dict[str, Any]:
    """Return the key's fields, and what the rule adds as texts; what is unknown is left out."""
    extra = {name: template(text)(fired.names) for name, text in fired.rule.subject.items()}
    whole = {**fired.candidate.key, **extra}
    return {k: v for k, v in whole.items() if v not in (None, "", "None")}


def _evidence(
    matches: Mapping[str, Match | None], clues: Mapping[str, Clue]
) -> tuple[list[Evidence], list[Moment]]:
    rows: list[Evidence] = []
    seen: list[Fact] = []
    for name, clue, match in evidence_of(matches, clues):
        shown = _alike(match.facts) if clue.pick == "all" else [(match.fact, match.seen)]
        rows += [_evidence_row(name, clue, *pair) for pair in shown[:EVIDENCE_PER_CLUE]]
        if more := sum(count for _, count in shown[EVIDENCE_PER_CLUE:]):
            note = f"{clue.note or name} ({more} more are not shown)"
            rows[-1] = msgspec.structs.replace(rows[-1], note=note)
        seen += match.facts
    times = [f.time for f in sorted(seen, key=sort_key) if f.time is not None]
    return rows, times


def _alike(facts: Iterable[Fact]) -> list[tuple[Fact, int]]:
    """Return the first of those facts that say the same, and how many do: a flood is the same few lines over and over."""
    groups: dict[tuple[str, bytes, str], list[Fact]] = {}
    for fact in facts:
        text = shape(_DAY_AND_HOUR.sub(" ", fact.text))
        key = fact.kind, msgspec.json.encode(fact.fields), text
        groups.setdefault(key, []).append(fact)
    return [(alike[0], len(alike)) for alike in groups.values()]


def _evidence_row(name: str, clue: Clue, fact: Fact, count: int) -> Evidence:
    return Evidence(
        clue=name,
        kind=fact.kind,
        text=fact.text,
        time=time_of(fact.time),
        fields=fact.fields,
        where=where_row(fact.where),
        host=fact.host,
        count=count,
        note=clue.note,
    )


def where_row(where: Where) -> dict[str, Any]:
    """Return a place as the report gives it: addresses in hex, what is not known left out."""
    row = {name: getattr(where, name) for name in ("input", "line", "offset", "type", "member")}
    row = {k: v for k, v in row.items() if v is not None}
    if where.address is not None:
        row["address"] = hex(where.address)
    return row


def _step(text: str, command: str, names: Mapping[str, Any]) -> StepRow:
    return StepRow(_flow(template(text)(names)), template(command)(names))


def _flow(text: str) -> str:
    """Return *text* as one line: YAML's folded texts keep the line ends around template blocks."""
    return " ".join(text.split())


def _paragraphs(text: str) -> str:
    """Return *text* with one line a paragraph: where a line ends is the renderer's to say."""
    return "\n\n".join(_flow(p) for p in text.split("\n\n") if p.strip())


def fingerprint(rule: str, host: str, subject: Mapping[str, Any]) -> str:
    """Return what stays the same when the same thing is found again: rule, host and subject, hashed."""
    return hashlib.sha256(msgspec.json.encode([rule, host, subject], order="sorted")).hexdigest()[
        :16
    ]


def _timeline(facts: Iterable[Fact], findings: Iterable[Finding]) -> list[TimelineRow]:
    owners: dict[tuple[Any, ...], str] = {}
    for finding in findings:
        for row in finding.evidence:
            owners.setdefault(
                (row.where.get("input"), row.where.get("offset"), row.text), finding.fingerprint
            )
    timed = sorted(
        (f for f in facts if f.time is not None and f.where.line is not None), key=sort_key
    )
    return [
        TimelineRow(
            time_of(f.time), f.host, f.text, owners.get((f.where.input, f.where.offset, f.text), "")
        )
        for f in timed[:TIMELINE_ROWS]
    ]


def _tables(facts: Iterable[Fact]) -> dict[str, list[dict[str, Any]]]:
    """Return the facts that are state (not log lines) by kind, for the tables of the HTML report."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for fact in facts:
        if fact.where.line is None:
            rows = tables.setdefault(fact.kind, [])
            if len(rows) < TABLE_ROWS:
                rows.append({"host": fact.host, **fact.fields})
    return dict(sorted(tables.items()))
