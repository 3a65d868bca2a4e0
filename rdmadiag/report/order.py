"""In which order findings are told."""

from collections.abc import Sequence

from rdmadiag.report.model import Finding

SEVERITY = {"critical": 0, "warning": 1, "info": 2}
VERDICT = {"confirmed": 0, "probable": 1, "possible": 2}
GENERAL = frozenset(
    (
        *("rdma-hung-task", "hung-task", "task-unexplained", "incomplete-trace"),
        *("kernel-oops", "kernel-panic", "kernel-use-after-free", "kernel-memory-leak"),
        *("kernel-warning", "lockdep-report", "page-allocation-failure", "rdma-error-reported"),
    )
)
"""Diagnoses that say what the kernel reported and not why; of two that are as grave, the other one is told first."""


def ordered(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, new and worst first, equals in their own order."""
    return sorted(
        findings,
        key=lambda f: (f.known, SEVERITY[f.severity], f.id in GENERAL, VERDICT[f.verdict]),
    )
