"""Several files at the same time give the same as one after another."""

import gzip

import pytest

from rdmadiag.inputs import expand
from rdmadiag.logs.collect import LogCollector
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
