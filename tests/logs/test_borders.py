"""A file that is read in parts gives what it gives as a whole, wherever the borders fall."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest

from rdmadiag.inputs.streams import FileStream
from rdmadiag.logs.borders import line_start

KERNEL = "Sep 29 22:32:33 db01 kernel: "
HIT = "mlx4_core 0000:46:00.0: CQ access violation on CQN 000419"
PLAIN = "Sep 29 22:32:33 db01 systemd[1]: Started Session of user root.\n"
LONG = {
    "nothing in it": KERNEL + "x" * 300_000 + "\n",
    "a hit at its beginning": KERNEL + HIT + "x" * 300_000 + "\n",
    "a hit where it is not read": KERNEL + "x" * 200_000 + HIT + "x" * 100_000 + "\n",
    "what a power cut leaves": KERNEL + "x" * 100_000 + "\0" * 100_000 + f"{KERNEL}{HIT}\n",
}


def essence(log):
    facts = [(f.kind, f.fields, f.where.line, f.where.offset, f.text) for f in log.facts]
    return facts, log.info.records, log.info.unparsed, log.problems


@pytest.fixture
def parted(tmp_path, diagnose, monkeypatch):
    """Return what a text gives as a whole, and in ranges of some 100 kB."""
    monkeypatch.setattr("rdmadiag.logs.ranges.SMALLEST", 100_000)
    monkeypatch.setattr("rdmadiag.logs.reading.is_flood", lambda *_: False)

    def read(text):
        path = tmp_path / "messages"
        path.write_text(text)
        return [essence(diagnose(path, jobs=n, whole=0, block=20_000)) for n in (1, 3)]

    return read


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("before", [0, 1100, 1700])
def test_a_long_line_across_a_border_is_one(parted, name, before):
    one, many = parted(PLAIN * before + LONG[name] + PLAIN * 1500 + KERNEL + HIT + "\n")
    assert many == one
    assert "1 lines are longer than 64 KiB" in one[-1] or name == "what a power cut leaves"


@pytest.mark.parametrize("before", range(4))
def test_a_record_of_two_lines_across_a_border_is_one(parted, before):
    record = f"{KERNEL}mlx4_core 0000:46:00.0: CQ access violation on\nCQN 000419 syndrome=0x2\n"
    one, many = parted(PLAIN * before + record * 4000)
    assert many == one
    assert sum(kind == "hca.cq_error" for kind, *_ in one[0]) == 4000


def of_day(second):
    return f"Sep 29 {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02} db01 kernel: "


@pytest.mark.parametrize("rest_first", [False, True])
def test_pieces_of_a_log_with_its_newest_record_first(tmp_path, diagnose, monkeypatch, rest_first):
    records = [
        [f"{of_day(n)}mlx4_core 0000:46:00.0: CQ access violation on", f"CQN {n:06x} syndrome=0x2"]
        for n in range(900)
    ]
    records.insert(500, [of_day(500) + "x" * 200_000])
    path = tmp_path / "messages"
    path.write_text(
        "\n".join(x for r in reversed(records) for x in (r[::-1] if rest_first else r)) + "\n"
    )
    seen = []
    for piece in (1 << 30, 9000, 9040):
        monkeypatch.setattr("rdmadiag.logs.turned.PIECE", piece)
        seen.append(essence(diagnose(path, block=20_000)))
    assert seen[0] == seen[1] == seen[2]
    assert [f[1]["cqn"] for f in seen[0][0] if f[0] == "hca.cq_error"] == list(range(900))


def test_a_trace_is_read_beyond_the_end_of_the_time_asked_for(tmp_path, diagnose, monkeypatch):
    frames = ["schedule+0x36/0x7c", "rds_ib_conn_path_shutdown+0x1b1/0x2c0 [rds_rdma]"] * 20
    lines = ["INFO: task kworker/u98:3:20451 blocked for more than 120 seconds.", "Call Trace:"]
    lines += [f" {frame}" for frame in [*frames, "ret_from_fork+0x24/0x49"]]
    messages = ["nothing"] * 5000 + lines + ["nothing"] * 5000
    path = tmp_path / "messages"
    path.write_text("".join(f"{of_day(n)}{x}\n" for n, x in enumerate(messages)))
    until = datetime(2025, 9, 29, 1, 23, 20, tzinfo=UTC).timestamp()
    seen = []
    for size in (1 << 30, 2000):
        monkeypatch.setattr("rdmadiag.logs.window.SMALLEST", size)
        log = diagnose(path, until=until, whole=0)
        seen.append([(f.kind, f.fields) for f in log.facts])
    assert seen[0] == seen[1]
    assert len(seen[0][0][1]["frames"]) == 41


def test_where_lines_begin(tmp_path):
    text = b"a\n" + b"b" * 3_000_000 + b"\n\nc"
    path = tmp_path / "x"
    path.write_bytes(text)
    starts = [0, 2, 3_000_003, 3_000_004, len(text)]
    with path.open("rb") as file:
        stream = FileStream(file.fileno(), print)
        for before, start in pairwise(starts):
            assert line_start(stream, before) == before
            assert line_start(stream, before + 1) == start
        assert line_start(stream, 1_500_000) == 3_000_003
        assert line_start(stream, len(text) + 5) == len(text)
