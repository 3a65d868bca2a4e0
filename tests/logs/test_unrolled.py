"""A JSON text that holds many records on one line is read record by record."""

import gzip
import io
import json

import pytest

from rdmadiag.inputs.unrolled import MOST, Unrolled, is_one_text

FIRST = 1_723_604_400
MESSAGES = [
    "mlx4_core 0000:46:00.0: CQ error on CQN 0x419",
    'RDS/IB: a "quoted" \\ ] } , [ { word, caf\u00e9',
    "nvme nvme1: Reconnecting in 10 seconds...",
]
TIMES = range(FIRST, FIRST + 3)
ISO = [f"2024-08-14T03:00:{n:02}Z" for n in range(3)]


def journal():
    return [
        {"__REALTIME_TIMESTAMP": f"{t}000000", "_HOSTNAME": "cel07", "MESSAGE": m}
        for t, m in zip(TIMES, MESSAGES, strict=True)
    ]


def elastic():
    hits = [
        {"_index": "x", "_source": {"@timestamp": t, "host": {"name": "cel07"}, "message": m}}
        for t, m in zip(ISO, MESSAGES, strict=True)
    ]
    return {"took": 5, "_shards": {"total": 5}, "hits": {"total": {"value": 3}, "hits": hits}}


def loki(order=1):
    values = [[f"{t}000000000", m] for t, m in zip(TIMES, MESSAGES, strict=True)]
    streams = [{"stream": {"app": "x", "host": "cel07"}, "values": values[::order]}]
    data = {"resultType": "streams", "result": streams, "stats": {"summary": {"a": [{}]}}}
    return {"status": "success", "data": data}


def splunk():
    rows = [{"_time": t, "host": "cel07", "_raw": m} for t, m in zip(ISO, MESSAGES, strict=True)]
    return {"preview": False, "messages": [], "fields": [{"name": "_raw"}], "results": rows}


def graylog():
    rows = [
        {"message": {"timestamp": t, "host": "cel07", "message": m}, "index": "g"}
        for t, m in zip(ISO, MESSAGES, strict=True)
    ]
    return {"messages": rows, "total_results": 3}


TEXTS = {
    "jq -s": journal(),
    "newest first": journal()[::-1],
    "elasticsearch": elastic(),
    "loki": loki(),
    "loki, newest first": loki(-1),
    "splunk": splunk(),
    "graylog": graylog(),
}


@pytest.mark.parametrize("whole", [0, 1 << 30])
@pytest.mark.parametrize("name", TEXTS)
def test_every_record(read, name, whole):
    newest_first = name.endswith("newest first")
    for text in (
        json.dumps(TEXTS[name]),
        json.dumps(TEXTS[name], separators=(",", ":"), ensure_ascii=False) + "\n",
        "\ufeff" + json.dumps(TEXTS[name]),
        gzip.compress(json.dumps(TEXTS[name]).encode()),
    ):
        log = read(text, whole=whole)
        assert log.messages == MESSAGES
        assert [f.time.wall for f in log.facts] == list(TIMES)
        assert {f.host for f in log.facts} == {"cel07"}
        assert [f.where.line for f in log.facts] == ([3, 2, 1] if newest_first else [1, 2, 3])
        assert (log.info.records, log.info.unparsed) == (3, 0)
        assert "one JSON text" in log.problems
        assert {c.status for c in log.collected.coverage} == {"complete"}


def test_answers_in_several_lines(read):
    text = json.dumps(elastic(), indent=2)
    windows = text.replace("\n", "\r\n")
    for data in (text, windows, windows.encode("utf-16")):
        assert read(data).messages == MESSAGES
    log = read("\n".join(json.dumps([entry]) for entry in journal()) + "\n")
    assert log.messages == MESSAGES


def test_lines_of_json_are_no_answers():
    lines = [{"status": "x", "events": [{"message": "a"}], "message": "b"}] * 2
    assert not is_one_text("\n".join(map(json.dumps, lines)).encode())
    assert not is_one_text(json.dumps(journal()[0]).encode())
    assert not is_one_text(json.dumps(journal(), indent=1).encode())
    assert not is_one_text(b"[1, 2, 3]\n")
    assert not is_one_text(b"[ 12.345678] {x}\n")


@pytest.mark.parametrize("text", [json.dumps(journal())[:-30], json.dumps(journal())[:-1] + "x"])
def test_what_is_before_damage_is_read_and_damage_is_told(read, text):
    log = read(text)
    assert log.messages[:2] == MESSAGES[:2]
    assert "cut or damaged" in log.problems
    assert {c.status for c in log.collected.coverage} == {"partial"}


def unrolled(text):
    told = []
    stream = Unrolled(io.BytesIO(text), lambda what, offset: told.append((what, offset)))
    return b"".join(iter(lambda: stream.read(4096), b"")), told


def test_records_that_lie_across_what_is_read_at_a_time():
    records = [{"MESSAGE": "x" * n} for n in (10, 65_500, 65_536, 3, 200_000, 131_072, 5)] * 2
    lines, told = unrolled(json.dumps(records).encode())
    assert [json.loads(line) for line in lines.splitlines()] == records
    assert not told


@pytest.mark.parametrize(
    "text",
    [
        b'[{"a":' * 300_000,
        b'[{"a":"' + b"x" * 3 * MOST,
        b'[{"a":[' + b"1," * MOST,
        b"[{",
        b'{"hits":{',
    ],
)
def test_hostile_texts_are_bounded(text):
    lines, told = unrolled(text)
    assert not lines
    assert len(told) == 1
    assert told[0][1] < MOST


def test_a_long_line_takes_little_memory(tmp_path):
    import tracemalloc

    path = tmp_path / "long"
    entry = json.dumps(journal()[0])
    path.write_text("[" + ",".join([entry] * 100_000) + "]")
    with path.open("rb") as file:
        stream = Unrolled(file, lambda *_: None)
        tracemalloc.start()
        count = sum(data.count(b"\n") for data in iter(lambda: stream.read(1 << 16), b""))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert count == 100_000
    assert most < 2 << 20
