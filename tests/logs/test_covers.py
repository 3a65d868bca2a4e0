"""What collectors of containers put before each line is taken for what it is, and nothing else is taken for it."""

import gzip

import pytest

from tests.logs.test_properties import trace

MESSAGES = [
    "mlx4_core 0000:46:00.0: CQ error on CQN 0x419",
    "RDS/IB: connection <10.1.1.1,10.1.1.2,0> dropped due to 'qp event'",
    "nvme nvme1: Reconnecting in 10 seconds...",
] * 4
TRACE = trace("", 6017)

TIME = "2024-08-14T03:00:00.123456789Z"
WALL = 1723604400.123457
COVERS = {
    "logcli": (f'{TIME} {{app="dmesg", host="cel07.example.com", unit="a \\"b\\""}} ', "cel07"),
    "logcli, several blanks": (f'{TIME} {{node_name="cel07",app="dmesg"}}   ', "cel07"),
    "container runtime": (f"{TIME} stdout F ", ""),
    "kubectl": ("[pod/driver-abc/mlx] ", "driver-abc"),
    "kubectl with times": (f"[pod/driver-abc/mlx] {TIME} ", "driver-abc"),
    "times only": (f"{TIME} ", ""),
    "compose": ("driver-1  | ", "driver-1"),
    "compose with times": (f"driver-1  | {TIME} ", "driver-1"),
    "compose, attached": ("dmesg.1.k2x@cel07    | ", "cel07"),
    "kubetail": ("[driver-abc mlx] ", "driver-abc"),
    "stern": ("driver-abc mlx ", "driver-abc"),
    "stern with times": (f"driver-abc mlx {TIME} ", "driver-abc"),
    "stern, all namespaces": ("kube-system driver-x7k2q mlx ", "driver-x7k2q"),
    "stern, a short namespace": ("default driver-abc mlx ", "driver-abc"),
}
BODIES = {
    "bare": ("", "", None),
    "dmesg": ("[  100.500000] ", "", 100.5),
    "syslog": ("Aug 14 03:00:00 cel09 kernel: [  100.500000] ", "cel09", 100.5),
}
WAYS = {"by line": {"whole": 1 << 30}, "sparse": {"whole": 0}, "short": {"whole": 0, "block": 700}}


def covered(cover, head, messages=MESSAGES):
    return "".join(f"{cover}{head}{m}\n" for m in messages)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", COVERS)
def test_host_time_and_message(read, name, body, way):
    cover, outer = COVERS[name]
    head, inner, uptime = BODIES[body]
    log = read(covered(cover, head), **WAYS[way])
    assert log.messages == MESSAGES
    assert [f.where.line for f in log.facts] == list(range(1, 13))
    assert {f.host for f in log.facts} == {inner or outer}
    assert {f.time.uptime for f in log.facts} == {uptime}
    walls = {f.time.wall and round(f.time.wall, 6) for f in log.facts}
    assert walls == {WALL if TIME in cover else 1755140400.0 if inner else None}
    assert (log.info.records, log.info.unparsed) == (12, 0)


@pytest.mark.parametrize("change", ["crlf", "gz", "no end"])
def test_bytes_do_not_matter(read, change):
    data = covered(COVERS["compose"][0], BODIES["dmesg"][0]).encode()
    changed = {
        "crlf": data.replace(b"\n", b"\r\n"),
        "gz": gzip.compress(data),
        "no end": data.rstrip(b"\n"),
    }
    for way in WAYS.values():
        log = read(changed[change], **way)
        assert log.messages == MESSAGES
        assert {f.host for f in log.facts} == {"driver-1"}


def essence(log):
    return sorted((f.kind, f.host, f.time.wall, repr(f.fields)) for f in log.facts)


@pytest.mark.parametrize("name", COVERS)
def test_a_trace_in_a_big_log_is_the_one_of_a_small_log(tmp_path, diagnose, name):
    path, cover = tmp_path / "log", COVERS[name][0]
    wanted = [*MESSAGES, *TRACE]
    path.write_text(covered(cover, "", wanted))
    small = essence(diagnose(path))
    padding = ["systemd[1]: Started Session 5 of user root."] * 30_000
    path.write_text(covered(cover, "", wanted + padding))
    log = diagnose(path)
    assert log.info.bytes > 1 << 20
    assert essence(log) == small
    path.write_text(covered(cover, "", padding + wanted))
    log = diagnose(path)
    assert essence(log) == small
    [hung] = [f for f in log.facts if f.kind == "kernel.hung_task"]
    assert "rdma_destroy_id" in repr(hung.fields)
    assert hung.where.line == 30_013


NOT_COVERED = {
    "prose": "the driver failed to come up\n" * 6 + f"{MESSAGES[0]}\n",
    "words": "".join(
        f"some-node word{n} {m} and more words\n"
        for n, m in enumerate(["is", "was", "will be"] * 3)
    ),
    "table": "name    | value | unit\n" + "".join(f"key-{n}   | {n}     | s\n" for n in range(9)),
    "iostat": "node-1 sda   0.00   1.00\nnode-2 sdb   0.00   2.00\nnode-3 sdc 1.0 2.0\n",
}


@pytest.mark.parametrize("name", NOT_COVERED)
def test_what_is_no_cover(read, name):
    log = read(NOT_COVERED[name])
    assert {f.host for f in log.facts} == {""}
    assert {f.time.wall for f in log.facts} == {None}
    first = NOT_COVERED[name].split("\n")[0]
    assert log.messages[0].startswith(first)


def test_ordinary_logs_are_not_covered(read):
    for head, host in (
        ("Aug 14 03:00:00 cel07 kernel: ", "cel07"),
        ("2024-08-14T03:00:00.123456+00:00 cel07 kernel: ", "cel07"),
        ("2024-08-14T03:00:00Z cel07 kernel: ", "cel07"),
        ("[  100.500000] ", ""),
    ):
        lines = [f"{head}worker-1 main | {m}" for m in MESSAGES]
        log = read("\n".join(lines) + "\n")
        assert log.messages == [line.removeprefix(head) for line in lines]
        assert {f.host for f in log.facts} == {host}


def test_few_lines_that_look_covered_are_not(read):
    odd = [f"driver-1  | {MESSAGES[0]}", f"[pod/driver-abc/mlx] {MESSAGES[0]}"]
    log = read(covered("", "Aug 14 03:00:00 cel07 kernel: ", MESSAGES + odd))
    assert log.messages == MESSAGES + odd
    assert {f.host for f in log.facts} == {"cel07"}
