"""What an input is, by its content, and the bytes it gives."""

import bz2
import gzip
import io
import lzma
import os
import socket
import tarfile
from pathlib import Path

import lz4.frame
import pytest
import zstandard

from rdmadiag.inputs import DEFAULT, Kind, Limits, expand, open_input, sniff
from rdmadiag.inputs.files import base_name
from rdmadiag.inputs.streams import FileStream

LOG = b"".join(
    b"Sep 29 22:32:%02d db01 kernel: nvme nvme0: line %d\n" % (n % 60, n) for n in range(2000)
)
PACK = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
    "lz4": lz4.frame.compress,
}


def drain(source):
    data = b""
    while source.stream and (more := source.stream.read(70_000)):
        data += more
    return data


def opened(name, limits=DEFAULT):
    return [(s, drain(s)) for s in open_input(str(name), limits)]


def tar_of(files, mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:
        for name, data in files.items():
            if isinstance(data, tarfile.TarInfo):
                tar.addfile(data)
                continue
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1_538_000_000
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"", Kind.EMPTY),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x04\x00" + bytes(40), Kind.ELF_CORE),
        (b"\x7fELF\x02\x02\x01" + bytes(9) + b"\x00\x04" + bytes(40), Kind.ELF_CORE),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00" + bytes(40), Kind.ELF_OTHER),
        (b"KDUMP   \x06\0\0\0", Kind.KDUMP),
        (b"makedumpfile\0\0\0\0", Kind.FLATTENED),
        (b"DISKDUMP", Kind.DISKDUMP),
        (LOG, Kind.TEXT),
        (bytes(3000) + LOG[:200], Kind.TEXT),
        ("Übergröße — ääää ".encode() * 20, Kind.TEXT),
        (os.urandom(8000), Kind.BINARY),
        (bytes(5000), Kind.BINARY),
        (LOG.decode().encode("utf-16"), Kind.UTF16),
        (b"LPKSHHRH" + bytes(100), Kind.JOURNAL),
        (b"PK\x03\x04" + bytes(100), Kind.ZIP),
        (b"\x1f\x9d\x90" + bytes(100), Kind.COMPRESS),
        (b"\x02\x21\x4c\x18" + bytes(100), Kind.LZ4_LEGACY),
        (tar_of({"a": b"x"}), Kind.TAR),
        *(
            (pack(LOG), kind)
            for pack, kind in zip(
                PACK.values(),
                (Kind.GZIP, Kind.XZ, Kind.BZIP2, Kind.ZSTD, Kind.LZ4),
                strict=True,
            )
        ),
    ],
)
def test_sniff(head, kind):
    assert sniff(head) is kind


@pytest.mark.parametrize("ending", PACK)
def test_compressed_whatever_the_name(tmp_path, ending):
    path = tmp_path / "messages.txt"
    path.write_bytes(PACK[ending](LOG))
    [(source, data)] = opened(path)
    assert (source.kind, data, source.problems) == ("log", LOG, [])


@pytest.mark.parametrize("ending", PACK)
def test_concatenated_parts(tmp_path, ending):
    path = tmp_path / "x"
    path.write_bytes(PACK[ending](LOG) + PACK[ending](LOG))
    assert opened(path)[0][1] == LOG + LOG


@pytest.mark.parametrize("ending", PACK)
def test_what_comes_before_a_cut_counts(tmp_path, ending):
    path = tmp_path / "x"
    lines = b"".join(
        b"Sep 29 22:32:33 a b: %s\n" % os.urandom(20).hex().encode() for _ in range(20_000)
    )
    packed = PACK[ending](lines)
    path.write_bytes(packed[: len(packed) * 3 // 4])
    [(source, data)] = opened(path)
    if ending != "bz2":
        assert len(data) > len(lines) // 2
    assert lines.startswith(data)
    assert "too early" in source.problems[0].what
    assert source.problems[0].where == f"{path}: byte {len(data)}"


@pytest.mark.parametrize("ending", PACK)
def test_what_comes_before_damage_counts(tmp_path, ending):
    path = tmp_path / "x"
    lines = b"".join(
        b"Sep 29 22:32:33 a b: %s\n" % os.urandom(20).hex().encode() for _ in range(20_000)
    )
    packed = bytearray(PACK[ending](lines))
    middle = len(packed) * 3 // 4
    packed[middle : middle + 64] = bytes(64)
    path.write_bytes(packed)
    [(source, data)] = opened(path)
    kept = 0 if ending == "bz2" else len(lines) // 4  # bzip2 checks blocks of 900 kB as a whole
    assert data[:kept] == lines[:kept]
    assert source.problems


def test_all_of_a_block_before_a_cut_counts(tmp_path):
    data = LOG * 100
    packed = lz4.frame.compress(data, block_size=lz4.frame.BLOCKSIZE_MAX4MB, store_size=False)
    header = 7
    end = header + 4 + int.from_bytes(packed[header : header + 4], "little")
    path = tmp_path / "x"
    path.write_bytes(packed[:end])
    [(source, got)] = opened(path)
    assert got == data[: 4 << 20]
    assert "lz4 data end too early" in source.problems[0].what


def test_standard_input(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(gzip.compress(LOG, mtime=0))

    monkeypatch.setattr("sys.stdin", Stdin)
    [(source, data)] = opened("-")
    assert (source.name, source.kind, data) == ("-", "log", LOG)


def test_fifo_is_read_to_its_end(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    writer = os.open(path, os.O_RDWR)
    os.write(writer, LOG[:4000])
    import threading

    threading.Timer(0.2, lambda: os.close(writer)).start()
    assert opened(path)[0][1] == LOG[:4000]


def test_missing_file_is_a_problem():
    (source,) = open_input("/nowhere/at/all")
    assert (source.name, source.kind) == ("/nowhere/at/all", "unknown")
    assert source.problems[0].what == "there is no such file"


def test_unreadable_file_is_a_problem(tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.write_bytes(LOG)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    [source] = list(open_input(str(path)))
    assert source.kind == "unknown"
    assert "Permission denied" in source.problems[0].what


def test_socket_is_live(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("qemu")
        [source] = list(open_input("qemu"))
    assert source.kind == "live"


def test_dump_is_handed_on_by_path(tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes(b"KDUMP   " + bytes(5000))
    [(source, _)] = opened(path)
    assert (source.kind, source.path, source.stream) == ("vmcore", path, None)


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(b"KDUMP   " + bytes(5000), mtime=0),
        gzip.compress(gzip.compress(LOG, mtime=0), mtime=0),
        b"PK\x03\x04" + bytes(50),
    ],
    ids=["a dump in gzip", "gzip in gzip", "zip"],
)
def test_what_cannot_be_used_says_why(tmp_path, data):
    path = tmp_path / "x"
    path.write_bytes(data)
    [(source, _)] = opened(path)
    assert source.kind == "unknown"
    assert source.problems


@pytest.mark.parametrize(
    ("head", "command"),
    [
        (b"LPKSHHRH", "journalctl --file {} -o export | rdmadiag diagnose -"),
        (b"\x1f\x9d\x90", "zcat {} | rdmadiag diagnose -"),
        (b"\x02\x21\x4c\x18", "lz4 -dc {} | rdmadiag diagnose -"),
    ],
)
def test_the_command_that_reads_what_is_not_read(tmp_path, head, command):
    data = head + bytes(5000)
    path = tmp_path / "a system"
    path.write_bytes(data)
    [(source, _)] = opened(path)
    assert f"; {command.format(repr(str(path)))} reads it" in source.problems[0].what
    path.write_bytes(gzip.compress(data, mtime=0))
    [(source, _)] = opened(path)
    assert f"unpack it, then {command.format('FILE')} reads it" in source.problems[0].what
    path.write_bytes(tar_of({"var/log/j": data}))
    (source, _), _ = opened(path)
    assert f"unpack it, then {command.format('FILE')} reads it" in source.problems[0].what


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("d/messages", "d/messages"),
        ("d/messages-20240101", "d/messages"),
        ("d/messages-20240101.gz", "d/messages"),
        ("d/messages-2024-01-01", "d/messages"),
        ("d/messages.1", "d/messages"),
        ("d/messages.12.xz", "d/messages"),
        ("d/messages.3.lz4", "d/messages"),
        ("d/kern.log.2.gz", "d/kern.log"),
        ("d/kern-20240101.log", "d/kern.log"),
        ("d/syslog.old", "d/syslog"),
        ("d/vmcore-dmesg.txt", "d/vmcore-dmesg.txt"),
    ],
)
def test_name_of_the_log_that_was_rotated(name, base):
    assert base_name(name) == base


@pytest.mark.parametrize(
    "names",
    [
        ["messages-20231225.gz", "messages-20240101", "messages-20240108", "messages"],
        ["messages.10.gz", "messages.9.gz", "messages.2.gz", "messages.1", "messages"],
        ["messages.old", "messages"],
    ],
)
def test_rotated_files_come_oldest_first(tmp_path, names):
    for name in reversed(names):
        (tmp_path / name).write_bytes(gzip.compress(LOG, mtime=0) if name.endswith("gz") else LOG)
    sources = [s for s, _ in opened(tmp_path)]
    assert [Path(s.name).name for s in sources] == names
    assert len({s.series for s in sources}) == 1
    [target] = expand([str(tmp_path / n) for n in sorted(names)])
    assert [p.name for p in target.paths] == names


def test_directory_gives_logs_and_dumps_but_no_other_files(tmp_path):
    files = {
        "var/log/messages": LOG,
        "var/log/wtmp": os.urandom(4000),
        "var/crash/vmcore": b"KDUMP   " + bytes(5000),
        "etc/motd": b"welcome\n",
        "proc/kmsg.txt": LOG,
        "notes/output.txt": LOG,
        "notes/todo.txt": b"buy milk\n",
        "notes/script.py": LOG,
    }
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "var/log/link").symlink_to("messages")
    os.mkfifo(tmp_path / "var/log/fifo")
    found = {os.path.relpath(s.name, tmp_path): s.kind for s, _ in opened(tmp_path)}
    assert found == {
        "var/log/messages": "log",
        "var/crash/vmcore": "vmcore",
        "notes/output.txt": "log",
    }


def test_directory_is_bounded(tmp_path):
    for n in range(6):
        (tmp_path / f"log{n}x").write_bytes(LOG)
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/b/c/deep").write_bytes(LOG)
    sources = [s for s, _ in opened(tmp_path, Limits(files=3, depth=2))]
    text = str([s.problems for s in sources])
    assert sum(s.kind == "log" for s in sources) == 3
    assert "more than 3 files" in text


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2", "zst", "lz4"])
def test_tarball_is_streamed(tmp_path, mode):
    files = {
        "sosreport-x/var/log/messages": LOG,
        "sosreport-x/var/log/messages-20240101.gz": gzip.compress(LOG, mtime=0),
        "sosreport-x/etc/hosts": b"127.0.0.1 localhost\n",
        "sosreport-x/" + "d" * 150 + "/dmesg": b"[    1.000000] x\n" * 9,
        "sosreport-x/sos_commands/kernel/lsmod": b"Module Size Used by\n",
    }
    data = PACK[mode](tar_of(files)) if mode in PACK else tar_of(files, mode)
    path = tmp_path / "sos"
    path.write_bytes(data)
    sources = opened(path)
    names = {s.name.partition("!")[2]: d for s, d in sources if s.kind == "log"}
    assert names["sosreport-x/var/log/messages"] == LOG
    assert names["sosreport-x/var/log/messages-20240101.gz"] == LOG
    assert "sosreport-x/etc/hosts" not in names
    assert names["sosreport-x/" + "d" * 150 + "/dmesg"] == b"[    1.000000] x\n" * 9
    assert sources[0][0].mtime == 1_538_000_000
    assert sources[-1][0].problems == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["sos"]


def special(name, kind, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def test_hostile_tar_members(tmp_path):
    files = {
        "../../evil/var/log/messages": LOG,
        "/var/log/absolute": LOG,
        "var/log/link": special("var/log/link", tarfile.SYMTYPE, "/etc/shadow"),
        "var/log/hard": special("var/log/hard", tarfile.LNKTYPE, "/etc/shadow"),
        "var/log/device": special("var/log/device", tarfile.CHRTYPE),
        "var/log/pipe": special("var/log/pipe", tarfile.FIFOTYPE),
        "var/log/inner.tar": tar_of({"var/log/messages": LOG}),
        "var/log/good": LOG,
    }
    path = tmp_path / "t"
    path.write_bytes(tar_of(files))
    sources = opened(path)
    assert [s.name for s, _ in sources if s.kind == "log"] == [f"{path}!var/log/good"]
    text = str([p.what for s, _ in sources for p in s.problems])
    assert "2 members whose names point out of the archive" in text
    assert "2 members that are devices or pipes" in text
    assert "tar inside an archive" in text
    assert [p.name for p in tmp_path.iterdir()] == ["t"]


def test_tar_header_that_claims_gigabytes(tmp_path):
    huge = tarfile.TarInfo("././@PaxHeader")
    huge.type, huge.size = tarfile.XHDTYPE, 8 << 30
    path = tmp_path / "t"
    path.write_bytes(huge.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20))
    [(source, _)] = opened(path)
    assert "ends inside a member" in source.problems[0].what


def test_tar_that_is_cut_gives_the_members_before(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(tar_of({"var/log/a": LOG, "var/log/b": LOG})[: len(LOG) + 4000])
    sources = opened(path)
    assert sources[0][1] == LOG
    assert LOG.startswith(sources[1][1])
    assert "ends inside a member" in sources[-1][0].problems[0].what


def test_members_are_bounded(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(tar_of({f"var/log/m{n}": LOG for n in range(9)}))
    sources = opened(path, Limits(members=4))
    assert sum(s.kind == "log" for s, _ in sources) == 4
    assert "more than 4 members" in str(sources[-1][0].problems)


@pytest.mark.parametrize("ending", ["gz", "lz4"])
def test_repetitive_log_may_exceed_the_ratio(tmp_path, ending):
    data = (LOG[:50] + b"\n") * 400_000
    path = tmp_path / "x"
    path.write_bytes(PACK[ending](data))
    assert len(data) / path.stat().st_size > 200
    limits = Limits(free=1 << 20)
    [(source, got)] = opened(path, limits)
    assert (len(got), source.problems) == (len(data), [])
    [(source, got)] = opened(path, Limits(free=1 << 20, total=1 << 20))
    assert len(got) < len(data)
    assert source.problems[0].what.startswith("cut: ")


def test_file_that_shrinks_while_it_is_read(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(LOG)
    [source] = list(iterate(open_input(str(path)), lambda: os.truncate(path, 5000)))
    assert "became shorter" in source.problems[0].what


def iterate(sources, between):
    for source in sources:
        assert source.stream.read(1000) == LOG[:1000]
        between()
        drain(source)
        yield source


def test_file_that_is_replaced_is_read_as_it_was(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(LOG)

    def replace():
        (tmp_path / "y").write_bytes(b"other\n")
        (tmp_path / "y").rename(path)

    [source] = list(iterate(open_input(str(path)), replace))
    assert source.problems == []


def test_gzips_own_date_counts(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(LOG, mtime=1_500_000_000))
    assert opened(path)[0][0].mtime == 1_500_000_000


def test_date_in_the_name_counts(tmp_path):
    path = tmp_path / "messages-20180930"
    path.write_bytes(LOG)
    assert opened(path)[0][0].mtime == 1_538_352_000


def test_whoever_finds_a_file_shorter_says_the_same(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(LOG)
    [source] = list(iterate(open_input(str(path)), lambda: os.truncate(path, 5000)))
    with path.open("rb") as file:
        stream = FileStream(file.fileno(), source.report)
        stream.size = len(LOG)
        assert stream.pread(10, 6000) == b""
        assert stream.part(6000, 7000).read(10) == b""
    assert [p.where for p in source.problems] == [f"{path}: byte 5000"]


@pytest.mark.parametrize("ending", PACK)
def test_damaged_from_the_beginning_is_not_empty(tmp_path, ending):
    (tmp_path / "var/log").mkdir(parents=True)
    path = tmp_path / "var/log/messages"
    damaged = PACK[ending](LOG)[:12] + b"\xff" * 100
    path.write_bytes(damaged)
    (tmp_path / "notes").write_bytes(damaged)
    (tmp_path / "t").write_bytes(tar_of({"var/log/messages": damaged, "var/log/empty": b""}))
    for name, expected in (
        (path, [str(path)]),
        (tmp_path / "notes", [str(tmp_path / "notes")]),
        (tmp_path / "var", [str(path)]),
        (tmp_path / "t", [f"{tmp_path}/t!var/log/messages"]),
    ):
        bad = [s for s, _ in opened(name) if s.kind == "unknown" and s.format is not Kind.TAR]
        assert [s.name for s in bad] == expected
        [problem] = bad[0].problems
        assert "damaged" in problem.what or "too early" in problem.what


def test_empty_is_no_damage(tmp_path):
    path = tmp_path / "messages.gz"
    path.write_bytes(gzip.compress(b""))
    [(source, _)] = opened(path)
    assert (source.kind, [p.what for p in source.problems]) == ("log", ["it is empty"])
