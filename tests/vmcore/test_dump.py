"""Opened dumps: symbols, stacks, modules, log, variables; against drgn with full DWARF."""

import json

import pytest
from drgn import FaultError
from drgn.helpers.linux.cpumask import for_each_online_cpu
from drgn.helpers.linux.idr import idr_for_each
from drgn.helpers.linux.list import list_for_each_entry
from drgn.helpers.linux.module import for_each_module
from drgn.helpers.linux.panic import tainted
from drgn.helpers.linux.percpu import per_cpu
from drgn.helpers.linux.pid import find_pid, find_task, for_each_task
from drgn.helpers.linux.sched import cpu_curr, task_state_to_char
from msgspec.structs import replace

from rdmadiag.facts.model import Problem
from rdmadiag.vmcore import btf_store, modules
from rdmadiag.vmcore.corefile import read_core_file
from rdmadiag.vmcore.dump import Dump
from rdmadiag.vmcore.opening import open_program

from .samples import (
    ALL,
    RDS,
    SAMPLES,
    dwarf,
    fresh,
    overlay,
    overlay_prog,
    path_of,
    shared,
    word,
)

WITH_STACKS = ("rds-stuck-recv", "iwcm-connect-wait", "rds-stuck-recv-612")
NO_TYPES = "these modules carry no types (no BTF, and no debug info was found)"


@pytest.mark.parametrize("name", ALL)
def test_opens_whole(name):
    dump = shared(name)
    assert dump.types == "btf"
    assert dump.machine == "x86_64"
    assert dump.release == json.loads((SAMPLES / name / "truth.json").read_text())["kernel_release"]
    assert dump.modules.complete
    assert [problem for problem in dump.problems if problem.what != NO_TYPES] == []


@pytest.mark.parametrize("name", WITH_STACKS)
def test_every_stack_is_that_of_drgn_with_dwarf(name):
    dump, truth = shared(name), dwarf(name)["stacks"][name]
    found = {}
    for task in for_each_task(dump.prog, idle=True):
        stack = dump.stack(task)
        assert stack.problem == ""
        found[f"{task.value_():x}"] = " ".join(f"{frame.pc:x}" for frame in stack)
    assert found == truth


@pytest.mark.parametrize("name", WITH_STACKS)
def test_symbols(name):
    dump, truth = shared(name), dwarf(name)["symbols"][name]
    for symbol, address in truth.items():
        found = dump.symbol(symbol)
        assert found is not None
        assert found.address == address
        assert dump.prog.symbol(symbol).address == address
        assert dump.symbolize(address + 1)[:2] == (found.name, 1)


def test_frames_are_rendered_as_the_kernel_does():
    dump = shared("rds-stuck-recv")
    assert [str(frame) for frame in dump.stack(find_task(dump.prog, 9))] == [
        "__schedule+0x34d/0xa00",
        "schedule+0x5a/0xd0",
        "schedule_timeout+0x94/0x150",
        "rds_ib_conn_path_shutdown+0x3bd/0x4f0 [rds_rdma]",
        "rds_conn_shutdown+0xc5/0x340 [rds]",
        "process_one_work+0x1c7/0x380",
        "worker_thread+0x4d/0x380",
        "kthread+0xda/0x100",
        "ret_from_fork+0x22/0x30",
    ]


def test_symbol_of_one_module_only():
    dump = shared("rds-stuck-recv")
    assert dump.symbol("rds_conn_shutdown", "rds").module == "rds"
    assert dump.symbol("rds_conn_shutdown", "rds_rdma") is None
    assert dump.symbol("rds_conn_shutdown", "") is None
    assert dump.symbol("schedule", "").module == ""
    assert dump.symbol("no_such_function") is None


def test_addresses_without_a_symbol():
    dump = shared("rds-stuck-recv")
    for address in (0, 0x31C40, 0xFFFF8DC201228000, 0xFFFFFFFFFFFFFFFF):
        assert dump.symbolize(address) is None


def test_a_running_task_is_followed_from_its_saved_registers():
    dump = shared("nvme-rdma-reconnecting")
    stacks = [dump.stack(cpu_curr(dump.prog, cpu)) for cpu in for_each_online_cpu(dump.prog)]
    assert [stack[0].name for stack in stacks] == [*["native_safe_halt"] * 3, "read_hpet"]
    names = [frame.name for frame in stacks[3]]
    assert names[3:6] == [
        "sysvec_apic_timer_interrupt",
        "asm_sysvec_apic_timer_interrupt",
        "native_safe_halt",
    ]
    assert names[-2:] == ["start_secondary", "secondary_startup_64_no_verify"]


def test_a_running_task_without_saved_registers_says_so():
    dump = fresh("nvme-rdma-reconnecting")
    dump._stacks._prstatus.clear()
    stack = dump.stack(cpu_curr(dump.prog, 0))
    assert (list(stack), stack.problem) == ([], "the registers of 0 of 4 CPUs are known")


def test_modules():
    dump = shared("rds-stuck-recv")
    module = dump.modules.named("rds-rdma")
    assert module is not None
    assert (module.name, module.has_btf, module.has_types) == ("rds_rdma", True, True)
    assert dump.symbol("rds_ib_conn_path_shutdown").address in module
    assert dump.modules.containing(module.address) is module
    assert dump.modules.named("nvme_rdma") is None
    assert not dump.modules.named("cqfault").has_types
    assert Problem(NO_TYPES, "cqfault", remark=True) in dump.problems


def test_log_buffer():
    records = shared("rds-stuck-recv").dmesg()
    assert [record.seq for record in records] == list(range(396))
    assert records[0].text.startswith("Linux version 6.1.0-56-amd64")
    assert records[394].text == (
        "mlx4_core 0000:46:00.0: CQ access violation on CQN 000419 syndrome=0x2 vendor_error_syndrome=0x0"
    )
    assert (records[394].uptime, records[394].level, records[394].caller) == (
        11.927516846,
        4,
        "T129",
    )


@pytest.mark.parametrize("name", RDS)
def test_helpers_of_drgn_work(name):
    prog = shared(name).prog
    assert find_task(prog, 1).comm.string_() == b"init"
    assert find_pid(prog, 1).level.value_() == 0
    assert {module.name.string_() for module in for_each_module(prog)} >= {
        b"rds",
        b"rds_rdma",
        b"ib_core",
    }
    assert list(for_each_online_cpu(prog)) == [0]
    assert per_cpu(prog["runqueues"], 0).curr.comm.string_() == cpu_curr(prog, 0).comm.string_()
    assert list(dict(idr_for_each(prog["worker_pool_idr"].address_of_())))[:4] == [0, 1, 2, 3]
    head = prog["workqueues"].address_of_()
    queues = list_for_each_entry("struct workqueue_struct", head, "list")
    assert b"krdsd" in [queue.name.string_() for queue in queues]
    assert task_state_to_char(find_task(prog, 1)) == "S"
    assert "O" in tainted(prog)


def test_a_variable_may_be_named_by_its_file_or_module():
    dump = shared("iwcm-connect-wait")
    by_file = dump.prog.variable("dev_list", "drivers/infiniband/core/cma.c")
    assert by_file.address_ == dump.prog.variable("dev_list", "rdma_cm").address_
    assert by_file.address_ == dump.symbol("dev_list", "rdma_cm").address
    with pytest.raises(LookupError):
        dump.prog.variable("dev_list", "net/core/dev.c")


def test_the_length_of_an_array_comes_from_its_symbol():
    prog = shared("rds-stuck-recv").prog
    assert prog["rds_conn_hash"].type_.length == 4096
    assert prog["task_state_array"].type_.length == 9


def test_a_stack_that_runs_in_a_circle_ends():
    dump = fresh("rds-stuck-recv")
    task = find_task(dump.prog, 9)
    frames = dump.stack(task)
    at = frames[2].sp - 8
    assert dump.prog.read_u64(at) == frames[2].pc
    overlay(dump, at, word(0xFFFFFFFFFFFFFFFF))
    broken = dump.stack(task)
    assert [frame.pc for frame in broken[:2]] == [frame.pc for frame in frames[:2]]
    assert broken[2].name == ""
    assert broken.problem == "no unwind data for 0xffffffffffffffff"


def test_a_task_without_a_stack_page_says_so():
    dump = fresh("rds-stuck-recv")
    task = find_task(dump.prog, 9)
    sp = task.thread.sp
    overlay(dump, sp.address_, word(0xFFFF8DC300000000))
    stack = dump.stack(task)
    assert list(stack) == []
    assert stack.problem == "its memory is not in the dump"


def test_a_module_list_that_runs_in_a_circle():
    dump = fresh("rds-stuck-recv")
    second = dump.modules.named("rds").object
    overlay(dump, second.list.next.address_, word(second.list.address_of_().value_()))
    from rdmadiag.vmcore.modules import ModuleList

    modules = ModuleList(dump.prog["modules"])
    assert not modules.complete
    assert [module.name for module in modules] == ["cqfault", "rds_rdma", "rds"]
    assert "circle" in modules.problems[0].what


def faulting(prog, address, size=4096):
    def read(place, _count, _offset, _physical):
        raise FaultError("Excluded page", place)

    prog.add_memory_segment(address, size, read)


def test_tables_of_all_modules_have_a_bound_together(monkeypatch):
    whole = fresh("rds-stuck-recv")
    sizes = {one.name: one.object.kallsyms.num_symtab.value_() for one in whole.modules}
    first, second, *_ = sizes
    monkeypatch.setattr(modules, "MAX_ALL_SYMBOLS", sizes[first] + sizes[second] - 1)
    dump = fresh("rds-stuck-recv")
    one, other = (whole.modules.named(name).address for name in (first, second))
    assert whole.symbolize(other)
    assert dump.symbolize(one) == whole.symbolize(one)
    assert dump.symbolize(other) is None
    assert any("the modules have more than" in problem.what for problem in dump.problems)


def test_types_of_all_modules_have_a_bound_together(monkeypatch):
    monkeypatch.setattr(btf_store, "MAX_MODULES_SIZE", 100_000)
    dump = fresh("rds-stuck-recv")
    with_types = [one.name for one in dump.modules if one.has_types]
    assert 0 < len(with_types) < len(dump.modules)
    assert any("the BTF of the modules is larger" in problem.what for problem in dump.problems)


def test_kernel_memory_that_a_filter_threw_away():
    core = read_core_file(path_of("rds-stuck-recv-612"))
    core.kdump = replace(core.kdump, dump_level=31)
    prog = open_program(core)
    faulting(prog, shared("rds-stuck-recv-612").modules.named("rds").object.value_() & ~4095)
    dump = Dump(core, prog)
    assert not dump.modules.complete
    texts = [problem.what for problem in dump.problems]
    assert texts[0].startswith(
        "the module list breaks off after 2 modules: a node is not in the dump"
    )
    assert "kernel memory is missing: the dump was filtered at level 31" in texts[1]


def test_a_module_that_is_not_listed_completely_is_not_called_absent():
    core = read_core_file(path_of("rds-stuck-recv"))
    prog = open_program(core)
    faulting(prog, shared("rds-stuck-recv").modules.named("rds").object.value_() & ~4095)
    dump = Dump(core, prog)
    assert (dump.modules.named("rds"), dump.modules.complete) == (None, False)
    texts = [problem.what for problem in dump.problems]
    assert not any("level" in text for text in texts), "slab pages are told from others in 6.1"


def test_without_orc_the_stack_is_that_of_drgn(monkeypatch):
    dump = fresh("rds-stuck-recv")
    monkeypatch.setattr(dump._stacks, "_use_drgn", True)
    monkeypatch.setitem(dump._stacks.__dict__, "_unwinder", None)
    stack = dump.stack(find_task(dump.prog, 9))
    assert [str(frame) for frame in stack[:2]] == ["__schedule+0x34d/0xa00", "schedule+0x5a/0xd0"]


def test_without_types_the_log_and_the_symbols_are_left():
    core = read_core_file(path_of("rds-stuck-recv"))
    prog = open_program(core)
    overlay_prog(prog, shared("rds-stuck-recv").symbol("__start_BTF").address, b"\0" * 8)
    dump = Dump(core, prog)
    assert dump.types == "none"
    assert [problem.what for problem in dump.problems] == [
        "the kernel's BTF cannot be read: not BTF",
        "this dump has no types (BTF) that can be read, and no debug info was found for it",
    ]
    assert len(dump.dmesg()) == 396
    assert dump.nodename == "dbnode01"
    found = dump.symbol("schedule")
    assert dump.symbolize(found.address + 7) == ("schedule", 7, found.size, "")
    assert list(dump.modules) == []
    assert not dump.modules.complete
