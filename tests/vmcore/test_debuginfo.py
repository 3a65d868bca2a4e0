import struct

import pytest

from rdmadiag.errors import UserError
from rdmadiag.vmcore.dump import open_dump
from rdmadiag.vmcore.elf import build_id_of
from rdmadiag.vmcore.notes import pack_note

from .samples import path_of, shared

BUILD_ID = "eb4fbcd037e7253717950bf2b93bd5566f47c56f"


def image(build_id):
    """An ELF file with nothing but a build id."""
    note = pack_note(b"GNU", 3, bytes.fromhex(build_id))
    head = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 62, 1, 0, 0, 64, 0, 64, 56, 0, 64, 2, 0
    )
    sections = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    sections += struct.pack("<IIQQQQIIQQ", 0, 7, 0, 0, 192, len(note), 0, 0, 4, 0)
    return head + sections + note


def problems(dump):
    known = {problem.what for problem in shared("rds-stuck-recv").problems}
    return [(problem.what, problem.where) for problem in dump.problems if problem.what not in known]


def test_build_id(tmp_path):
    path = tmp_path / "vmlinux"
    path.write_bytes(image("0123abcd"))
    assert build_id_of(path) == "0123abcd"
    for data in (b"", b"text", image("0123abcd")[:70], b"\x7fELF\x02\x01" + b"\xff" * 100):
        path.write_bytes(data)
        assert build_id_of(path) == ""
    assert build_id_of(tmp_path) == ""


@pytest.mark.parametrize("where", ["vmlinux", "boot/vmlinux-6.1", "usr/lib/debug/boot/vmlinux-6.1"])
def test_a_kernel_with_another_build_id_is_refused_with_both(tmp_path, where):
    path = tmp_path / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(image("0123abcd"))
    reason = f"debug info of another kernel: its build id is 0123abcd, the dump's is {BUILD_ID}"
    for named in (path, tmp_path):
        dump = open_dump(path_of("rds-stuck-recv"), [named])
        assert dump.types == "btf"
        assert problems(dump) == [(reason, str(path))]


def test_what_is_no_kernel_is_said(tmp_path):
    path = tmp_path / "vmlinux"
    path.write_text("hello")
    dump = open_dump(path_of("rds-stuck-recv"), [path])
    assert problems(dump) == [("is not a kernel image with debug info", str(path))]


def test_a_module_that_is_not_in_the_dump_is_said(tmp_path):
    path = tmp_path / "nvme_rdma.ko"
    path.write_bytes(image("0123abcd"))
    dump = open_dump(path_of("rds-stuck-recv"), [path])
    assert problems(dump) == [("matches no module in this dump", str(path))]


def test_a_path_that_does_not_exist(tmp_path):
    with pytest.raises(UserError, match="there is no such file or directory"):
        open_dump(path_of("rds-stuck-recv"), [tmp_path / "no"])


def test_an_empty_directory_costs_nothing(tmp_path):
    dump = open_dump(path_of("rds-stuck-recv"), [tmp_path])
    assert (dump.types, problems(dump)) == ("btf", [])
