"""Dates in other orders than ISO 8601 are read where they can be read in one way only."""

import json

import pytest

from rdmadiag.logs.dates import order_of

MESSAGE = "RDS/IB: connection <10.1.1.1,10.1.1.2,0> dropped"
WALL = 1_538_260_353.0  # 2018-09-29T22:32:33Z
CLEAR = [
    "29/09/2018 22:32:33",
    "29.09.2018 22:32:33",
    "29-09-2018 22:32:33",
    "29-Sep-2018 22:32:33",
    "29 Sep 2018 22:32:33",
    "2018/09/29 22:32:33",
    "9/29/2018 10:32:33 PM",
    "9/29/2018, 10:32:33 p.m.",
    "2018-09-29 10:32:33 PM",
    "29/Sep/2018:22:32:33 +0000",
    "30/09/2018 00:32:33 +02:00",
    "29.09.2018 22:32:33 UTC",
]


@pytest.mark.parametrize("date", CLEAR)
def test_heads_and_fields(read, date):
    for text in (
        f"{date} cel07 kernel: {MESSAGE}\n{date} cel07 kernel: [   12.500000] {MESSAGE}\n",
        f"[{date}] cel07 kernel: {MESSAGE}\n" * 2,
        f'Time,Host,Message\n"{date}",cel07,"{MESSAGE}"\n"{date}",cel07,"{MESSAGE}"\n',
        (json.dumps({"time": date, "host": "cel07", "msg": MESSAGE}) + "\n") * 2,
    ):
        for size in (0, 1 << 30):
            log = read(text, whole=size)
            assert log.messages == [MESSAGE] * 2
            assert {f.host for f in log.facts} == {"cel07"}
            assert [f.time.wall for f in log.facts] == [WALL] * 2


@pytest.mark.parametrize(
    ("date", "iso"),
    [
        ("09/29/2018 12:00:00 AM", 1_538_179_200),
        ("09/29/2018 12:00:00 PM", 1_538_222_400),
        ("05/05/2018 12:00:00", 1_525_521_600),
        ("31/02/2018 12:00:00", None),
        ("29/09/2018 24:10:00", None),
        ("09/29/2018 13:00:00 PM", None),
        ("Sep 29 10:32:33 PM", None),
    ],
)
def test_noon_midnight_and_what_does_not_exist(read, date, iso):
    log = read(f"{date} cel07 kernel: {MESSAGE}\n")
    assert log.facts[0].time.wall == iso


def test_the_other_dates_of_the_log_tell(read):
    unclear = [f"05/09/2018 22:32:33 cel07 kernel: {MESSAGE}"]
    filler = ["05/09/2018 22:32:33 cel07 systemd[1]: Started Session 5 of user root."]
    for last, wall in (("15/09/2018", 1_536_186_753), ("05/25/2018", 1_525_905_153)):
        for between in (0, 20_000):  # the second time, the end of the file tells
            lines = [*unclear, *filler * between, f"{last} 22:32:33 cel07 kernel: x"]
            log = read("\n".join(lines) + "\n")
            assert log.facts[0].time.wall == wall
            assert "day or the month" not in log.problems


@pytest.mark.parametrize(
    "lines",
    [
        ["05/09/2018 22:32:33 cel07 kernel: {}"],
        [
            "05/09/2018 22:32:33 cel07 kernel: {}",
            "05/09/2018 22:32:34 cel07 a: until 15/09/2018 01:01:01",
        ],
        [
            "05/09/2018 22:32:33 cel07 kernel: {}",
            "15/09/2018 1:01:01 a: b",
            "09/15/2018 1:01:01 a: b",
        ],
    ],
)
def test_what_nothing_tells_is_left_undated_and_told(read, lines):
    log = read("\n".join(lines).format(MESSAGE) + "\n")
    assert (log.messages[0], log.facts[0].time.wall) == (MESSAGE, None)
    assert log.facts[0].host == "cel07"
    assert "day or the month first" in log.problems


@pytest.mark.parametrize(
    "head",
    ["Sep 29 22:32:33 cel07 app[3]: ", "2018-09-29T22:32:33Z cel07 app[3]: ", "[   12.500000] "],
)
def test_dates_that_messages_cite_are_no_dates_of_records(read, head):
    log = read(f"{head}RDS/IB: a job of 05/09/2018 22:32:33 is done\n" * 5)
    assert "day or the month" not in log.problems


def test_logs_without_such_dates_are_not_looked_at():
    assert order_of(["Sep 29 22:32:33 cel07 kernel: 2018-09-29 22:32:33, BIOS 05/09/2018"]) is None


@pytest.mark.parametrize("host", ["s_sys@cel07", "cel07/relay1", "src@cel07.example.com/relay1"])
def test_chains_of_syslog_ng(read, host):
    log = read(f"Sep 29 22:32:33 {host} kernel: [   12.500000] {MESSAGE}\n")
    assert (log.facts[0].host, log.messages) == ("cel07", [MESSAGE])


@pytest.mark.parametrize("size", [0, 1 << 30])
@pytest.mark.parametrize(
    "line",
    [
        'time="2018-09-29T22:32:33Z" level=info msg="RDS/IB: \\"x\\" y" host=cel07',
        'level=info ts=1538260353 host=cel07 caller=a.go:3 msg="RDS/IB: \\"x\\" y"',
        '_time=2018-09-29T22:32:33.000+00:00 host=cel07 _raw=RDS/IB: "x" y',
        'timestamp="29/09/2018 22:32:33" hostname=cel07.example.com message="RDS/IB: \\"x\\" y"',
    ],
)
def test_lines_of_named_values(read, line, size):
    log = read(f"{line}\n" * 3, whole=size)
    assert log.messages == ['RDS/IB: "x" y'] * 3
    assert {(f.host, f.time.wall) for f in log.facts} == {("cel07", WALL)}
    assert [f.where.line for f in log.facts] == [1, 2, 3]


def test_named_values_in_messages_are_no_records(read):
    line = 'Sep 29 22:32:33 cel07 kernel: time="2018-01-01T00:00:00Z" level=info msg="x"'
    log = read(f"{line}\n" * 3)
    assert log.messages == [line.partition("kernel: ")[2]] * 3
    log = read("a=1 b=2\nc=3\n")
    assert log.messages == ["a=1 b=2", "c=3"]
