"""The collectors on sample dumps with bytes laid over: what is lost is told, nothing else is."""

import random
from types import SimpleNamespace

import pytest
from drgn import Object

from rdmadiag.vmcore.collect.run import collect_dump
from rdmadiag.vmcore.helpers.rds import path_for_each_message
from rdmadiag.vmcore.helpers.workqueue import for_each_worker_pool, pool_for_each_worker

from .samples import fresh, overlay, shared, word

STUCK, BLOCKED = "rds-mixed-queued", "iwcm-delete-stuck-stock"
WILD = 0x6B6B6B6B6B6B6B6B


def read(dump):
    found = collect_dump(dump, "dump")
    kinds = {one.kind: one for one in found.coverage}
    return found.facts, kinds


def place(dump, type_, address, member):
    """Return the address of a member of an object."""
    number = int(address, 16) if isinstance(address, str) else address
    found = Object(dump.prog, f"{type_} *", number)
    for name in member.split("."):
        found = found.member_(name)
    return found.address_


def first(name, kind, **values):
    facts, _ = read(shared(name))
    return next(
        fact
        for fact in facts
        if fact.kind == kind and all(fact.fields[key] == value for key, value in values.items())
    )


def of(facts, kind):
    return [fact.fields for fact in facts if fact.kind == kind]


def test_chain_of_connections_that_points_to_itself():
    dump = fresh(STUCK)
    conn = first(STUCK, "rds.ib_connection", state="DISCONNECTING").fields["conn"]
    node = place(dump, "struct rds_connection", conn, "c_hash_node")
    overlay(dump, node, word(node))
    facts, coverage = read(dump)
    rows = of(facts, "rds.ib_connection")
    assert conn in [row["conn"] for row in rows]
    assert len(rows) == 2  # the third was behind it in the chain
    assert coverage["rds.ib_connection"].status == "partial"
    assert "circle" in coverage["rds.ib_connection"].reason


def test_ring_counter_out_of_range():
    dump = fresh(STUCK)
    ic = first(STUCK, "rds.ib_connection", state="DISCONNECTING").fields["address"]
    counter = place(dump, "struct rds_ib_connection", ic, "i_recv_ring.w_free_ctr")
    overlay(dump, counter, (5000).to_bytes(4, "little"))
    facts, coverage = read(dump)
    (row,) = [row for row in of(facts, "rds.ib_connection") if row["address"] == ic]
    assert row["corrupt"]
    assert row["recv_ring"]["in_flight"] == (1032 - 5000) & 0xFFFFFFFF
    assert row["shutdown_task"]
    assert coverage["rds.ib_connection"].status == "partial"


def test_null_cm_id():
    dump = fresh(STUCK)
    ic = first(STUCK, "rds.ib_connection", state="DISCONNECTING").fields["address"]
    overlay(dump, place(dump, "struct rds_ib_connection", ic, "i_cm_id"), word(0))
    facts, coverage = read(dump)
    (row,) = [row for row in of(facts, "rds.ib_connection") if row["address"] == ic]
    assert (row["cm_id"], row["qp_num"], row["problems"]) == (None, None, [])
    assert coverage["rds.ib_connection"].status == "complete"


def test_list_of_controllers_that_points_to_itself():
    """Those that the list does not lead to any more are found by their identifiers."""
    dump = fresh(BLOCKED)
    head = dump.prog["nvme_rdma_ctrl_list"]
    first_node = head.next.value_()
    overlay(dump, first_node, word(first_node))
    facts, coverage = read(dump)
    rows = of(facts, "nvme.rdma_controller")
    assert sorted(row["listed"] for row in rows) == [False, False, False, True]
    assert all(row["blocked_task"] for row in rows)
    assert coverage["nvme.rdma_controller"].status == "partial"
    assert "circle" in coverage["nvme.rdma_controller"].reason


def test_namespaces_that_cannot_be_read_are_unknown_and_it_is_said_why():
    dump = fresh(BLOCKED)
    address = int(first(BLOCKED, "nvme.rdma_controller").fields["address"], 16)
    ctrl = Object(dump.prog, "struct nvme_rdma_ctrl *", address)
    overlay(dump, ctrl.ctrl.namespaces.next.address_, word(WILD))
    facts, coverage = read(dump)
    found = {row["address"]: row for row in of(facts, "nvme.rdma_controller")}
    row = found.pop(hex(address))
    assert (row["disks"], row["mounts"]) == (None, None)
    assert row["problems"] == [f"disks: a node is not in the dump ({WILD:#x})"]
    assert all(other["disks"] is not None for other in found.values())
    assert coverage["nvme.rdma_controller"].status == "partial"


def test_processes_of_a_connection_that_cannot_be_read_are_unknown_and_it_is_said_why():
    dump = fresh(STUCK)
    conn = first(STUCK, "rds.ib_connection", state="DISCONNECTING").fields["path"]
    cp = Object(dump.prog, "struct rds_conn_path *", int(conn, 16))
    message = next(path_for_each_message(cp))
    overlay(dump, message.m_rs.rs_sk.sk_socket.address_, word(WILD))
    facts, _ = read(dump)
    (row,) = [row for row in of(facts, "rds.ib_connection") if row["path"] == conn]
    assert (row["queued_messages"] > 0, row["processes"]) == (True, None)
    assert row["problems"] == ["processes: its memory is not in the dump"]


def test_a_socket_that_the_list_of_sockets_has_lost_is_said_to_be_lost():
    dump = fresh(STUCK)
    head = dump.prog["rds_sock_list"]
    overlay(dump, head.address_, word(head.address_) * 2)
    facts, _ = read(dump)
    (row,) = [row for row in of(facts, "rds.ib_connection") if row["state"] == "DISCONNECTING"]
    assert row["processes"] is None
    assert "is not on the list of sockets" in row["problems"][0]


def test_controller_that_is_still_being_created_is_not_listed():
    dump = fresh(BLOCKED)
    head = dump.prog["nvme_rdma_ctrl_list"]
    overlay(dump, head.address_, word(head.address_))
    facts, coverage = read(dump)
    rows = of(facts, "nvme.rdma_controller")
    assert len(rows) == 4
    assert not any(row["listed"] for row in rows)
    assert coverage["nvme.rdma_controller"].status == "complete"


def test_freed_iwarp_id():
    dump = fresh(BLOCKED)
    one = first(BLOCKED, "iwcm.cm_id").where
    overlay(dump, one.address, b"\x6b" * 64)
    facts, coverage = read(dump)
    (row,) = [row for row in of(facts, "iwcm.cm_id") if row["address"] == hex(one.address)]
    assert row["device"] is None
    assert row["connect_wait"]
    assert row["problems"]
    assert coverage["iwcm.cm_id"].status == "partial"


def test_wild_stack_pointer():
    dump = fresh(STUCK)
    task = first(STUCK, "task", state="D").where.address
    overlay(dump, place(dump, "struct task_struct", task, "thread.sp"), word(WILD))
    facts, coverage = read(dump)
    (row,) = of(facts, "task")
    assert row["functions"] == []
    assert row["work_function"] == "rds_shutdown_worker"
    assert row["problems"]
    assert coverage["task"].status == "partial"


def test_table_of_processes_that_is_broken():
    dump = fresh(STUCK)
    overlay(dump, dump.prog["init_pid_ns"].idr.idr_rt.xa_head.address_, word(WILD & ~3 | 2))
    facts, coverage = read(dump)
    (row,) = [row for row in of(facts, "rds.ib_connection") if row["shutdown_task"]]
    assert row["shutdown_function"] == "rds_ib_conn_path_shutdown"
    assert [one["pid"] for one in of(facts, "task")] == [row["shutdown_task"]]
    assert coverage["task"].status in {"partial", "failed"}
    assert "tasks after 0 were not found" in coverage["task"].reason


def test_table_of_worker_pools_that_is_broken():
    dump = fresh(STUCK)
    overlay(dump, dump.prog["worker_pool_idr"].idr_rt.xa_head.address_, word(WILD & ~3 | 2))
    facts, coverage = read(dump)
    (row,) = [row for row in of(facts, "rds.ib_connection") if row["shutdown_task"]]
    assert row["state"] == "DISCONNECTING"
    assert coverage["workqueue.work"].status == "partial"
    assert "table of worker pools" in coverage["workqueue.work"].reason


def test_list_of_workqueues_that_is_broken():
    dump = fresh(STUCK)
    head = dump.prog["workqueues"]
    overlay(dump, head.address_, word(WILD))
    facts, coverage = read(dump)
    assert coverage["workqueue.work"].status != "complete"
    assert [row["state"] for row in of(facts, "rds.ib_connection")].count("DISCONNECTING") == 1


def test_worker_that_runs_no_function():
    dump = fresh(STUCK)
    work = first(STUCK, "workqueue.work", state="running").where.address
    worker = next(
        one
        for pool in for_each_worker_pool(dump.prog)
        for one in pool_for_each_worker(pool)
        if one.current_work.value_() == work
    )
    overlay(dump, worker.current_func.address_, word(WILD))
    facts, coverage = read(dump)
    assert not [row for row in of(facts, "workqueue.work") if row["state"] == "running"]
    assert "which is no function" in coverage["workqueue.work"].reason


def test_clocks_that_are_gone():
    dump = fresh(STUCK)
    overlay(dump, dump.prog["tick_nsec"].address_, word(0))
    facts, _ = read(dump)
    (row,) = [row for row in of(facts, "rds.ib_connection") if row["shutdown_task"]]
    assert row["shutdown_wait_seconds"] is None
    assert "shutdown_wait_seconds: tick_nsec is 0" in row["problems"]
    assert of(facts, "kernel")[0]["uptime_seconds"] is None


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", [STUCK, BLOCKED])
def test_random_words(name, seed):
    """Any word of any object may be anything: no exception, and what is lost is not called complete."""
    chance = random.Random(seed)
    dump = fresh(name)
    known, _ = read(shared(name))
    places = [fact.where for fact in known if fact.where.address and fact.kind != "module"]
    for _ in range(3):
        where = chance.choice(places)
        size = dump.prog.type(where.type).size
        address = where.address + chance.randrange(0, size - 7, 8)
        values = (0, address, WILD, 1 << 63, (1 << 64) - 1, chance.choice(places).address)
        overlay(dump, address, word(chance.choice(values)))
    facts, coverage = read(dump)
    assert {one.status for one in coverage.values()} <= {"complete", "partial", "absent", "failed"}
    for kind in {fact.kind for fact in known}:
        lost = {fact.where.address for fact in known if fact.kind == kind}
        lost -= {fact.where.address for fact in facts if fact.kind == kind}
        if lost and kind not in {"task", "workqueue.work"}:
            assert coverage[kind].status in {"partial", "failed"}, (kind, lost)


def test_panic_of_which_the_log_says_nothing():
    dump = fresh(STUCK)
    overlay(dump, dump.prog["panic_cpu"].address_, bytes(4))
    facts, _ = read(dump)
    (kernel,) = of(facts, "kernel")
    assert kernel["panic"] == "panic without a message in the log"


def test_panic_message(monkeypatch):
    dump = fresh(STUCK)
    overlay(dump, dump.prog["panic_cpu"].address_, bytes(4))
    lines = (
        "sysrq: Trigger a crash",
        "Kernel panic - not syncing: sysrq triggered crash",
        "---[ end",
    )
    monkeypatch.setattr(dump, "dmesg", lambda: [SimpleNamespace(text=line) for line in lines])
    (kernel,) = of(read(dump)[0], "kernel")
    assert kernel["panic"] == "sysrq triggered crash"
