"""What all renderers for people say alike: words, order, times and places."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from math import isfinite
from typing import Any, Literal

import msgspec

from rdmadiag.report.model import Check, Evidence, Finding, FixRow, Report, Time

OUTCOMES = {
    "could-not-run": "could-not-run",
    "fired": "fired",
    "explained": "ruled-out, explained by a finding",
    "ruled-out": "ruled-out",
    "not-applicable": "not-applicable",
}
"""Check outcomes in the order that a reader needs them, and what to call them; of those ruled out the explained ones apart."""
EXPLAINED = "explained by "
"""How the reason of a check begins that was ruled out because a finding explains what it saw."""
OTHERS_EXPLAIN = "other findings explain"
"""The same, of a check about what no other finding explains."""
DEPTH = 8
"""How deep fields may nest and still be shown name by name."""


def blind(report: Report) -> list[Check]:
    """Return the checks that could not run."""
    return [c for c in report.checks if c.outcome == "could-not-run"]


def by_reason(
    checks: Iterable[Check], labels: Mapping[str, str] | None = None
) -> dict[str, list[str]]:
    """
    Return the ids of *checks* by reason: one missing page often stops many of them.

    :param labels: What to call the findings of a diagnosis, by its id; see :func:`reason`.
    """
    reasons: dict[str, list[str]] = {}
    for check in checks:
        reasons.setdefault(reason(check, labels or {}), []).append(check.id)
    return reasons


def reason(check: Check, labels: Mapping[str, str]) -> str:
    """Return why a check ended as it did, with the labels of the findings that explain it: ``explained by F1``."""
    names = check.reason.removeprefix(EXPLAINED).split(", ")
    if not check.reason.startswith(EXPLAINED) or not all(name in labels for name in names):
        return check.reason
    return EXPLAINED + ", ".join(labels[name] for name in names)


def by_outcome(report: Report) -> dict[str, list[Check]]:
    """Return the checks by outcome (see :data:`OUTCOMES`), the ones to worry about first; outcomes without a check left out."""
    groups: dict[str, list[Check]] = {outcome: [] for outcome in OUTCOMES}
    for check in report.checks:
        groups["explained" if _is_explained(check) else check.outcome].append(check)
    return {outcome: checks for outcome, checks in groups.items() if checks}


def _is_explained(check: Check) -> bool:
    return check.outcome == "ruled-out" and check.reason.startswith((EXPLAINED, OTHERS_EXPLAIN))


def count(number: int, noun: str) -> str:
    """Return ``1 check`` or ``2 checks``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def references(fix: FixRow) -> list[str]:
    """Return what a fix is known by to others: Orabug, CVE, commit; its own id when there is none of them."""
    named = [
        f"Orabug {fix.orabug}" if fix.orabug else "",
        fix.cve,
        f"commit {fix.commit}" if fix.commit else "",
    ]
    return [name for name in named if name] or [fix.id]


def subject_text(subject: Mapping[str, Any]) -> str:
    """Return what a finding is about, in a few words."""
    rest = dict(subject)
    parts = []
    if "laddr" in rest and "faddr" in rest:
        parts.append(f"{value_text(rest.pop('laddr'))} → {value_text(rest.pop('faddr'))}")
    parts += [value_text(rest.pop(n)) for n in ("controller", "device") if n in rest]
    return " · ".join(parts + [f"{name} {value_text(value)}" for name, value in rest.items()])


def value_text(value: Any) -> str:
    """Return a field's value as one line; ``None`` is a dash."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    if isinstance(value, list):
        return ", ".join(value_text(item) for item in value)
    if isinstance(value, dict):
        return " ".join(f"{name}={value_text(item)}" for name, item in value.items())
    return str(value)


def flat(fields: Mapping[str, Any], prefix: str = "", depth: int = DEPTH) -> dict[str, Any]:
    """Return nested fields under dotted names (``recv_ring.nr``)."""
    rows: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, dict) and value and depth:
            rows |= flat(value, f"{prefix}{name}.", depth - 1)
        else:
            rows[prefix + name] = value
    return rows


def moment(time: Time) -> tuple[str, float] | None:
    """Return a time's clock (``wall`` or ``uptime``) and seconds on it; ``None`` when it is no time."""
    if isinstance(time, str):
        try:
            return "wall", datetime.fromisoformat(time).timestamp()
        except (ValueError, OverflowError):
            return None
    return ("uptime", float(time)) if time is not None and isfinite(time) else None


def time_text(time: Time) -> str:
    """Return a time for people: ``2026-09-30 21:04:11.117530Z``, or seconds since boot."""
    if time is None:
        return ""
    if isinstance(time, str):
        return time.replace("T", " ", 1).replace("+00:00", "Z")
    return f"{time:.6f} s after boot"


def seen_text(finding: Finding) -> str:
    """Return from when to when a finding was seen."""
    times = dict.fromkeys(t for t in map(time_text, (finding.first_seen, finding.last_seen)) if t)
    return " to ".join(times)


_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def duration(seconds: float) -> str:
    """Return a length of time in the two units that matter, side by side: ``32 µs``, ``5.3 s``, ``10 h 15 min``, ``1 h``."""
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    return _two_units(round(seconds))


def _two_units(seconds: int) -> str:
    """Round to the second of two neighbouring units; it is left out when there is nothing of it."""
    at = next(n for n, (size, _) in enumerate(_UNITS) if seconds >= size)
    (size, unit), (small, small_unit) = _UNITS[at : at + 2]
    seconds += small // 2
    if at and seconds >= _UNITS[at - 1][0]:  # 59 min 59.6 s is 1 h
        return f"1 {_UNITS[at - 1][1]}"
    rest = seconds % size // small
    return f"{seconds // size} {unit}" + (f" {rest} {small_unit}" if rest else "")


class Step(msgspec.Struct, frozen=True):
    """One link of the evidence chain, with the time since the link before it (empty when not known)."""

    evidence: Evidence
    side: Literal["log", "state"]
    after: str


def chain(finding: Finding) -> list[Step]:
    """Return the evidence on one time line: log lines and kernel state, the undated ones last."""
    dated = [(moment(e.time), e) for e in finding.evidence]
    dated.sort(key=lambda pair: (pair[0] is None, pair[0] and pair[0][0] != "wall", pair[0] or ()))
    steps: list[Step] = []
    before: tuple[str, float] | None = None
    for at, evidence in dated:
        steps.append(Step(evidence, side_of(evidence), _gap(before, at)))
        before = at
    return steps


def _gap(before: tuple[str, float] | None, at: tuple[str, float] | None) -> str:
    if before is None or at is None or before[0] != at[0] or at[1] == before[1]:
        return ""
    return "+" + duration(at[1] - before[1])


def side_of(evidence: Evidence) -> Literal["log", "state"]:
    """Return whether a piece of evidence is a log line or kernel state."""
    return "log" if "line" in evidence.where or "offset" in evidence.where else "state"


def short_paths(report: Report) -> dict[str, str]:
    """
    Return the inputs' paths without the leading folders that none of them needs to be told apart.

    What an archive holds keeps its archive's name and all its path in it (``sos.tar.xz!var/log/messages``).
    """
    paths = {row.path for row in report.inputs}
    paths |= {e.where["input"] for f in report.findings for e in f.evidence if _named(e)}
    short: dict[str, str] = {}
    for path in paths:
        file, mark, member = path.partition("!")
        parts = file.split("/")
        tails = ("/".join(parts[-n:]) + mark + member for n in range(1, len(parts)))
        short[path] = next((t for t in tails if t and _only(t, path, paths)), path)
    return short


def _named(evidence: Evidence) -> bool:
    return isinstance(evidence.where.get("input"), str)


def _only(tail: str, path: str, paths: set[str]) -> bool:
    return not any(other != path and f"/{other}".endswith(f"/{tail}") for other in paths)


def where_text(where: Mapping[str, Any], short: Mapping[str, str] | None = None) -> str:
    """
    Return a place: ``messages:88214``, or ``vmcore: struct task_struct 0xffff... .member``.

    :param short: What to call the inputs; see :func:`short_paths`.
    """
    name = value_text(where.get("input", "?"))
    name = (short or {}).get(name, name)
    if "line" in where:
        return f"{name}:{value_text(where['line'])}"
    if "offset" in where:
        return f"{name}, byte {value_text(where['offset'])}"
    parts = [value_text(where[key]) for key in ("type", "address") if where.get(key)]
    member = f" .{value_text(where['member'])}" if where.get("member") else ""
    return f"{name}: {' '.join(parts)}{member}" if parts else name
