"""
The report: what ``--format json`` prints, schema 1.

Every renderer works on this and on nothing else, so that ``rdmadiag report RESULT.json`` shows what
``diagnose`` showed. Times are ISO 8601 with zone, or seconds of uptime as a number when no wall clock is known.
"""

from typing import Any, Literal

import msgspec

from rdmadiag.rules.schema import Severity, Verdict

Time = str | float | None
FixStatusName = Literal["missing", "present", "unknown"]
Outcome = Literal["fired", "ruled-out", "not-applicable", "could-not-run"]


class Tool(msgspec.Struct, frozen=True):
    """Which rdmadiag made the report, with which rules (*rules_version*: a digest of the rule files)."""

    name: str
    version: str
    rules_version: str


class ProblemRow(msgspec.Struct, frozen=True):
    """What is wrong with an input, and where; *remark*: nothing is, but the reader should know it."""

    what: str
    where: str = ""
    remark: bool = False


class InputRow(msgspec.Struct, frozen=True):
    """One input; *start* and *end* are the first and last moment it speaks of, *since* and *until* what of it was asked for."""

    path: str
    kind: str
    host: str
    kernel_release: str
    bytes: int
    records: int
    unparsed: int
    types: str
    problems: list[ProblemRow]
    start: Time = None
    end: Time = None
    since: Time = None
    until: Time = None


class Evidence(msgspec.Struct, frozen=True):
    """One fact that a verdict rests on; *where* is {input,line,offset} or {input,type,address,member}."""

    clue: str
    kind: str
    text: str
    time: Time
    fields: dict[str, Any]
    where: dict[str, Any]
    host: str = ""
    count: int = 1
    note: str = ""


class FixedInRow(msgspec.Struct, frozen=True):
    """First release with the fix, in one kernel tree."""

    tree: str
    version: str


class FixRow(msgspec.Struct, frozen=True):
    """A known fix, and whether this kernel has it."""

    id: str
    orabug: str
    cve: str
    commit: str
    title: str
    url: str
    fixed_in: list[FixedInRow]
    status: FixStatusName
    why: str
    match: str = ""


class StepRow(msgspec.Struct, frozen=True):
    """One next step."""

    text: str
    command: str = ""


class Finding(msgspec.Struct, frozen=True):
    """A diagnosis that fired; *known*: its fingerprint is in the baseline."""

    id: str
    title: str
    subsystem: str
    severity: Severity
    verdict: Verdict
    host: str
    subject: dict[str, Any]
    first_seen: Time
    last_seen: Time
    summary: str
    explanation: str
    evidence: list[Evidence]
    fixes: list[FixRow]
    next_steps: list[StepRow]
    fingerprint: str
    known: bool = False


class Check(msgspec.Struct, frozen=True):
    """How one diagnosis ended; *title* is what it is about, *looked*: there was something to look at, be it to find nothing."""

    id: str
    outcome: Outcome
    reason: str
    title: str = ""
    looked: bool = False


class TimelineRow(msgspec.Struct, frozen=True):
    """One line of the time line; *finding* is a fingerprint or empty."""

    time: Time
    host: str
    text: str
    finding: str = ""


class Report(msgspec.Struct, frozen=True):
    """
    The whole report.

    :ivar facts: How many there are of each kind.
    :ivar tables: Facts that are state, by kind; each row holds the fact's fields.
    :ivar redacted: Names and addresses are pseudonyms.
    """

    schema: Literal[1]
    tool: Tool
    started: str
    seconds: float
    inputs: list[InputRow]
    findings: list[Finding]
    checks: list[Check]
    facts: dict[str, int]
    timeline: list[TimelineRow]
    tables: dict[str, list[dict[str, Any]]] = {}
    redacted: bool = False
