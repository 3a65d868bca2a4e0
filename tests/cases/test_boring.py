"""What ordinary machines log is no finding."""

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from ordinary import dmesg, iso, syslog

from rdmadiag.commands.diagnose import Request, make_report

Writer = Callable[[random.Random, int], str]


@pytest.mark.parametrize(
    ("write", "count"),
    [(syslog, 120_000), (iso, 90_000), (dmesg, 30_000)],
    ids=["syslog", "iso", "dmesg"],
)
def test_nothing_above_info(tmp_path: Path, write: Writer, count: int) -> None:
    log = tmp_path / "messages"
    log.write_text(write(random.Random(count), count))
    report = make_report(Request([str(log)]))
    assert [(f.id, f.summary) for f in report.findings if f.severity != "info"] == []
    assert report.facts.get("rds.connection_dropped", 0) > 0


def test_two_hosts_together(tmp_path: Path) -> None:
    """Drops of one host and CQ errors of none."""
    for name, write in (("a", syslog), ("b", iso)):
        (tmp_path / name).write_text(write(random.Random(5), 3000))
    report = make_report(Request([str(tmp_path)]))
    assert [f.id for f in report.findings if f.severity != "info"] == []
