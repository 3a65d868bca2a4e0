"""Files that are no dumps, that are cut, flipped or flattened: a sentence or a partial reading, never more."""

import os
import random
import struct
import subprocess
import sys
import zlib

import pytest
from drgn import FaultError
from drgn.helpers.linux.pid import for_each_task

from rdmadiag.errors import UserError
from rdmadiag.gather import Gatherer
from rdmadiag.vmcore.corefile import read_core_file
from rdmadiag.vmcore.dump import open_dump
from rdmadiag.vmcore.helpers.errors import READ_ERRORS
from rdmadiag.vmcore.kdump_pages import KdumpPages
from rdmadiag.vmcore.printk import LogBuffer

from .formats import elf, flattened
from .samples import path_of, shared

NAME = "rds-stuck-recv"
DATA = path_of(NAME).read_bytes()


def written(tmp_path, data):
    path = tmp_path / "vmcore"
    path.write_bytes(data)
    return path


def assert_whole(dump):
    whole = shared(NAME)
    assert dump.nodename == "dbnode01"
    assert [str(p) for p in dump.problems] == [str(p) for p in whole.problems]
    assert dump.dmesg() == whole.dmesg()
    stacks = [list(map(str, dump.stack(task))) for task in for_each_task(dump.prog)]
    assert stacks == [list(map(str, whole.stack(task))) for task in for_each_task(whole.prog)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"\x7f", "is not a kernel crash dump"),
        (b"kernel: hello\n" * 500, "is not a kernel crash dump"),
        (random.Random(1).randbytes(1 << 16), "is not a kernel crash dump"),
        (b"\x7fELF", "only dumps of 64-bit"),
        (b"\x7fELF\x02\x01" + bytes(100), "is an ELF file, but not a core"),
        (b"\x7fELF\x02\x01" + bytes(10) + b"\x04\0" + bytes(100), "has no VMCOREINFO note"),
        (DATA[:4000], "is cut short inside its headers"),
        (DATA[:5000], "is cut short inside its headers"),
        (DATA[:9000], "is cut short inside its headers"),
        (b"KDUMP   " + bytes(4096), "the kdump header is damaged"),
        (flattened(DATA)[:4100], "is a flattened dump that is cut short"),
        (b"\x7fELF\x02\x01" + b"\xff" * 100, "is an ELF file, but not a core"),
    ],
)
def test_what_is_no_dump_is_one_sentence(tmp_path, data, reason):
    path = written(tmp_path, data)
    with pytest.raises(UserError) as caught:
        open_dump(path)
    text = str(caught.value)
    assert reason in text
    assert text.startswith(str(path))
    assert "\n" not in text


def test_a_directory_and_a_missing_file(tmp_path):
    with pytest.raises(UserError, match="directory"):
        open_dump(tmp_path)
    with pytest.raises(UserError, match="No such file"):
        open_dump(tmp_path / "no")


def test_the_running_system_is_never_read_by_accident(tmp_path):
    link = tmp_path / "vmcore"
    for target in ("/proc/kcore", "/dev/zero", "/dev/mem"):
        link.symlink_to(target)
        with pytest.raises(UserError, match="leads to the running system"):
            open_dump(link)
        link.unlink()
    core = read_core_file("/proc/kcore")
    assert core.kind == "live"
    assert core.problems[0].what.startswith("was read from the running kernel, not from a dump")


def test_flattened(tmp_path):
    dump = open_dump(written(tmp_path, flattened(DATA)))
    assert dump.core.kind == "flattened"
    assert_whole(dump)


def test_flattened_and_cut(tmp_path):
    data = flattened(DATA)
    for size in (1 << 13, 1 << 20, 2 << 20, len(data) - 1):
        with pytest.raises(UserError, match="is a flattened dump that is cut short"):
            open_dump(written(tmp_path, data[:size]))


def test_flattened_and_damaged(tmp_path):
    data = bytearray(flattened(DATA))
    data[4096 + 16 + (1 << 16) + 8] = 0x7F
    with pytest.raises(UserError, match="is a flattened dump that is damaged"):
        open_dump(written(tmp_path, data))


@pytest.mark.parametrize("many", [False, True])
def test_elf(tmp_path, many):
    dump = open_dump(written(tmp_path, elf(path_of(NAME), many)))
    assert dump.core.kind == "elf"
    assert_whole(dump)


def test_elf_and_cut(tmp_path):
    data = elf(path_of(NAME))
    dump = open_dump(written(tmp_path, data[: len(data) // 2]))
    assert "the dump is cut short" in dump.problems[0].what
    assert "(50 % missing)" in dump.problems[0].what


def test_a_note_that_says_nothing_of_the_kernel_is_one_sentence(tmp_path):
    at = DATA.index(b"SYMBOL(swapper_pg_dir)")
    data = DATA[:at] + b"SYMBOL(swapper_pg_xxx)" + DATA[at + 22 :]
    with pytest.raises(UserError, match="VMCOREINFO does not contain valid swapper_pg_dir"):
        open_dump(written(tmp_path, data))


def test_marks_of_the_writer(tmp_path):
    raw = bytearray(DATA)
    raw[424] |= 0x8 | 0x10
    texts = [problem.what for problem in open_dump(written(tmp_path, raw)).problems]
    assert "the dump is marked as incomplete: its writer ran out of space" in texts
    assert "the dump was written without the pages of vmemmap" in texts


def test_page_descriptors_that_cannot_be(tmp_path):
    raw = bytearray(DATA)
    header = read_core_file(path_of(NAME)).kdump
    raw[header.descriptors + 5] = 0xFF
    texts = [problem.what for problem in open_dump(written(tmp_path, raw)).problems]
    assert texts[0] == "the dump's page descriptors are damaged"


@pytest.mark.parametrize("part", [0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.99])
def test_cut(tmp_path, part):
    """What was cut off is missing, not zero; the rest is read."""
    dump = open_dump(written(tmp_path, DATA[: int(part * len(DATA))]))
    assert "the dump is cut short" in dump.problems[0].what
    assert len(dump.problems) > 1
    whole = shared(NAME)
    by_seq = {record.seq: record for record in whole.dmesg()}
    try:
        assert all(record == by_seq[record.seq] for record in dump.dmesg())
    except FaultError:
        assert part < 0.98
    for module in dump.modules:
        assert whole.modules.named(module.name).address == module.address


def place_in_file(address):
    """Return where the page of an address of the kernel's image is in the file."""
    core, info = read_core_file(path_of(NAME)), shared(NAME).info
    pages = KdumpPages(core.path, core.kdump, None)
    byte, bit = divmod((address - 0xFFFFFFFF80000000 + info.number("phys_base")) // 4096, 8)
    descriptor = core.kdump.descriptors + 24 * pages._rank(byte, bit)
    return struct.unpack_from("<Q", DATA, descriptor)[0]


def test_cut_inside_the_log_keeps_the_rest_of_it(tmp_path):
    whole = shared(NAME)
    text = LogBuffer(whole.prog, whole.info)._texts[0]
    dump = open_dump(written(tmp_path, DATA[: place_in_file(text + 4 * 4096)]))
    records, lost = dump.dmesg(), dump.problems[-1].what.split()[0]
    assert 0 < len(records) < 396
    assert len(records) + int(lost) == 396
    assert records == whole.dmesg()[: len(records)]
    assert dump.problems[-1].what.endswith("records of the kernel's log buffer are not in the dump")


@pytest.mark.parametrize("seed", range(8))
def test_flipped_bits(tmp_path, seed):
    rnd, raw = random.Random(seed), bytearray(DATA)
    for _ in range(30 << seed % 4):
        raw[rnd.randrange(20_000, len(raw))] ^= 1 << rnd.randrange(8)
    dump = open_dump(written(tmp_path, raw))
    assert dump.release == "6.1.0-56-amd64"
    try:
        for task in for_each_task(dump.prog):
            dump.stack(task)
        dump.dmesg()
    except (FaultError, LookupError) as error:
        assert str(error)


@pytest.mark.parametrize("seed", range(8))
def test_flipped_bits_in_the_headers(tmp_path, seed):
    rnd, raw = random.Random(seed), bytearray(DATA)
    for _ in range(20):
        raw[rnd.randrange(12_000)] ^= 1 << rnd.randrange(8)
    path = written(tmp_path, raw)
    code = (
        "import sys\n"
        "from rdmadiag.errors import UserError\n"
        "from rdmadiag.vmcore.dump import open_dump\n"
        "try:\n"
        "    dump = open_dump(sys.argv[1])\n"
        "    dump.nodename\n"
        "except UserError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("at", [32, 48, 64])
def test_parts_that_lie_after_the_end(tmp_path, at):
    """VMCOREINFO, notes and eraseinfo are one place and size each; libkdumpfile dies of a wrong one."""
    raw = bytearray(DATA)
    struct.pack_into("<Q", raw, 4096 + at + 8, 1 << 31)
    code = "import sys\nfrom rdmadiag.vmcore.dump import open_dump\nprint(open_dump(sys.argv[1]).problems)\n"
    done = subprocess.run(
        [sys.executable, "-c", code, written(tmp_path, raw)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "names parts that lie after the dump's end" in done.stdout


@pytest.mark.parametrize(
    "line",
    [
        b"SYMBOL(prb)=-1",
        b"SYMBOL(prb)=ffffffffffffffffff",
        b"SYMBOL(prb)=ffffffffffffffff",
        b"OFFSET(printk_ringbuffer.desc_ring)=9999999999999999999",
        b"SIZE(prb_desc)=-7",
        b"SIZE(printk_info)=2147483647",
        b"SYMBOL(kallsyms_token_table)=1",
        b"SYMBOL(kallsyms_names)=ffffffffffffffff",
        b"SYMBOL(init_uts_ns)=ffffffffffffffff",
        b"NUMBER(phys_base)=-99999999999999999999999",
        b"NUMBER(KERNEL_IMAGE_SIZE)=" + b"9" * 5000,
    ],
)
def test_numbers_of_vmcoreinfo_that_cannot_be(tmp_path, line):
    """A later line wins, so one more is enough."""
    core = read_core_file(path_of(NAME))
    info = core.vmcoreinfo + line + b"\n"
    end = len(DATA) + -len(DATA) % 8
    raw = bytearray(DATA.ljust(end, b"\0") + info)
    struct.pack_into("<QQ", raw, 4096 + 32, end, len(info))
    struct.pack_into("<QQ", raw, 4096 + 48, 0, 0)
    path = written(tmp_path, raw)
    try:
        dump = open_dump(path)
        dump.stack(dump.prog["init_task"].address_of_())
        assert isinstance(dump.nodename, str)
        dump.dmesg()
    except (UserError, *READ_ERRORS) as error:
        assert str(error)


def test_records_of_another_place_are_said_to_be_missing(tmp_path):
    core = read_core_file(path_of(NAME))
    at = DATA.index(b"SIZE(prb_desc)=24", core.kdump.vmcoreinfo[0])
    dump = open_dump(written(tmp_path, DATA[:at] + b"SIZE(prb_desc)=25" + DATA[at + 17 :]))
    found = Gatherer().read_dump(dump)
    assert "records of the kernel's log buffer are not in the dump" in dump.lost_log
    assert dump.lost_log in [problem.what for problem in found.inputs[0].problems]
    row = next(row for row in found.coverage if row.kind == "hca.cq_error")
    assert (row.status, row.reason) == ("partial", dump.lost_log)


def test_a_page_that_is_a_bomb(tmp_path):
    core = read_core_file(path_of(NAME))
    body = zlib.compress(bytes(1 << 22), 9)
    at, raw = len(DATA), bytearray(DATA) + body
    struct.pack_into("<QII", raw, core.kdump.descriptors, at, len(body), 1)
    path = written(tmp_path, raw)
    pages = KdumpPages(path, core.kdump, None)
    first = next(i for i in range(8 * len(pages._bitmap)) if pages._bitmap[i // 8] >> i % 8 & 1)
    with pytest.raises(FaultError, match="page is damaged"):
        pages.read(first * 4096, 8, 0, True)


def test_a_file_that_is_cut_while_it_is_read(tmp_path):
    core = read_core_file(path_of(NAME))
    path = written(tmp_path, DATA)
    pages = KdumpPages(path, core.kdump, None)
    path.write_bytes(b"")
    first = next(i for i in range(8 * len(pages._bitmap)) if pages._bitmap[i // 8] >> i % 8 & 1)
    with pytest.raises(FaultError, match="cut off"):
        pages.read(first * 4096, 8, 0, True)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "vmcore")
    with pytest.raises(UserError, match="no plain file"):
        open_dump(tmp_path / "vmcore")


@pytest.mark.parametrize(("entry", "count"), [(0, 9), (8, 0xFFFE), (0xFFFF, 0xFFFE)])
def test_elf_program_headers_that_cannot_be(tmp_path, entry, count):
    head = bytearray(b"\x7fELF\x02\x01" + bytes(58))
    struct.pack_into("<H", head, 16, 4)
    struct.pack_into("<QHH", head, 32, 64, 0, 0)
    struct.pack_into("<HH", head, 54, entry, count)
    with pytest.raises(UserError, match=r"damaged|cut short"):
        open_dump(written(tmp_path, head + bytes(1000)))
