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


def shell(*args: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "rdmadiag", "shell", str(STUCK), *args]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=120)


def test_code_a_file_and_standard_input_run_as_with_python(tmp_path: Path) -> None:
    script = tmp_path / "ask.py"
    script.write_text("import sys\nprint(sys.argv[1:], __name__, report.findings[0].verdict)\n")
    result = shell("-c", "print(len(list(for_each_rds_connection(prog))))")
    assert (result.returncode, result.stdout, result.stderr) == (0, b"1\n", b"")
    result = shell(str(script), "--", "a", "-b")
    assert result.stdout == b"['a', '-b'] __main__ confirmed\n", result.stderr


def test_a_script_that_fails_gives_a_status(tmp_path: Path) -> None:
    for result in (
        shell(stdin=b"print('begun')\nraise ValueError('mine')\nprint('not reached')\n"),
        shell("-c", "print('begun'); raise ValueError('mine')"),
    ):
        assert (result.returncode, result.stdout) == (1, b"begun\n")
        assert result.stderr.rstrip().endswith(b"ValueError: mine")
    assert (shell("-c", "(").returncode, shell("-c", "raise SystemExit(7)").returncode) == (1, 7)
    result = shell(str(tmp_path / "none.py"))
    assert (result.returncode, result.stdout) == (2, b"")


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
