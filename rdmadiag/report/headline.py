"""The verdict of a report, in a line: what all renderers for people put first."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from rdmadiag.report import view
from rdmadiag.report.model import Finding, InputRow, Report
from rdmadiag.report.order import SEVERITY, ordered

Tone = Literal["critical", "warning", "info", "incomplete", "clean"]

_OPENING = {"confirmed": "", "probable": "Probably: ", "possible": "Possibly: "}
_OTHERS = {"kernel", "log", "net", "scsi", "crash"}
"""What the kinds of facts begin with that are no messages of RDMA."""


class Headline(msgspec.Struct, frozen=True):
    """
    The verdict: what is wrong in plain words, and what else must be known at once.

    :ivar summary: What it means, in a sentence or two; may be empty.
    :ivar about: Host and subject; may be empty.
    """

    tone: Tone
    text: str
    notes: list[str]
    summary: str = ""
    about: str = ""


def headline(report: Report) -> Headline:
    """Return the verdict line of *report*."""
    fresh = [f for f in ordered(report.findings) if not f.known]
    notes = _notes(report, fresh)
    if fresh:
        worst = fresh[0]
        text = _OPENING[worst.verdict] + worst.title
        about = " · ".join(p for p in (worst.host, view.subject_text(worst.subject)) if p)
        return Headline(worst.severity, text, notes, worst.summary, about)
    if view.blind(report):
        what = "Nothing was found, but not everything could be looked at"
        return Headline("incomplete", f"{what}: this is no all-clear.", notes)
    if report.findings:
        return Headline("clean", "Nothing new: every finding is in the baseline.", notes)
    if not _looked(report):
        return _nothing(report, notes)
    return Headline("clean", "No known RDMA fault was found.", notes)


def _looked(report: Report) -> bool:
    """Return whether a check had anything to look at: :func:`view.blind` has those that could not."""
    return any(c.outcome != "not-applicable" or c.looked for c in report.checks)


def _nothing(report: Report, notes: list[str]) -> Headline:
    """Return what there is to say when no check had anything to look at: how much was read, or that nothing was."""
    logs = [i for i in report.inputs if i.kind == "log" and (i.records or _bounds(i))]
    if not logs or any(i.kind in ("vmcore", "live") for i in report.inputs):
        what = "Nothing was checked: the input says nothing that any check is about."
        return Headline("incomplete", what, notes)
    count = sum(i.records for i in logs)
    messages = sum(n for kind, n in report.facts.items() if kind.partition(".")[0] not in _OTHERS)
    # Not all checks may have been asked for.
    held = (
        f"{view.count(messages, 'message')} of RDMA, none of which a check that was made is about"
    )
    asked = " in the time that was asked for" if any(map(_bounds, logs)) else ""
    note = (
        f"{view.count(count, 'record')} {'was' if count == 1 else 'were'} read{_reach(logs)}: "
        f"{held if messages else 'no message of RDMA' + asked}. This says nothing of what was not logged."
    )
    what = "fault that was looked for" if messages else "message of RDMA"
    text = f"No {what} was found{asked or ' in the log'}."
    if not messages and all(map(_outside, logs)):
        text = "The log lies outside of the time that was asked for, by its first and last record."
    return Headline("incomplete", text, [note, *notes])


def _bounds(log: InputRow) -> str:
    """Return what of a log was asked for, in words; empty: all of it."""
    bounds = (("since", log.since), ("until", log.until))
    return " and ".join(f"{name} {view.time_text(t)}" for name, t in bounds if t is not None)


def _outside(log: InputRow) -> bool:
    """Return whether a log begins and ends on the same side of the time that was asked for."""
    start, end, since, until = map(view.moment, (log.start, log.end, log.since, log.until))
    if start is None or end is None or start[0] != "wall" or end[0] != "wall":
        return False
    early = since is not None and max(start, end) < since
    return early or (until is not None and min(start, end) > until)


def _reach(logs: Sequence[InputRow]) -> str:
    """Return from when to when logs reach, where all of them tell by the same clock."""
    times = [time for log in logs for time in (log.start, log.end)]
    moments = [view.moment(time) for time in times]
    if None in moments or len({m[0] for m in moments if m}) != 1:
        return ""
    dated = sorted(zip((m[1] for m in moments if m), times, strict=True), key=lambda pair: pair[0])
    return f", from {view.time_text(dated[0][1])} to {view.time_text(dated[-1][1])}"


def _notes(report: Report, fresh: Sequence[Finding]) -> list[str]:
    notes = []
    if len(fresh) > 1:
        notes.append(f"{len(fresh)} findings in all: {_tally(fresh)}.")
    known = len(report.findings) - len([f for f in report.findings if not f.known])
    if known:
        notes.append(f"{view.count(known, 'finding')} known from the baseline.")
    if bounds := next(filter(None, map(_bounds, report.inputs)), ""):
        notes.append(f"Of the log only records {bounds} were asked for.")
    if lost := view.blind(report):
        notes.append(f"{view.count(len(lost), 'check')} of {len(report.checks)} could not run.")
    rows = [p for i in report.inputs for p in i.problems]
    if problems := [p for p in rows if not p.remark]:
        notes.append(f"{view.count(len(problems), 'problem')} in reading the input.")
    if remarks := [p for p in rows if p.remark]:
        notes.append(f"{view.count(len(remarks), 'remark')} on the input.")
    return notes


def _tally(findings: Sequence[Finding]) -> str:
    severities = [f.severity for f in findings]
    return ", ".join(f"{severities.count(s)} {s}" for s in SEVERITY if s in severities)
