"""Times without a zone, when the user says of which zone they are."""

import json
from datetime import UTC, datetime

import pytest

from rdmadiag.commands.diagnose import moment
from rdmadiag.errors import UserError
from rdmadiag.logs.zones import zone_of

KERNEL = "kernel: nvme nvme0: x"
BERLIN = zone_of("Europe/Berlin")


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def times(log):
    return [
        datetime.fromtimestamp(f.time.wall, UTC).strftime("%Y-%m-%dT%H:%M:%S") for f in log.facts
    ]


@pytest.mark.parametrize(
    "line",
    [
        f"Jul  1 12:00:00 a {KERNEL}",
        f"Jul  1 12:00:00 2024 a {KERNEL}",
        f"2024-07-01T12:00:00 a {KERNEL}",
        f"2024-07-01 12:00:00 CEST a {KERNEL}",
        "[Mon Jul  1 12:00:00 2024] nvme nvme0: x",
        "2024-07-01T12:00:00,000000 nvme nvme0: x",
        json.dumps({"timestamp": "2024-07-01 12:00:00", "message": "nvme nvme0: x"}),
        '2024-07-01 12:00:00,a,"nvme nvme0: x"',
    ],
)
@pytest.mark.parametrize(
    ("zone", "utc"), [("Europe/Berlin", "10:00:00"), ("-05:30", "17:30:00"), ("UTC", "12:00:00")]
)
def test_times_without_a_zone_are_of_the_zone(read, line, zone, utc):
    log = read(f"{line}\n{line}\n", mtime=at("2024-07-02"), zone=zone_of(zone))
    assert set(times(log)) == {f"2024-07-01T{utc}"}
    assert f"times without a zone were taken for those of {zone}" in log.problems


@pytest.mark.parametrize(
    "line",
    [
        f"2024-07-01T12:00:00Z a {KERNEL}",
        f"2024-07-01T14:00:00+02:00 a {KERNEL}",
        f"Mon 2024-07-01 12:00:00 UTC a {KERNEL}",
        f"Jul  1 12:00:00 UTC a {KERNEL}",
        f"1719835200.000000 a {KERNEL}",
        f"2024-07-01T12:00:00Z relay app: x {KERNEL}",
        json.dumps({"timestamp": "2024-07-01T12:00:00Z", "message": "nvme nvme0: x"}),
        json.dumps({"__REALTIME_TIMESTAMP": "1719835200000000", "MESSAGE": "nvme nvme0: x"}),
        json.dumps({"_time": "2024-07-01T12:00:00Z", "_raw": f"2024-07-01T17:00:00 a {KERNEL}"}),
        f'"2024-07-01T12:00:00.000+0000",a,"Jul  1 17:00:00 a {KERNEL}"',
    ],
)
def test_times_with_a_zone_stay(read, line):
    log = read(f"{line}\n{line}\n", mtime=at("2024-07-02"), zone=BERLIN)
    assert set(times(log)) == {"2024-07-01T12:00:00"}
    assert "without a zone" not in log.problems


def test_times_with_and_without_a_zone_are_one_timeline(read):
    log = read(
        f"2024-07-01T10:00:00Z a {KERNEL}\nJul  1 12:00:01 a {KERNEL}\n"
        f"2024-07-01T12:00:02+02:00 a {KERNEL}\n",
        zone=BERLIN,
    )
    assert times(log) == [f"2024-07-01T10:00:0{n}" for n in range(3)]


def test_dmesg_e_counts_real_seconds(read):
    log = read(
        "[Mar31 01:59] one\n[  +2.000000] two\n[Mar31 03:01] three\n",
        mtime=at("2024-04-01"),
        zone=BERLIN,
    )
    assert times(log) == ["2024-03-31T00:59:00", "2024-03-31T00:59:02", "2024-03-31T01:01:00"]


def test_uptime_is_tied_to_the_clock_of_the_zone(read):
    log = read(
        "Jul  1 12:00:00 kernel: [  100.000000] a\n[  160.000000] b\n",
        mtime=at("2024-07-02"),
        zone=BERLIN,
    )
    assert times(log) == ["2024-07-01T10:00:00", "2024-07-01T10:01:00"]


def test_clocks_that_go_forward_begin_no_boot(read):
    log = read(
        "2024-03-31T01:50:00 a kernel: [  700.000000] x\n"
        "2024-03-31T03:00:00 a kernel: [ 1300.000000] y\n",
        zone=BERLIN,
    )
    assert times(log) == ["2024-03-31T00:50:00", "2024-03-31T01:00:00"]
    assert [f.time.boot for f in log.facts] == [0, 0]


def test_an_hour_that_comes_twice_is_told_by_the_order(read):
    clocks = ["01:59:00", "02:10:00", "02:50:00", "02:05:00", "02:50:01", "03:00:00"]
    log = read(
        "".join(f"Oct 27 {c} a {KERNEL}\n" for c in clocks), mtime=at("2024-10-28"), zone=BERLIN
    )
    assert times(log) == [
        *("2024-10-26T23:59:00", "2024-10-27T00:10:00", "2024-10-27T00:50:00"),
        *("2024-10-27T01:05:00", "2024-10-27T01:50:01", "2024-10-27T02:00:00"),
    ]


def test_an_hour_that_comes_twice_is_told_by_the_kernels_clock(read):
    log = read(
        "Oct 27 01:00:00 a kernel: [ 3600.000000] x\n"
        "Oct 27 02:30:00 a kernel: [ 9000.000000] first\n"
        "Oct 27 02:31:00 a kernel: [12660.000000] second\n",
        mtime=at("2024-10-28"),
        zone=BERLIN,
    )
    assert times(log)[1:] == ["2024-10-27T00:30:00", "2024-10-27T01:31:00"]


def test_an_hour_that_comes_twice_is_told_host_by_host(read):
    lines = [("02:50:00", "a"), ("02:49:00", "b"), ("02:10:00", "a"), ("02:51:00", "b")]
    log = read(
        "".join(f"Oct 27 {c} {h} {KERNEL}\n" for c, h in lines), mtime=at("2024-10-28"), zone=BERLIN
    )
    assert times(log) == [
        f"2024-10-27T{c}" for c in ("00:50:00", "00:49:00", "01:10:00", "00:51:00")
    ]


def test_some_disorder_is_no_second_hour(read):
    log = read(
        f"Oct 27 02:10:05 a {KERNEL}\nOct 27 02:10:00 a {KERNEL}\n",
        mtime=at("2024-10-28"),
        zone=BERLIN,
    )
    assert times(log) == ["2024-10-27T00:10:05", "2024-10-27T00:10:00"]


def test_a_time_that_the_zone_never_had_is_said(read):
    text = f"Mar 31 02:30:00 a {KERNEL}\n"
    log = read(text, mtime=at("2024-04-01"), zone=BERLIN)
    assert times(log) == ["2024-03-31T01:30:00"]
    assert "some of these times Europe/Berlin never had" in log.problems
    for other in (None, zone_of("+01:00"), zone_of("America/New_York")):
        assert "never had" not in read(text, mtime=at("2024-04-01"), zone=other).problems


def test_the_year_is_settled_before_it_is_asked_what_the_zone_had(read):
    """The first record is taken for one of 2024 until more years follow: then of 2022, which had that hour."""
    days = ["Mar 31 02:30", "Aug  1 12:00", "Dec 30 12:00", "Apr  2 12:00", "Sep  1 12:00"]
    days += ["Jan 15 12:00", "Mar 30 12:00"]
    log = read("".join(f"{d}:00 a {KERNEL}\n" for d in days), mtime=at("2024-04-01"), zone=BERLIN)
    assert times(log) == [
        *("2022-03-31T00:30:00", "2022-08-01T10:00:00", "2022-12-30T11:00:00"),
        *("2023-04-02T10:00:00", "2023-09-01T10:00:00"),
        *("2024-01-15T11:00:00", "2024-03-30T11:00:00"),
    ]
    assert "never had" not in log.problems


def test_since_and_until_are_of_the_zone():
    assert moment("2024-07-01T12:00", BERLIN) == at("2024-07-01T10:00")
    assert moment("2024-07-01T12:00Z", BERLIN) == at("2024-07-01T12:00")
    assert moment("2024-07-01T12:00") == at("2024-07-01T12:00")


def test_since_takes_the_first_of_an_hour_that_comes_twice_and_until_the_second():
    assert moment("2024-10-27T02:30", BERLIN) == at("2024-10-27T00:30")
    assert moment("2024-10-27T02:30", BERLIN, last=True) == at("2024-10-27T01:30")
    assert moment("2024-03-31T02:30", BERLIN, last=True) == at("2024-03-31T01:30")


@pytest.mark.parametrize("size", [1000, 1 << 30])
def test_the_right_records_are_found_in_an_hour_that_comes_twice(read, monkeypatch, size):
    monkeypatch.setattr("rdmadiag.logs.window.SMALLEST", size)
    starts = range(int(at("2024-10-26T12:00")), int(at("2024-10-27T12:00")), 60)
    lines = [
        datetime.fromtimestamp(BERLIN.written(s), UTC).strftime("%b %e %H:%M:%S")
        + f" a kernel: nvme m{s}\n"
        for s in starts
    ]
    since, until = at("2024-10-27T01:10"), at("2024-10-27T01:20")
    log = read("".join(lines), mtime=at("2024-10-28"), zone=BERLIN, since=since, until=until)
    assert log.messages == [f"nvme m{s}" for s in starts if since <= s <= until]


@pytest.mark.parametrize(
    "text",
    ["", "..", "/etc/passwd", "Europe", "Mars/Olympus", "a\0b", "x" * 5000, "+25:00", "+2", "2"],
)
def test_what_is_no_zone(text):
    with pytest.raises(UserError, match="is no time zone; write it as"):
        zone_of(text)


def test_without_a_database_offsets_are_left(monkeypatch):
    monkeypatch.setattr("zoneinfo.available_timezones", set)
    monkeypatch.setattr("zoneinfo.ZoneInfo", lambda name: {}[name])
    assert zone_of("+02:00").utc(7200.0) == 0
    with pytest.raises(UserError, match="package tzdata"):
        zone_of("Europe/Berlin")


def test_an_uptime_that_began_before_linux_ties_nothing(read):
    """Nor may it end the reading, when years are settled."""
    stamps = ["[9999999999.000000]", "1,1,999999999999999999,-;"]
    days = ["Jun  3", "Jan  3", "Jun  3", "Jan  3"]
    text = "".join(f"Feb  3 10:00:00 kernel: {s} x\n{s} y\n" for s in stamps)
    log = read(text + "".join(f"{d} 10:00:00 {KERNEL}\n" for d in days), zone=BERLIN)
    assert [f.time.wall for f in log.facts if f.fields["message"].strip() == "y"] == [None] * 2
