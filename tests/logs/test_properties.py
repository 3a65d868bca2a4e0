"""The facts of a log do not change with how its bytes come."""

import bz2
import gzip
import json
import lzma
import os
import random
import re
from itertools import pairwise

import lz4.frame
import pytest
import zstandard

from rdmadiag.errors import UserError

IGNORED = {"log.span"}


def busy_log(seed, lines=3000, hosts=("db01",), boots=1):
    """A syslog of ordinary services with RDMA records, traces and wrapped ones between."""
    rng = random.Random(seed)
    made, uptime, second = [], dict.fromkeys(hosts, 1000.0), 0
    for n in range(lines):
        second += rng.randrange(3)
        host = rng.choice(hosts)
        uptime[host] += rng.random() * 3
        stamp = f"Sep {1 + second // 86400:2d} {second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02} {host} "
        kernel = f"{stamp}kernel: [{uptime[host]:12.6f}] "
        pick = rng.random()
        if pick < 0.02:
            made.append(
                f"{kernel}RDS/IB: connection <192.168.1.{n % 250},192.168.1.9,0> dropped due to 'qp event'"
            )
        elif pick < 0.03:
            made.append(f"{kernel}mlx4_core 0000:46:00.0: CQ access violation on CQN 000{n % 900}")
        elif pick < 0.04:
            made += trace(kernel, n)
        elif pick < 0.05:
            made.append(f"{stamp}last message repeated {n} times")
        elif pick < 0.06:
            made += [
                f"{stamp}java[7]: Exception in thread",
                "\tat com.example.Foo.bar(Foo.java:12)",
                "",
                "Caused by: x",
            ]
        elif boots > 1 and pick < 0.061:
            uptime[host] = 0.0
            made.append(
                f"{stamp}kernel: [    0.000000] Linux version 4.14.35-{n} (build@host) #2 SMP"
            )
        else:
            made.append(f"{stamp}systemd[1]: Started Session {n} of user root.")
    return "\n".join(made) + "\n"


def trace(kernel, n):
    return [
        kernel + x
        for x in (
            f"INFO: task kworker/u98:3:{n} blocked for more than 120 seconds.",
            "      Tainted: G           OE   4.14.35-1902.300.11.el7uek.x86_64 #2",
            '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
            f"kworker/u98:3   D    0 {n}      2 0x80000080",
            "Workqueue: nvme-wq nvme_rdma_reconnect_ctrl_work [nvme_rdma]",
            "Call Trace:",
            " __schedule+0x2bc/0x895",
            " schedule+0x36/0x7c",
            " destroy_cm_id+0xfe/0x220 [iw_cm]",
            " rdma_destroy_id+0x224/0x300 [rdma_cm]",
            " process_one_work+0x169/0x3a6",
            " worker_thread+0x4d/0x3e5",
            " kthread+0x105/0x138",
            " ret_from_fork+0x24/0x49",
        )
    ]


def essence(log, *, line=True, text=True, order=False):
    """What of the facts must be the same."""
    rows = []
    for f in log.collected.facts:
        if f.kind in IGNORED:
            continue
        time = (f.time.wall, f.time.uptime, f.time.boot) + ((f.time.order,) if order else ())
        place = (f.where.line, f.where.offset) if line else ()
        rows.append((f.kind, f.host, time, place, f.text if text else "", repr(f.fields)))
    return sorted(rows, key=repr)


@pytest.fixture(scope="module")
def text():
    return busy_log(1, boots=3)


@pytest.fixture
def whole(tmp_path, diagnose, text):
    path = tmp_path / "messages"
    path.write_text(text)
    return diagnose(path, whole=1 << 30)


def test_there_is_something_to_compare(whole):
    kinds = {f.kind for f in whole.collected.facts}
    assert {"rds.connection_dropped", "hca.cq_error", "kernel.hung_task"} <= kinds


@pytest.mark.parametrize("block", [64, 1000, 4096, 65_536, 1 << 20])
def test_block_size(tmp_path, diagnose, whole, block):
    log = diagnose(tmp_path / "messages", whole=0, block=block)
    assert essence(log) == essence(whole)
    assert (log.info.records, log.info.unparsed) == (whole.info.records, whole.info.unparsed)


def test_without_hyperscan(tmp_path, diagnose, whole):
    log = diagnose(tmp_path / "messages", whole=0, hyperscan=False)
    assert essence(log) == essence(whole)


@pytest.mark.parametrize(
    "pack",
    [
        *(gzip.compress, lzma.compress, bz2.compress, zstandard.ZstdCompressor().compress),
        lz4.frame.compress,
    ],
)
def test_compression(tmp_path, diagnose, whole, text, pack):
    path = tmp_path / "packed"
    path.write_bytes(pack(text.encode()))
    assert essence(diagnose(path, whole=0)) == essence(whole)


def test_line_ends(tmp_path, diagnose, whole, text):
    path = tmp_path / "crlf"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    for size in (0, 1 << 30):
        log = diagnose(path, whole=size)
        assert essence(log, line=False) == essence(whole, line=False)


def test_missing_last_newline(tmp_path, diagnose, whole, text):
    path = tmp_path / "cut"
    path.write_text(text.rstrip("\n"))
    for size in (0, 1 << 30):
        assert essence(diagnose(path, whole=size)) == essence(whole)


@pytest.mark.parametrize("size", [0, 1 << 30])
def test_rotated_files(tmp_path, diagnose, whole, text, size):
    folder = tmp_path / "log"
    folder.mkdir()
    lines = text.split("\n")
    cuts = [0, 700, 1500, 2600, len(lines)]
    for n, (a, b) in enumerate(pairwise(cuts)):
        data = ("\n".join(lines[a:b]) + "\n").encode()
        left = len(cuts) - 2 - n
        name = f"messages.{left}.gz" if left > 1 else f"messages.{left}" if left else "messages"
        (folder / name).write_bytes(gzip.compress(data, mtime=0) if left > 1 else data)
    log = diagnose(folder, whole=size)
    assert essence(log, line=False) == essence(whole, line=False)


def test_trace_that_goes_on_in_the_next_file_is_of_the_first_one(tmp_path, diagnose):
    lines = trace("Sep  1 10:00:00 db01 kernel: [ 1000.000000] ", 5)
    (tmp_path / "messages.1").write_text("\n".join(lines[:7]) + "\n")
    (tmp_path / "messages").write_text("\n".join(lines[7:]) + "\n")
    log = diagnose(tmp_path / "messages.1", tmp_path / "messages")
    log = diagnose(tmp_path)
    [fact] = [f for f in log.facts if f.kind == "kernel.hung_task"]
    assert fact.where.input == str(tmp_path / "messages.1")
    assert "rdma_destroy_id" in repr(fact.fields)


def test_two_hosts_merged(tmp_path, diagnose):
    both = busy_log(2, hosts=("db01", "cel07"), boots=2)
    (tmp_path / "both").write_text(both)
    merged = essence(diagnose(tmp_path / "both", whole=0), line=False)
    alone = []
    for host in ("db01", "cel07"):
        path = tmp_path / host
        path.write_text("\n".join(x for x in both.split("\n") if f" {host} " in x) + "\n")
        alone += essence(diagnose(path, whole=0), line=False)
    assert sorted(merged, key=repr) == sorted(alone, key=repr)


def test_tarball_and_directory_give_the_same(tmp_path, diagnose, text):
    import tarfile

    folder = tmp_path / "sos" / "var" / "log"
    folder.mkdir(parents=True)
    (folder / "messages").write_text(text)
    with tarfile.open(tmp_path / "sos.tar.xz", "w:xz") as tar:
        tar.add(tmp_path / "sos", "sos")
    assert essence(diagnose(tmp_path / "sos.tar.xz")) == essence(diagnose(tmp_path / "sos"))


def as_iso(line):
    return re.sub(r"^Sep ([ \d]\d) (\S+) ", lambda m: f"2025-09-{int(m[1]):02}T{m[2]}+00:00 ", line)


def as_json(line):
    entry = {"__REALTIME_TIMESTAMP": "1756684800000000", "_TRANSPORT": "kernel"}
    return json.dumps({**entry, "MESSAGE": line.partition("] ")[2]})


STYLES = {
    "dmesg": lambda x: x.partition(" kernel: ")[2],
    "iso": as_iso,
    "json": as_json,
    "quoted": lambda x: "> " + x,
}


@pytest.mark.parametrize("style", STYLES)
def test_same_kinds_in_other_formats(tmp_path, diagnose, whole, text, style):
    lines = [x for x in text.split("\n") if " kernel: [" in x]
    path = tmp_path / "other"
    path.write_text("\n".join(STYLES[style](x) for x in lines) + "\n")

    def kinds(log):
        found = ((f.kind, f.fields.get("cqn"), f.fields.get("pid")) for f in log.facts)
        # "last message repeated" has no kernel stamp, so the other formats do not have those lines
        return sorted(k for k in found if k[0] not in ("log.repeated", "rds.connection_dropped"))

    for size in (0, 1 << 30):
        assert kinds(diagnose(path, whole=size)) == kinds(whole)


@pytest.mark.parametrize("jobs", [2, 5])
def test_ranges_read_by_several_processes(tmp_path, diagnose, whole, monkeypatch, jobs):
    monkeypatch.setattr("rdmadiag.logs.ranges.SMALLEST", 8000)
    monkeypatch.setattr("rdmadiag.logs.ranges.DENSE", 0)
    log = diagnose(tmp_path / "messages", whole=0, block=5000, jobs=jobs)
    assert essence(log) == essence(whole)
    assert abs(log.info.records - whole.info.records) <= jobs


def test_range_process_that_dies_is_an_error(tmp_path, diagnose, whole, monkeypatch):
    monkeypatch.setattr("rdmadiag.logs.ranges.SMALLEST", 8000)
    monkeypatch.setattr("rdmadiag.logs.ranges.DENSE", 0)
    monkeypatch.setattr("rdmadiag.logs.ranges._Worker.take", lambda *_: os._exit(7))
    with pytest.raises(UserError, match="was killed"):
        diagnose(tmp_path / "messages", whole=0, block=5000, jobs=2)


COVER = "fabric-driver  | "


@pytest.mark.parametrize("block", [0, 700, 4096, 1 << 20])
def test_lines_with_the_name_of_a_container_before_them(tmp_path, diagnose, text, block):
    import textwrap

    lines = [part for line in text.split("\n") for part in textwrap.wrap(line, 76) or [""]]
    path = tmp_path / "messages"
    logs = []
    for cover in ("", COVER):
        path.write_text("".join(f"{cover}{line}\n" for line in lines))
        size = {"whole": 0, "block": block} if cover and block else {"whole": 1 << 30}
        logs.append(essence(diagnose(path, **size), line=False, text=False))
    assert logs[0] == logs[1]


@pytest.mark.parametrize(("seed", "block"), [(8, 700), (9, 1500)])
def test_repetition_at_the_start_of_a_block(tmp_path, diagnose, seed, block):
    """It is of the line before it, which was not read, and of none further up."""
    path = tmp_path / "messages"
    path.write_text(busy_log(seed, lines=1500))
    read = [
        essence(diagnose(path, **o)) for o in ({"whole": 1 << 30}, {"whole": 0, "block": block})
    ]
    assert read[0] == read[1]
