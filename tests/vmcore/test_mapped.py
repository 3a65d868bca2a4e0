"""A dump that becomes shorter while it is read."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .samples import path_of
from .test_split import frames_of, split

CUT = """
import os, signal, sys
{before}
from rdmadiag.vmcore.dump import open_dump
dump = open_dump(sys.argv[1])
os.truncate(sys.argv[2], 4096)
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
    command = [sys.executable, "-c", CUT.format(before=before), "a\nb", "a\nb"]
    result = subprocess.run(command, capture_output=True, cwd=tmp_path, timeout=60)
    error = result.stderr.decode()
    assert (result.returncode, result.stdout) == (status, b""), error
    assert error.count("\n") == bool(said)
    assert said in error


def test_of_a_split_dump_the_file_that_is_lost_is_named(tmp_path: Path) -> None:
    whole = path_of("rds-stuck-recv")
    frames = frames_of(whole)
    first, _ = split(whole, tmp_path, [frames[len(frames) // 2], frames[-1] + 1])
    command = [sys.executable, "-c", CUT.format(before=""), str(tmp_path), str(first)]
    result = subprocess.run(command, capture_output=True, timeout=60)
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith(f"rdmadiag: '{first}' is lost".encode())
