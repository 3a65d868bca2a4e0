import drgn
import pytest
from drgn.helpers.linux.pid import for_each_task

from rdmadiag.commands.inspect import inspect
from rdmadiag.errors import UserError
from rdmadiag.facts.model import Problem
from rdmadiag.gather import Gatherer
from rdmadiag.vmcore.capsule import extract
from rdmadiag.vmcore.dump import open_dump
from rdmadiag.vmcore.helpers.rds import for_each_rds_connection

from .formats import elf, flattened
from .samples import path_of

NAME = "rds-stuck-recv"


class Reading:
    """A diagnosis that keeps what it read."""

    def __init__(self):
        self.read = []

    def __call__(self, dump):
        stacks = {}
        for task in for_each_task(dump.prog):
            stack = dump.stack(task)
            stacks[task.value_()] = [stack.problem, *map(str, stack)]
        self.read.append((stacks, dump.dmesg(), dump.utsname, list(dump.problems)))


def source(tmp_path, data=None):
    path = tmp_path / "vmcore"
    path.write_bytes(path_of(NAME).read_bytes() if data is None else data)
    return path


def test_a_capsule_reads_as_the_dump_does(tmp_path):
    reading, out = Reading(), tmp_path / "capsule"
    done = extract(path_of(NAME), out, reading)
    first, second = reading.read
    assert first == second
    reading(open_dump(out))
    assert reading.read[2] == first
    assert done.bytes == out.stat().st_size < path_of(NAME).stat().st_size
    assert [path.name for path in tmp_path.iterdir()] == ["capsule"]


def test_what_was_not_read_is_not_in_it(tmp_path):
    out = tmp_path / "capsule"
    extract(path_of(NAME), out, lambda dump: None)
    dump = open_dump(out)
    connection = next(for_each_rds_connection(open_dump(path_of(NAME)).prog))
    with pytest.raises(drgn.FaultError):
        dump.prog.read(connection.value_(), 8)


def test_tasks_and_their_stacks_are_in_it(tmp_path):
    out = tmp_path / "capsule"
    extract(path_of(NAME), out, lambda dump: None)
    dump, whole = open_dump(out), open_dump(path_of(NAME))
    stacks = [[str(f) for f in d.stack(t)] for d in (dump, whole) for t in for_each_task(d.prog)]
    assert len(stacks) > 100
    assert stacks[: len(stacks) // 2] == stacks[len(stacks) // 2 :]


def test_variables_of_the_kernel_are_in_it(tmp_path):
    out = tmp_path / "capsule"
    extract(path_of(NAME), out, lambda dump: None)
    dump = open_dump(out)
    assert dump.prog["tainted_mask"].value_() == 0x3000
    assert len(dump.dmesg()) == 396


def test_running_tasks_keep_their_registers(tmp_path):
    reading, out = Reading(), tmp_path / "capsule"

    def idle(dump):
        stack = dump.stack(dump.prog["init_task"].address_of_())
        reading.read.append([stack.problem, *map(str, stack)])

    extract(path_of(NAME), out, idle)
    assert reading.read[0] == reading.read[1]
    assert reading.read[0][1].startswith("native_safe_halt+")


def test_plain_drgn_opens_it(tmp_path):
    out = tmp_path / "capsule"
    extract(path_of(NAME), out, Reading())
    prog = drgn.Program()
    prog.set_core_dump(out)
    assert prog["UTS_RELEASE"].string_() == b"6.1.0-56-amd64"


@pytest.mark.parametrize("convert", [flattened, lambda data: elf(path_of(NAME))])
def test_from_other_formats(tmp_path, convert):
    reading, out = Reading(), tmp_path / "capsule"
    extract(source(tmp_path, convert(path_of(NAME).read_bytes())), out, reading)
    reading(open_dump(path_of(NAME)))
    assert reading.read[0] == reading.read[1] == reading.read[2]
    assert open_dump(out).core.kind == "kdump"


def test_what_was_wrong_with_the_dump_is_in_the_capsule(tmp_path):
    data = bytearray(path_of(NAME).read_bytes())
    data[424] |= 8
    reading, out = Reading(), tmp_path / "capsule"
    extract(source(tmp_path, data), out, reading)
    incomplete = Problem("the dump is marked as incomplete: its writer ran out of space")
    assert incomplete in open_dump(out).problems


def told(path, table="nvme"):
    """Return what is said of a capsule below a table."""
    text, status = inspect(str(path), table, "text", 200)
    assert status == 1
    return [line for line in text.splitlines() if "cut it again" in line]


def test_a_capsule_of_another_version_may_lack_what_a_table_needs(tmp_path, monkeypatch):
    # Its nvme_rdma has no types, so the table is never whole.
    name, capsule, second = "iwcm-connect-wait-no-btf", tmp_path / "capsule", tmp_path / "second"
    assert len(told(path_of(name))) == 1, "it does not tell which version has cut it"
    dump = source(tmp_path, elf(path_of(name)))
    assert told(dump) == [], "it is no capsule"
    read = Gatherer(kinds=["nvme.rdma_controller"]).read_dump
    extract(dump, capsule, read)
    assert told(capsule) == []
    monkeypatch.setattr("rdmadiag.commands.inspect.__version__", "9.9")
    monkeypatch.setattr("rdmadiag.vmcore.corefile.__version__", "9.9")
    assert len(told(capsule)) == 1
    extract(capsule, second, read)
    assert len(told(second)) == 1, "it has no more than the other"


def test_from_a_cut_dump(tmp_path):
    data = path_of(NAME).read_bytes()
    reading, out = Reading(), tmp_path / "capsule"
    extract(source(tmp_path, data[: int(0.99 * len(data))]), out, reading)
    assert reading.read[0] == reading.read[1]
    assert "cut short" in open_dump(out).problems[0].what


def test_the_dump_itself_is_never_written(tmp_path):
    path = source(tmp_path)
    link = tmp_path / "link"
    link.hardlink_to(path)
    before = path.read_bytes()
    for out in (path, link):
        with pytest.raises(UserError, match="is the dump itself"):
            extract(path, out, Reading())
    assert path.read_bytes() == before


def test_a_failure_leaves_nothing_behind(tmp_path):
    out = tmp_path / "capsule"
    out.write_text("old")

    calls = []

    def unsteady(dump):
        calls.append(dump)
        if len(calls) == 2:
            raise LookupError("a page is missing")

    with pytest.raises(UserError, match="does not read as the dump does: a page is missing"):
        extract(path_of(NAME), out, unsteady)
    assert [path.name for path in tmp_path.iterdir()] == ["capsule"]
    assert out.read_text() == "old"


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(UserError, match="No such file or directory"):
        extract(path_of(NAME), tmp_path / "no" / "capsule", lambda dump: None)


def test_the_running_system_is_not_extracted(tmp_path):
    with pytest.raises(UserError, match="not of the running system"):
        extract("/proc/kcore", tmp_path / "capsule", lambda dump: None)


def test_debug_info_is_taken_for_the_dump_and_for_its_capsule(tmp_path):
    other = tmp_path / "nvme_rdma.ko"
    other.write_bytes(b"no module")
    reading = Reading()
    extract(path_of(NAME), tmp_path / "capsule", reading, [other])
    refused = Problem("matches no module in this dump", str(other))
    assert [refused in problems for *_, problems in reading.read] == [True, True]
