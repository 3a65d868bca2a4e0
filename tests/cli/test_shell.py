"""A drgn session with the findings at hand, and ``%rdmadiag`` in a session that knows nothing of us."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
STUCK = ROOT / "sample_dumps" / "rds-stuck-recv" / "vmcore"


def test_a_session_has_the_helpers_and_the_findings() -> None:
    script = b"from drgn.commands import run_command\nrun_command(prog, 'rdmadiag --format json')\nprint('id', report.findings[0].id)\nprint('conns', len(list(for_each_rds_connection(prog))))\n"
    result = subprocess.run(
        [sys.executable, "-m", "rdmadiag", "shell", str(STUCK)],
        input=script,
        capture_output=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert b"id rds-shutdown-stuck-on-cq-error" in result.stdout
    assert b"conns 1" in result.stdout
    assert b'"schema": 1' in result.stdout
    assert b"# critical, confirmed: RDS connection" in result.stdout + result.stderr


def test_the_command_works_in_a_plain_session(tmp_path: Path) -> None:
    script = tmp_path / "ask.py"
    script.write_text(
        "from drgn.commands import run_command\nrun_command(prog, 'rdmadiag --format json')\n"
    )
    command = [
        sys.executable,
        "-m",
        "drgn",
        "-q",
        "--no-default-symbols",
        "-c",
        str(STUCK),
        str(script),
    ]
    result = subprocess.run(
        command, capture_output=True, timeout=120, env={**os.environ, "PYTHONWARNINGS": ""}
    )
    assert b'"rds-shutdown-stuck-on-cq-error"' in result.stdout, result.stderr
