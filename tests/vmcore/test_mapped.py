"""A dump that becomes shorter while it is read."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .samples import path_of

CUT = """
import os, signal, sys
{before}
from rdmadiag.vmcore.dump import open_dump
dump = open_dump(sys.argv[1])
os.truncate(sys.argv[1], 4096)
dump.dmesg()
"""
OWN = "signal.signal(signal.SIGBUS, signal.SIG_IGN)"


@pytest.mark.parametrize(
    ("before", "status", "said"),
    [("", 2, "'a\\nb' is lost: it became shorter"), (OWN, -signal.SIGBUS, "")],
)
def test_it_is_said_unless_someone_else_answers(
    tmp_path: Path, before: str, status: int, said: str
) -> None:
    shutil.copy(path_of("rds-stuck-recv"), tmp_path / "a\nb")
    command = [sys.executable, "-c", CUT.format(before=before), "a\nb"]
    result = subprocess.run(command, capture_output=True, cwd=tmp_path, timeout=60)
    error = result.stderr.decode()
    assert (result.returncode, result.stdout) == (status, b""), error
    assert error.count("\n") == bool(said)
    assert said in error
