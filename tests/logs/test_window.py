"""``--since`` and ``--until``: the right records, and in a plain file only the part that holds them is read."""

import gzip
from datetime import UTC, datetime

import pytest

from rdmadiag.inputs.streams import FileStream


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def days(style, count=400, year=2017):
    """One record every ten minutes, over new year."""
    start = at(f"{year}-12-30T00:00")
    for n in range(count):
        moment = datetime.fromtimestamp(start + 600 * n, UTC)
        yield moment.strftime(style) + f" db01 kernel: nvme m{n}"


STYLES = ["%b %e %H:%M:%S", "%Y-%m-%dT%H:%M:%S+00:00"]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr("rdmadiag.logs.window.SMALLEST", 1000)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("pack", [lambda x: x, gzip.compress])
@pytest.mark.parametrize(
    ("since", "until"),
    [
        ("2017-12-31T12:00", "2018-01-01T06:00"),
        ("2018-01-01T00:00", None),
        (None, "2017-12-30T01:00"),
        ("2030-01-01", None),
        (None, "2000-01-01"),
        ("2017-12-30T00:00", "2018-02-01"),
        ("2018-01-01T00:05", "2018-01-01T00:15"),
    ],
)
def test_right_records(read, small, style, pack, since, until):
    lines = list(days(style))
    bounds = {"since": since and at(since), "until": until and at(until)}
    log = read(pack(("\n".join(lines) + "\n").encode()), mtime=at("2018-02-01"), **bounds)
    start, end = bounds["since"] or 0, bounds["until"] or 1e11
    wanted = [n for n in range(len(lines)) if start <= at("2017-12-30") + 600 * n <= end]
    assert log.messages == [f"nvme m{n}" for n in wanted]
    assert [f.where.line for f in log.facts] == [n + 1 for n in wanted]
    for fact, n in zip(log.facts, wanted, strict=True):
        assert fact.where.offset == sum(len(x) + 1 for x in lines[:n])


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("since", "until"), [("2030-01-01", None), (None, "2000-01-01")])
def test_a_log_of_another_time_tells_of_which(read, small, style, since, until):
    bounds = {"since": since and at(since), "until": until and at(until)}
    text = "\n".join(days(style)) + "\n"
    log = read(text, mtime=at("2018-02-01"), block=4096, **bounds)
    assert log.facts == []
    assert 0 < log.info.records < 50
    assert log.info.start.wall >= at("2017-12-30")
    assert log.info.end.wall < at("2018-01-02")
    assert (log.info.since and log.info.since.wall) == bounds["since"]
    assert (log.info.until and log.info.until.wall) == bounds["until"]


@pytest.mark.parametrize("style", STYLES)
def test_little_of_a_plain_file_is_read(read, small, style, monkeypatch):
    scanned = 0
    readinto = FileStream.readinto

    def counted(self, view):
        nonlocal scanned
        count = readinto(self, view)
        scanned += count
        return count

    text = "\n".join(days(style, 20_000)) + "\n"
    monkeypatch.setattr(FileStream, "readinto", counted)
    log = read(
        text,
        mtime=at("2018-06-01"),
        since=at("2018-03-01"),
        until=at("2018-03-01T01:00"),
        block=4096,
    )
    assert len(log.facts) == 7
    assert scanned < len(text) // 20


def test_several_years_without_a_year(read, small):
    lines = [
        datetime.fromtimestamp(at("2015-01-05") + 86400 * 7 * n, UTC).strftime("%b %e %H:%M:%S")
        + f" db01 kernel: nvme m{n}"
        for n in range(250)
    ]
    log = read(
        "\n".join(lines) + "\n",
        mtime=at("2019-10-15"),
        since=at("2016-06-01"),
        until=at("2016-08-01"),
    )
    assert [f.time.wall for f in log.facts] == [
        at("2015-01-05") + 86400 * 7 * n
        for n in range(250)
        if at("2016-06-01") <= at("2015-01-05") + 86400 * 7 * n <= at("2016-08-01")
    ]


def test_records_without_wall_clock_are_kept(read, small):
    log = read("".join(f"[{n:5d}.000000] nvme m{n}\n" for n in range(300)), since=at("2024-01-01"))
    assert len(log.facts) == 300
    assert "no wall clock" in log.problems


def test_newest_first(read, small):
    lines = list(days(STYLES[1]))
    log = read("\n".join(reversed(lines)) + "\n", since=at("2018-01-01"))
    assert log.messages[0] == "nvme m288"
    assert len(log.messages) == 400 - 288
