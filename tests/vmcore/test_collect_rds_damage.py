"""The RDS collector on corrupt memory: one bad pointer costs one row or one field, and the coverage says so."""

import pytest
from drgn import cast

from rdmadiag.vmcore.collect.rds import collect
from rdmadiag.vmcore.collect.view import View

from .rds_kernel import RdsKernel

ENDS = {"laddr": "10.0.0.1", "faddr": "10.0.0.2"}
UP = 3
WILD = 0x6B6B6B6B6B6B6B6B


@pytest.fixture
def kernel():
    return RdsKernel("rds_uek5")


def read(kernel, *modules, complete=True):
    dump = kernel.dump(*modules)
    dump.modules.complete = complete
    collected = collect(View(dump, "dump"))
    (coverage,) = collected.coverage
    return [fact.fields for fact in collected.facts], coverage


def test_chain_that_runs_in_a_circle(kernel):
    loop = kernel.connection(**ENDS, tos=1, state=UP)
    kernel.connection(**ENDS, tos=2, state=UP)
    kernel.set(loop.c_hash_node.next, loop.c_hash_node)
    rows, coverage = read(kernel)
    assert sorted(row["tos"] for row in rows) == [1, 2]
    assert coverage.status == "partial"
    assert "runs in a circle" in coverage.reason


def test_chain_into_unmapped_memory(kernel):
    conn = kernel.connection(**ENDS, tos=1, state=UP)
    kernel.connection(**ENDS, tos=2, state=UP)
    kernel.set(conn.c_hash_node.next, WILD)
    rows, coverage = read(kernel)
    assert sorted(row["tos"] for row in rows) == [1, 2]
    assert coverage.status == "partial"
    assert hex(WILD) in coverage.reason


def test_connection_that_is_all_zero(kernel):
    kernel.connection(**ENDS, tos=1, state=UP)
    blank = kernel.new("struct rds_connection")
    kernel.set(kernel.hash[7].first, blank)
    rows, coverage = read(kernel)
    assert [row["tos"] for row in rows] == [1]
    assert coverage.status == "partial"
    assert "all of it is zero" in coverage.reason


def test_connection_that_was_freed(kernel):
    conn = kernel.connection(**ENDS, state=UP)
    start = conn.address_ - 0xFFFF888000000000
    kernel.memory[start + 16 : start + conn.type_.size] = b"\x6b" * (conn.type_.size - 16)
    rows, coverage = read(kernel)
    assert rows == []
    assert coverage.status == "failed"
    assert "freed" in coverage.reason


def test_no_transport_data(kernel):
    conn = kernel.connection(**ENDS, state=UP)
    kernel.set(conn.c_path.cp_transport_data, 0)
    (row,), coverage = read(kernel)
    assert row["laddr"] == "10.0.0.1"
    assert row["recv_ring"] is None
    assert row["problems"] == ["there is no transport data"]
    assert coverage.status == "partial"


def test_wild_transport_data(kernel):
    conn = kernel.connection(**ENDS, state=UP)
    kernel.set(conn.c_path.cp_transport_data, WILD)
    (row,), coverage = read(kernel)
    assert row["state"] == "UP"
    assert row["recv_ring"] is None
    assert any(one.startswith("recv_ring: ") for one in row["problems"])
    assert coverage.status == "partial"


def test_null_cm_id_is_no_problem(kernel):
    conn = kernel.connection(**ENDS, state=0)
    ic = kernel.prog.type("struct rds_ib_connection *")
    cp = conn.c_path
    kernel.set(cast(ic, cp.cp_transport_data).i_cm_id, 0)
    (row,), coverage = read(kernel)
    assert (row["cm_id"], row["qp_num"], row["cm_state"]) == (None, None, None)
    assert row["problems"] == []
    assert coverage.status == "complete"


def test_wild_cm_id_costs_its_fields_only(kernel):
    conn = kernel.connection(**ENDS, state=UP)
    ic = cast(kernel.prog.type("struct rds_ib_connection *"), conn.c_path.cp_transport_data)
    kernel.set(ic.i_cm_id, WILD)
    (row,), _ = read(kernel)
    assert row["recv_ring"]["in_flight"] == 304
    assert row["qp_num"] is None
    assert row["problems"]


def test_message_list_without_end(kernel):
    conn = kernel.connection(**ENDS, state=UP)
    message = kernel.new("struct rds_message")
    kernel.set(conn.c_path.cp_retrans.next, message.m_conn_item)
    kernel.set(message.m_conn_item.next, message.m_conn_item)
    (row,), _ = read(kernel)
    assert row["queued_messages"] == 1
    assert any("runs in a circle" in one for one in row["problems"])


def test_too_many_paths(kernel):
    conn = kernel.connection(**ENDS, state=UP)
    kernel.set(conn.c_npaths, 4000)
    rows, coverage = read(kernel)
    assert rows == []
    assert "4000 paths" in coverage.reason


def test_state_that_cannot_be(kernel):
    kernel.connection(**ENDS, state=77)
    (row,), _ = read(kernel)
    assert row["state"] is None
    assert row["problems"] == ["state: no connection state 77"]


def test_not_loaded(kernel):
    del kernel._objects["rds_conn_hash"]
    _, coverage = read(kernel, "ib_core")
    assert (coverage.status, coverage.reason) == ("absent", "module rds_rdma is not loaded")


def test_not_loaded_is_not_said_of_a_broken_module_list(kernel):
    del kernel._objects["rds_conn_hash"]
    _, coverage = read(kernel, "ib_core", complete=False)
    assert coverage.status == "failed"
    assert "module list is not complete" in coverage.reason


def test_loaded_but_unreadable(kernel):
    del kernel._objects["rds_conn_hash"]
    _, coverage = read(kernel)
    assert coverage.status == "failed"
    assert "rds_rdma is loaded" in coverage.reason


class UntypedRdsRdma(RdsKernel):
    """A kernel whose rds_rdma, other than rds, carries no types."""

    ib_type = "struct opaque"

    def edit(self, text):
        return text.replace("struct rds_ib_connection", self.ib_type)


def test_rds_rdma_without_types():
    kernel = UntypedRdsRdma("rds_uek5")
    conn = kernel.connection(**ENDS, state=2)
    kernel.run(kernel.down_work(conn.c_path), "rds_shutdown_worker", kernel.task(9, "kworker"), 3)
    (row,), coverage = read(kernel)
    assert (row["laddr"], row["state"], row["shutdown_task"]) == ("10.0.0.1", "DISCONNECTING", 9)
    assert (row["address"], row["recv_ring"], row["qp_num"]) == (None, None, None)
    assert row["problems"] == ["transport data: could not find 'struct rds_ib_connection *'"]
    assert coverage.status == "partial"
