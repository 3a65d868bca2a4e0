"""Zip archives: what is read of them, what is not and why, and how little a bomb costs."""

import io
import zipfile

import pytest

from rdmadiag.inputs import DEFAULT, Kind, Limits, open_input

GOOD = b"Sep 29 22:32:33 db01 kernel: mlx4_core 0000:46:00.0: CQ access violation on CQN 000419\n"


@pytest.fixture
def opened(tmp_path):
    """Open a zip with some members; return what each log holds, and the problems of the archive."""

    def run(*members, method=zipfile.ZIP_DEFLATED, change=lambda data: data, limits=DEFAULT):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as archive:
            for name, data in members:
                archive.writestr(zipfile.ZipInfo(name, (2018, 9, 30, 0, 0, 0)), data, method)
        path = tmp_path / "a.zip"
        path.write_bytes(change(buffer.getvalue()))
        logs, problems = {}, []
        for source in open_input(str(path), limits):
            if source.kind == "log":
                held = b""
                while data := source.stream.read(100_000):
                    held += data
                logs[source.name.partition("!")[2]] = held
            else:
                problems += [p.what for p in source.problems]
        return logs, problems

    return run


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_that_are_logs_are_read(opened, method):
    crash = b'PID: 7  TASK: ffff9a1b2c3d4e5f  CPU: 3  COMMAND: "kworker/u8:2"\n'
    logs, problems = opened(
        ("messages", GOOD * 9000),
        ("notes", b"x\n"),
        ("a/bt.txt", crash),
        ("d/", b""),
        method=method,
    )
    assert logs == {"messages": GOOD * 9000, "a/bt.txt": crash}
    assert not problems


@pytest.mark.parametrize(
    "name", ["../messages", "/var/log/messages", "a/../../messages", "C:\\messages", "a\\..\\b"]
)
def test_names_that_point_out_of_the_archive(opened, name):
    logs, problems = opened((name, GOOD), ("messages", GOOD))
    assert list(logs) == ["messages"]
    assert problems == ["1 members whose names point out of the archive not read"]


def test_encrypted_members_are_said(opened):
    def encrypt(data):
        at = data.rindex(b"PK\x01\x02")
        return data[: at + 8] + b"\x01\x00" + data[at + 10 :]

    logs, problems = opened(("messages", GOOD), change=encrypt)
    assert not logs
    assert problems == ["1 encrypted members not read"]


def test_other_compression_is_said(opened):
    logs, problems = opened(("messages", GOOD), method=zipfile.ZIP_LZMA)
    assert not logs
    assert problems == ["1 members that are neither stored nor deflated not read"]


def test_archives_inside_are_said(opened):
    inside = io.BytesIO()
    with zipfile.ZipFile(inside, "w") as archive:
        archive.writestr("messages", GOOD)
    logs, problems = opened(("inner.zip", inside.getvalue()))
    assert not logs
    assert problems == ["zip inside an archive: not read"]


def test_bomb_is_cut(opened):
    limits = Limits(free=1 << 20, ratio=10)
    logs, problems = opened(*((f"messages.{n}", b"x" * 5_000_000) for n in range(5)), limits=limits)
    assert sum(map(len, logs.values())) <= 1 << 20
    assert any("do not look like a log" in p for p in problems)


@pytest.mark.parametrize("keep", [4, 30, 150, -1])
def test_archive_that_was_cut_short(opened, keep):
    logs, problems = opened(("messages", GOOD), change=lambda data: data[:keep])
    assert not logs
    assert "damaged or was cut short" in problems[0]


def test_data_that_were_changed(opened):
    _, problems = opened(
        ("messages", GOOD), method=zipfile.ZIP_STORED, change=lambda d: d.replace(b"419", b"420")
    )
    assert "damaged" in problems[0]


def test_date_that_does_not_exist(opened):
    logs, _ = opened(("messages", GOOD), change=lambda d: d.replace(b"\x00\x00\x3e\x4d", bytes(4)))
    assert logs == {"messages": GOOD}


def test_long_list_of_members_is_not_read(opened):
    def claim(data):
        at = data.rindex(b"PK\x05\x06")
        return data[: at + 12] + b"\xff\xff\xff\x7f" + data[at + 16 :]

    logs, problems = opened(("messages", GOOD), change=claim)
    assert not logs
    assert problems == ["a list of members of 2047 MiB, which is not read"]


def test_zip_on_standard_input(monkeypatch):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("messages", GOOD)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(buffer.getvalue())))
    (source,) = open_input("-")
    assert source.format is Kind.ZIP
    assert "save it as one first" in source.problems[0].what


def test_name_that_is_no_utf_8(opened):
    name = "\u00e9/messages"
    logs, problems = opened(
        (name, GOOD), change=lambda data: data.replace(name.encode(), b"\xff\xff/messages")
    )
    assert not logs
    assert "damaged or was cut short" in problems[0]


def test_member_that_begins_past_the_end(opened):
    def moved(data: bytes) -> bytes:
        at = data.rindex(b"PK\x01\x02") + 42
        return data[:at] + (len(data) - 10).to_bytes(4, "little") + data[at + 4 :]

    logs, problems = opened(("messages", GOOD), change=moved)
    assert not any(logs.values())
    assert problems
