"""Findings that are known already, and what the rest means for the exit status."""

from collections.abc import Collection
from typing import Literal

import msgspec

from rdmadiag.report.model import Report

FailOn = Literal["critical", "warning", "info", "never"]
_RANK = {"critical": 0, "warning": 1, "info": 2}


def mark_known(report: Report, baseline: Report) -> Report:
    """Return *report* with the findings marked as known whose fingerprints *baseline* has."""
    return mark(report, {f.fingerprint for f in baseline.findings})


def mark(report: Report, fingerprints: Collection[str]) -> Report:
    """Return *report* with the findings of these fingerprints marked as known."""
    findings = [
        msgspec.structs.replace(f, known=True) if f.fingerprint in fingerprints else f
        for f in report.findings
    ]
    return msgspec.structs.replace(report, findings=findings)


def exit_status(report: Report, fail_on: FailOn) -> int:
    """Return 1 when a finding that is not known is at least as severe as *fail_on*, else 0."""
    if fail_on == "never":
        return 0
    limit = _RANK[fail_on]
    return int(any(not f.known and _RANK[f.severity] <= limit for f in report.findings))
