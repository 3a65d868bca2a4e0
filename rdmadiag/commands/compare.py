"""``rdmadiag compare``: what is new, gone or changed from one saved report to another."""

from pathlib import Path

from rdmadiag.report.baseline import FailOn, exit_status, mark_known
from rdmadiag.report.compare import compare as compare_reports
from rdmadiag.report.compared import CompareFormat, render
from rdmadiag.report.load import load


def compare(
    before: Path,
    after: Path,
    format: CompareFormat = "text",  # noqa: A002 - as the command line calls it
    width: int = 80,
    fail_on: FailOn = "never",
) -> tuple[str, int]:
    """
    Compare two saved reports.

    :returns: The text, and the exit status: 1 when a finding at or above *fail_on* is new.
    :raises UserError: A file that cannot be read, or is no report.
    """
    old, new = load(before), load(after)
    text = render(compare_reports(old, new), format, width)
    return text, exit_status(mark_known(new, old), fail_on)
