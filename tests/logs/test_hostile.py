"""
Input that was made, or broken, to hurt: bounded memory, nothing written, every cut reported.

Each runs in a child process of its own, so that its memory can be measured.
"""

import gzip
import json
import os
import random
import subprocess
import sys
import textwrap

import lz4.frame
import pytest

from rdmadiag.data import data_dir

MAX_RSS_MIB = 200
GOOD = b"Sep 29 22:32:33 db01 kernel: mlx4_core 0000:46:00.0: CQ access violation on CQN 000419\n"

CHILD = """
    import json, os, sys
    from rdmadiag.inputs import open_input
    from rdmadiag.logs.collect import LogCollector
    from rdmadiag.logs.options import LogOptions
    from rdmadiag.logs.vocabulary import Vocabulary
    from pathlib import Path

    def watch(event, args):
        if event == "open" and isinstance(args[0], (str, bytes)) and (
            args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or any(c in (args[1] or "") for c in "wax+")
        ):
            raise SystemExit(f"wrote {args}")

    sys.dont_write_bytecode = True
    sys.addaudithook(watch)
    collector = LogCollector(Vocabulary.load([Path(sys.argv[1])]), LogOptions(now=1.77e9))
    out = {"kinds": [], "problems": [], "records": 0, "unparsed": 0, "lines": []}
    for name in sys.argv[2:]:
        for part in collector.collect(open_input(name)):
            out["kinds"] += [f.kind for f in part.facts if f.kind != "log.span"]
            out["lines"] += [f.where.line for f in part.facts if f.kind != "log.span"]
            out["problems"] += [f"{p.what} | {p.where}" for i in part.inputs for p in i.problems]
            out["records"] += sum(i.records for i in part.inputs)
            out["unparsed"] += sum(i.unparsed for i in part.inputs)
    # ru_maxrss would count what the parent held when it forked.
    peak = next(row for row in open("/proc/self/status") if row.startswith("VmHWM"))
    out["rss"] = int(peak.split()[1]) / 1024
    print(json.dumps(out))
"""


@pytest.fixture
def hostile(tmp_path):
    def run(data, *more):
        paths = []
        for number, each in enumerate([data, *more]):
            path = tmp_path / f"input{number}"
            path.write_bytes(each)
            paths.append(str(path))
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(CHILD), str(data_dir("rules")), *paths],
            capture_output=True,
            text=True,
            timeout=50,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        out = json.loads(done.stdout)
        assert out["rss"] < MAX_RSS_MIB
        assert len(list(tmp_path.iterdir())) == len(paths)
        return out

    return run


def gzipped(pieces):
    packer = gzip.zlib.compressobj(9, gzip.zlib.DEFLATED, 31)
    return b"".join(map(packer.compress, pieces)) + packer.flush()


def lz4ed(pieces):
    packer = lz4.frame.LZ4FrameCompressor(block_size=lz4.frame.BLOCKSIZE_MAX4MB)
    return packer.begin() + b"".join(map(packer.compress, pieces)) + packer.flush()


PACKERS = pytest.mark.parametrize("pack", [gzipped, lz4ed])


@PACKERS
def test_bomb(hostile, pack):
    bomb = pack([bytes(1 << 20)] * 512)
    assert len(bomb) < 2_500_000
    out = hostile(bomb, GOOD)
    assert out["kinds"] == ["hca.cq_error"]
    assert any("do not look like a log" in p for p in out["problems"])


@PACKERS
def test_bomb_of_lines(hostile, pack):
    piece = b"Sep 29 22:32:33 db01 systemd[1]: Started Session of user root.\n" * 20_000
    out = hostile(pack([piece] * 100 + [GOOD]))
    assert out["kinds"] == ["hca.cq_error"]
    assert out["records"] == out["lines"][0] == 2_000_001


def test_line_of_60_megabytes_then_a_hit(hostile):
    out = hostile(GOOD + b"x" * 60_000_000 + b"\n" + GOOD)
    assert out["kinds"] == ["hca.cq_error"] * 2
    assert out["lines"] == [1, 3]
    assert any("1 lines are longer than 64 KiB" in p for p in out["problems"])


def test_hit_late_in_a_long_line_is_cut_off_and_reported(hostile):
    out = hostile(GOOD + GOOD[:20] + b"x" * 100_000 + GOOD + GOOD)
    assert out["lines"] == [1, 3]
    assert any("longer than 64 KiB" in p for p in out["problems"])


def test_many_long_lines(hostile):
    out = hostile((GOOD[:29] + b"y" * 200_000 + b"\n") * 100 + GOOD)
    assert out["kinds"] == ["hca.cq_error"]
    assert out["lines"] == [101]


def test_random_bytes(hostile):
    data = random.Random(1).randbytes(3_000_000)
    out = hostile(data, GOOD)
    assert out["kinds"] == ["hca.cq_error"]
    assert any("not text" in p for p in out["problems"])


def test_nul_block_then_a_hit(hostile):
    out = hostile(GOOD + bytes(5_000_000) + GOOD + b"\n" + GOOD)
    assert out["kinds"] == ["hca.cq_error"] * 3


@PACKERS
def test_truncated_file_among_good_ones(hostile, pack):
    packed = pack([GOOD * 5, random.Random(1).randbytes(400_000).hex().encode()])
    out = hostile(packed[: len(packed) // 2], GOOD)
    assert out["kinds"] == ["hca.cq_error"] * 6
    assert any("too early" in p for p in out["problems"])


def test_invalid_utf8_and_escapes(hostile):
    lines = [GOOD[:-1] + b" \x1b]0;evil\x07\x1b[2J\xff\xfe \xe2\x80\xae\n"] * 1000
    assert hostile(b"".join(lines))["kinds"] == ["hca.cq_error"] * 1000


def test_flood_of_one_message(hostile):
    lines = b"".join(
        b"Sep 29 %02d:%02d:%02d db01 kernel: mlx4_core 0000:46:00.0: CQ access violation on CQN %06x\n"
        % (n // 3600 % 24, n // 60 % 60, n % 60, n)
        for n in range(30_000)
    )
    out = hostile(lines)
    assert len(out["kinds"]) == 12_000
    assert any("18000 facts hca.cq_error" in p for p in out["problems"])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n" * 100_000,
        b"\r" * 200_000,
        b"[" * 200_000,
        b"> " * 100_000,
        b"{" * 100_000 + b"\n" + GOOD,
        b'{"MESSAGE":' + b"[" * 50_000 + b"\n",
        b'"' * 100_001 + b"\n" + b"a,b\n" * 100,
        b"__CURSOR=a\nMESSAGE\n" + b"\xff" * 8 + b"x\n\n" + b"__CURSOR=b\nMESSAGE=x\n\n",
        b"Sep 29 22:32:33 " * 10_000,
        b"[    1.000000] a " * 20_000,
        (b"a" * 70 + b"\n") * 20_000,
        b"=\n" * 50_000,
        b"2018-09-29T22:32:33" + b"0" * 100_000,
        b"\x1b[" * 100_000,
        b"99999999-99-99T99:99:99 a kernel: x\n9999-12-31T23:59:59+00:00 a kernel: x\n",
        b"[99999999999999999999.000000] x\n[9999999999.000000] x\n",
        b"1,1,999999999999999999,-;x\n",
        b'{"__REALTIME_TIMESTAMP":"9999999999999999999","MESSAGE":"x"}\n' * 3,
        b"Feb 29 10:00:00 a kernel: x\n" * 3,
        b"setting system clock to 9999-99-99T99:99:99\n",
    ],
)
def test_odd_texts_are_read_to_their_end(tmp_path, diagnose, data):
    path = tmp_path / "x"
    for text in (data, data + b"\n" + GOOD):
        path.write_bytes(text)
        for size in (0, 1 << 30):
            diagnose(path, whole=size, block=5000)


def test_file_that_is_cut_short_while_it_is_read(tmp_path, vocabulary):
    from rdmadiag.inputs import open_input
    from rdmadiag.logs.collect import collect_log
    from rdmadiag.logs.options import LogOptions

    path = tmp_path / "x"
    path.write_bytes(GOOD * 10_000)
    for source in open_input(str(path)):
        os.truncate(path, len(GOOD) * 100)
        collected = collect_log(source, vocabulary, LogOptions(now=1.77e9))
    assert len([f for f in collected.facts if f.kind == "hca.cq_error"]) == 100
    assert "became shorter" in collected.inputs[0].problems[0].what
    assert {c.status for c in collected.coverage} == {"partial"}


def test_what_was_not_read_was_not_looked_for(tmp_path, vocabulary):
    from rdmadiag.inputs import open_input
    from rdmadiag.logs.collect import LogCollector
    from rdmadiag.logs.options import LogOptions

    (tmp_path / "twice").write_bytes(gzip.compress(gzip.compress(GOOD)))
    (tmp_path / "long").write_bytes(GOOD + b"x" * 3_000_000 + b"\n" + GOOD)
    for name, status in (("twice", "failed"), ("long", "partial")):
        sources = open_input(str(tmp_path / name))
        parts = list(LogCollector(vocabulary, LogOptions(now=1.77e9)).collect(sources))
        rows = [c for part in parts for c in part.coverage if c.kind == "rds.connection_dropped"]
        assert [row.status for row in rows] == [status]


def test_hosts_without_end_are_not_kept(vocabulary):
    from rdmadiag.facts.model import Moment
    from rdmadiag.logs.events import EventReader
    from rdmadiag.logs.records import Record

    reader = EventReader(vocabulary)
    for n in range(1000):
        reader.read(Record(n, n, b"", f"h{n}", Moment(), None, "", "kernel", "hello", 1), "x")
    assert len(reader._last) <= 64
