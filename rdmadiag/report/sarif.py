"""
The report as SARIF 2.1.0.

A finding is a result of kind ``fail``, its evidence a thread flow in the order of time; a check that could
not run is one of kind ``open``, SARIF's word for "not enough to decide", and a notification.
"""

import json
from typing import Any
from urllib.parse import quote

from rdmadiag.lazy import Lazy
from rdmadiag.report import view
from rdmadiag.report.escape import clean
from rdmadiag.report.model import Check, Evidence, Finding, Report, Time
from rdmadiag.report.order import ordered

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVEL = {"critical": "error", "warning": "warning", "info": "note"}
_LINK = Lazy(r"\[(?=[^\]\n]*\]\()")
_NOT_URI = Lazy(r"[^A-Za-z0-9._~/-]")

Json = dict[str, Any]


def render(report: Report) -> str:
    """Return *report* as a SARIF log with one run."""
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(clean(report))]}
    return json.dumps(log, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _run(report: Report) -> Json:
    findings = ordered(report.findings)
    titles = {c.id: c.title for c in report.checks}
    rules = {f.id: _rule(f, titles.get(f.id, "")) for f in reversed(findings)}
    lost = view.blind(report)
    rules |= {c.id: _check_rule(c) for c in lost if c.id not in rules}
    places = {name: number for number, name in enumerate(rules)}
    artifacts = list(dict.fromkeys(i.path for i in report.inputs))
    return {
        "tool": {
            "driver": {
                "name": report.tool.name,
                "version": report.tool.version,
                "rules": list(rules.values()),
                "properties": {"rules_version": report.tool.rules_version},
            }
        },
        "invocations": [_invocation(report, lost)],
        "artifacts": [{"location": {"uri": uri(path)}} for path in artifacts],
        "results": [
            *(_result(f, places[f.id]) for f in findings),
            *(_open(c, places[c.id]) for c in lost),
        ],
        "columnKind": "unicodeCodePoints",
        "properties": {"redacted": report.redacted, "facts": report.facts},
    }


def _check_rule(check: Check) -> Json:
    text = _plain(check.title or check.id.replace("-", " "))
    return {"id": check.id, "shortDescription": {"text": text}, "fullDescription": {"text": text}}


def _rule(finding: Finding, title: str) -> Json:
    return {
        "id": finding.id,
        "shortDescription": {"text": _plain(title or finding.id.replace("-", " "))},
        "fullDescription": {"text": _plain(finding.explanation or finding.title)},
        "properties": {"tags": [finding.subsystem or "kernel"]},
    }


def _invocation(report: Report, lost: list[Check]) -> Json:
    notes = [_note(f"{c.id} could not run: {c.reason}") for c in lost]
    notes += [
        _note(f"{i.path}: {p.what} {p.where}".rstrip()) for i in report.inputs for p in i.problems
    ]
    row: Json = {"executionSuccessful": True, "toolExecutionNotifications": notes}
    if start := _utc(report.started):
        row["startTimeUtc"] = start
    return row


def _note(text: str) -> Json:
    return {"level": "warning", "message": {"text": _plain(text)}}


def _result(finding: Finding, rule: int) -> Json:
    steps = [step.evidence for step in view.chain(finding)]
    stacks = [stack for stack in map(_stack, steps) if stack]
    result: Json = {
        "ruleId": finding.id,
        "ruleIndex": rule,
        "kind": "fail",
        "level": _LEVEL[finding.severity],
        "message": {"text": _plain(f"{finding.title}\n\n{finding.summary}")},
        "locations": [_location(steps[0])] if steps else [],
        "partialFingerprints": {"rdmadiag/v1": finding.fingerprint},
        "baselineState": "unchanged" if finding.known else "new",
        "properties": _properties(finding),
    }
    if steps:
        result["codeFlows"] = [{"threadFlows": [{"locations": [_flow(e) for e in steps]}]}]
    if stacks:
        result["stacks"] = stacks
    return result


def _properties(finding: Finding) -> Json:
    return {
        "verdict": finding.verdict,
        "severity": finding.severity,
        "host": finding.host,
        "subject": finding.subject,
        "fixes": [
            {"id": f.id, "status": f.status, "why": f.why, "url": f.url} for f in finding.fixes
        ],
        "next_steps": [{"text": s.text, "command": s.command} for s in finding.next_steps],
    }


def _open(check: Check, rule: int) -> Json:
    return {
        "ruleId": check.id,
        "ruleIndex": rule,
        "kind": "open",
        "level": "none",
        "message": {"text": _plain(f"could not run: {check.reason}")},
        "locations": [],
    }


def _flow(evidence: Evidence) -> Json:
    row: Json = {"location": _location(evidence), "importance": "important"}
    if time := _utc(evidence.time):
        row["executionTimeUtc"] = time
    return row


def _location(evidence: Evidence) -> Json:
    where = evidence.where
    place: Json = {"artifactLocation": {"uri": uri(str(where.get("input", "")))}}
    line = where.get("line")
    if type(line) is int and line > 0:
        place["region"] = {"startLine": line, "snippet": {"text": evidence.text}}
    location: Json = {
        "physicalLocation": place,
        "message": {"text": _plain(f"{evidence.note or evidence.clue}: {evidence.text}")},
    }
    if name := " ".join(str(where[k]) for k in ("type", "address", "member") if where.get(k)):
        location["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "object"}]
    return location


def _stack(evidence: Evidence) -> Json | None:
    frames = evidence.fields.get("frames")
    if not isinstance(frames, list) or not frames:
        return None
    return {
        "message": {"text": _plain(evidence.text)},
        "frames": [
            {"location": {"logicalLocations": [{"fullyQualifiedName": view.value_text(f)}]}}
            for f in frames
        ],
    }


def uri(path: str) -> str:
    """Return *path* as a URI: relative ones stay relative, nothing in it can become a scheme or a host."""
    text = _NOT_URI.sub(lambda m: quote(m[0], safe=""), path)
    return f"file:///{text.lstrip('/')}" if text.startswith("/") else text


def _plain(text: str) -> str:
    """Return *text* for a message: SARIF would make a link of ``[text](target)``."""
    return _LINK.sub(r"\\[", text)


def _utc(time: Time) -> str | None:
    at = view.moment(time)
    if at is None or at[0] != "wall" or not isinstance(time, str):
        return None
    return time.replace("+00:00", "Z") if time.endswith(("+00:00", "Z")) else None
