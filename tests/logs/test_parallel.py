"""Several files at the same time give the same as one after another."""

import gzip
import os
import threading

import pytest

from rdmadiag.errors import UserError
from rdmadiag.inputs import expand, open_input
from rdmadiag.logs import ranges
from rdmadiag.logs.ahead import ahead
from rdmadiag.logs.collect import LogCollector, collect_log
from rdmadiag.logs.options import LogOptions
from rdmadiag.logs.parallel import collect_targets, read_target

LINE = "Sep 29 22:32:33 db{n} kernel: mlx4_core 0000:46:00.0: CQ access violation on CQN 00041{n}\n"


@pytest.fixture
def folder(tmp_path):
    for n in range(6):
        (tmp_path / f"host{n}log").write_text(LINE.format(n=n) * 5)
    (tmp_path / "messages.1.gz").write_bytes(gzip.compress(LINE.format(n=7).encode()))
    (tmp_path / "messages").write_text(LINE.format(n=8))
    (tmp_path / "dump").write_bytes(b"KDUMP   " + bytes(5000))
    return tmp_path


def run(vocabulary, folder, jobs):
    collector = LogCollector(vocabulary, LogOptions(now=1.77e9, jobs=jobs))
    results = list(collect_targets(collector, expand([str(folder)])))
    dumps = [s.name for _, sources in results for s in sources]
    facts = [f for parts, _ in results for part in parts for f in part.facts]
    return dumps, facts


def test_same_as_one_after_another(vocabulary, folder, monkeypatch):
    monkeypatch.setattr("rdmadiag.logs.ranges.SMALLEST", 100)
    monkeypatch.setattr("rdmadiag.logs.ranges.DENSE", 0)
    one, many = (run(vocabulary, folder, jobs) for jobs in (1, 3))
    assert one == many
    assert one[0] == [str(folder / "dump")]
    assert sum(f.kind == "hca.cq_error" for f in one[1]) == 32


def test_small_files_side_by_side(vocabulary, folder):
    assert run(vocabulary, folder, 1) == run(vocabulary, folder, 2)


@pytest.mark.parametrize(
    ("text", "flood"), [("CQ access violation on CQN 000419", True), ("x", False)]
)
def test_a_flood_is_read_by_one_process(tmp_path, vocabulary, monkeypatch, text, flood):
    path = tmp_path / "messages"
    path.write_text(f"Sep 29 22:32:33 db01 kernel: mlx4 {text}\n" * 20_000)
    monkeypatch.setattr("rdmadiag.logs.ranges.SMALLEST", 100_000)
    begun = []
    monkeypatch.setattr("rdmadiag.logs.ranges.Ranges.units", lambda *_: begun.append(1) or iter(()))
    collector = LogCollector(vocabulary, LogOptions(now=1.77e9, jobs=2))
    for target in expand([str(path)]):
        read_target(collector, target)
    assert begun == [] if flood else begun == [1]


@pytest.mark.parametrize("left", [1, 30, 900])
def test_what_all_processes_miss_of_a_file_that_became_shorter_is_told(
    tmp_path, vocabulary, monkeypatch, left
):
    monkeypatch.setattr(ranges, "SMALLEST", 8000)
    monkeypatch.setattr(ranges, "DENSE", 0)
    forked = ranges.forked
    path = tmp_path / "messages"
    path.write_text(LINE.format(n=1) * 1000)

    def shortened(*args):
        """Begin the processes when the file has become shorter than their ranges say."""
        os.truncate(path, left * len(LINE.format(n=1)))
        return forked(*args)

    monkeypatch.setattr(ranges, "forked", shortened)
    options = LogOptions(now=1.77e9, jobs=4, whole=0, block=5000)
    [collected] = [collect_log(source, vocabulary, options) for source in open_input(str(path))]
    assert len([f for f in collected.facts if f.kind == "hca.cq_error"]) == left
    [problem] = [p for p in collected.inputs[0].problems if not p.remark]
    assert problem.what == "the file became shorter while it was read"
    assert problem.where.endswith(f": byte {path.stat().st_size}")
    assert {c.status for c in collected.coverage} == {"partial"}


def fail(error):
    def failing(*_):
        raise error

    return failing


@pytest.mark.parametrize("error", [UserError("no"), MemoryError(), RuntimeError("a fault")])
def test_what_a_process_ends_with_is_raised(vocabulary, folder, monkeypatch, error, capfd):
    monkeypatch.setattr("rdmadiag.logs.parallel.read_target", fail(error))
    with pytest.raises(type(error)) as raised:
        run(vocabulary, folder, 2)
    assert "read_target" in raised.value.__notes__[0]
    assert capfd.readouterr().err == ""


def test_a_process_that_is_killed_is_said(vocabulary, folder, monkeypatch):
    monkeypatch.setattr("rdmadiag.logs.parallel.read_target", lambda *_: os._exit(7))
    with pytest.raises(UserError, match="was killed"):
        run(vocabulary, folder, 2)


def test_no_more_processes_or_threads(vocabulary, folder, monkeypatch):
    monkeypatch.setattr(os, "fork", fail(BlockingIOError(11, "Resource temporarily unavailable")))
    with pytest.raises(UserError, match="jobs 1"):
        run(vocabulary, folder, 2)
    assert run(vocabulary, folder, 1)[0] == [str(folder / "dump")]
    monkeypatch.setattr(threading.Thread, "start", fail(RuntimeError("can't start new thread")))
    with pytest.raises(UserError, match="jobs 1"):
        list(ahead([1, 2], str))
