"""Dumps that makedumpfile --split has written into several files."""

import os
import struct
from pathlib import Path

import pytest

from rdmadiag.commands.extract import extract
from rdmadiag.commands.inspect import inspect
from rdmadiag.errors import UserError
from rdmadiag.gather import Gatherer
from rdmadiag.vmcore import split as split_module
from rdmadiag.vmcore.corefile import read_core_file
from rdmadiag.vmcore.dump import open_dump
from rdmadiag.vmcore.split import read_dump_files

from .samples import path_of

STUCK = path_of("rds-stuck-recv")
PAGE = 4096


def frames_of(path: Path) -> list[int]:
    header = read_core_file(path).kdump
    start, length = header.second_bitmap
    bits = int.from_bytes(path.read_bytes()[start : start + length], "little")
    return [frame for frame in range(bits.bit_length()) if bits >> frame & 1]


def split(path: Path, folder: Path, ends: list[int], version: int = 6) -> list[Path]:
    """
    Write a dump as makedumpfile does that splits it: each file has all headers and both bitmaps, and descriptors
    and pages of its own page frames only.

    :param ends: Last page frame, exclusive, of each file.
    :param version: Of the header: before 6 the frames are in the first 64-bit fields only.
    """
    data, header, frames = path.read_bytes(), read_core_file(path).kdump, frames_of(path)
    rows = {
        frame: struct.unpack_from("<QIIQ", data, header.descriptors + 24 * number)
        for number, frame in enumerate(frames)
    }
    paths = []
    for number, (first, end) in enumerate(zip([0, *ends], ends, strict=False)):
        head = bytearray(data[: header.descriptors])
        struct.pack_into("<i", head, 8, version)
        struct.pack_into("<iQQ", head, PAGE + 12, 1, first, end)
        struct.pack_into("<QQ", head, PAGE + 80, *((first, end) if version >= 6 else (0, 0)))
        own = [frame for frame in frames if first <= frame < end]
        place = len(head) + 24 * len(own)
        table, bodies = b"", b""
        for frame in own:
            offset, size, flags, page_flags = rows[frame]
            table += struct.pack("<QIIQ", place + len(bodies), size, flags, page_flags)
            bodies += data[offset : offset + size]
        paths.append(folder / f"vmcore.{number + 1}")
        paths[-1].write_bytes(bytes(head) + table + bodies)
    return paths


@pytest.fixture
def parts(tmp_path):
    """Three files, of which the last has nothing, as makedumpfile may leave them."""
    frames = frames_of(STUCK)
    end = read_core_file(STUCK).kdump.max_mapnr
    middle = frames[len(frames) // 3] + 1
    return split(STUCK, tmp_path, [middle, end, end])


def connections(collected):
    return [f.fields for f in collected.facts if f.kind == "rds.ib_connection"]


@pytest.fixture(scope="module")
def whole():
    found = connections(Gatherer().gather([str(STUCK)]))
    assert found
    return found


def test_parts_given_together_are_one_dump(parts, whole):
    found = Gatherer().gather([str(path) for path in reversed(parts)])
    assert connections(found) == whole
    [info] = found.inputs
    assert info.path == f"{parts[0]} + vmcore.2 + vmcore.3"
    assert info.bytes == sum(path.stat().st_size for path in parts)
    assert [p for p in info.problems if "split" in p.what] == []


def test_the_bitmap_of_each_part_is_read_once(parts, monkeypatch):
    read = []

    def counted(part):
        read.append(part.path)
        return identity(part)

    identity = split_module._identity
    monkeypatch.setattr(split_module, "_identity", counted)
    read_dump_files(parts[1], parts)
    assert sorted(read) == parts
    read.clear()
    read_dump_files(parts[0].parent)
    assert sorted(read) == parts


def test_old_headers(tmp_path, whole):
    frames, end = frames_of(STUCK), read_core_file(STUCK).kdump.max_mapnr
    paths = split(STUCK, tmp_path, [frames[1000], end], version=5)
    assert connections(Gatherer().gather(list(map(str, paths)))) == whole


def test_a_directory_of_parts_is_one_dump_everywhere(parts, whole, tmp_path):
    (tmp_path / "messages").write_text("Jan  1 00:00:00 host kernel: all is well\n")
    found = Gatherer().gather([str(tmp_path)])
    assert connections(found) == whole
    assert sorted(info.kind for info in found.inputs) == ["log", "vmcore"]
    wanted = inspect(str(STUCK), "rings", "csv", 80)
    assert inspect(str(tmp_path), "rings", "csv", 80) == wanted
    capsule = tmp_path.with_name("capsule")
    extract(str(tmp_path), capsule)
    assert inspect(str(capsule), "rings", "csv", 80) == wanted


def test_table_of_parts_that_lack_pages(parts, tmp_path):
    parts[1].unlink()
    text, status = inspect(str(tmp_path), "tasks", "text", 80)
    assert "not in the dump" in text
    assert "capsule" not in text
    assert status == 1


def test_a_part_alone_says_so(parts, whole):
    frames = frames_of(STUCK)
    own = len(frames) // 3 + 1
    header = read_core_file(parts[0]).kdump
    found = Gatherer().gather([str(parts[0])])
    problem = next(p for p in found.inputs[0].problems if "split" in p.what)
    assert problem.what.startswith(
        f"this is one file of a split dump (makedumpfile --split): {len(frames) - own:,} of its {len(frames):,} pages"
    )
    assert "give all of them in one call, or the directory" in problem.what
    assert problem.where == f"page frames {header.part.stop:#x}-{header.max_mapnr - 1:#x}"
    assert not any("cut short" in p.what or "damaged" in p.what for p in found.inputs[0].problems)
    assert connections(found) != whole


def test_what_a_part_alone_has_is_what_the_dump_has(parts):
    one, dump = open_dump(parts[0]), open_dump(STUCK)
    last = one.core.kdump.part.stop
    frames = frames_of(STUCK)
    for frame in (frames[0], frames[100], last - 1):
        assert one.prog.read(frame * PAGE, PAGE, True) == dump.prog.read(frame * PAGE, PAGE, True)
    following = frames[len(frames) // 3 + 1]
    with pytest.raises(Exception, match="part of the dump that is not there"):
        one.prog.read(following * PAGE, PAGE, True)


def test_a_middle_part_is_missing(tmp_path):
    frames, end = frames_of(STUCK), read_core_file(STUCK).kdump.max_mapnr
    first, _, last = split(STUCK, tmp_path, [frames[500], frames[800], end])
    core = open_dump(first, others=[last]).core
    assert [part.path for part in core.parts] == [first, last]
    [problem] = core.problems
    assert problem.what.startswith("this is 2 files of a split dump")
    assert "300 of its" in problem.what
    assert problem.where == f"page frames {frames[500]:#x}-{frames[800] - 1:#x}"


def test_a_part_that_is_cut_short(parts, whole):
    os.truncate(parts[1], parts[1].stat().st_size - 5000)
    found = Gatherer().gather([str(path) for path in parts])
    assert any("cut short" in p.what for p in found.inputs[0].problems)
    assert len(found.inputs) == 1
    assert connections(found) in (whole, [])


def test_parts_of_two_dumps_are_not_mixed(parts, tmp_path):
    other = path_of("rds-healthy")
    folder = tmp_path / "other"
    folder.mkdir()
    end = read_core_file(other).kdump.max_mapnr
    theirs = split(other, folder, [frames_of(other)[700], end])
    found = Gatherer().gather([str(path) for path in (parts[0], *theirs, *parts[1:])])
    assert sorted(info.path for info in found.inputs) == sorted(
        [f"{parts[0]} + vmcore.2 + vmcore.3", f"{theirs[0]} + vmcore.2"]
    )
    theirs[0].rename(tmp_path / "vmcore.8")
    with pytest.raises(UserError, match="more than one split dump"):
        open_dump(tmp_path)


def test_frames_that_cannot_be(parts):
    for first, end in ((0, (1 << 64) - 1), ((1 << 64) - 2, (1 << 64) - 1), (9, 3)):
        data = bytearray(parts[0].read_bytes())
        struct.pack_into("<QQ", data, PAGE + 80, first, end)
        parts[0].write_bytes(data)
        found = Gatherer().gather([str(parts[0])])
        assert found.inputs[0].problems


def test_a_capsule_never_replaces_a_part(parts, tmp_path):
    with pytest.raises(UserError, match="is the dump itself"):
        extract(str(tmp_path), parts[1])
    assert parts[1].stat().st_size > 100_000
