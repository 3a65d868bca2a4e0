"""The RDS collector on the layouts of the UEK generations, which no dump at hand has."""

import pytest

from rdmadiag.vmcore.collect.rds import collect
from rdmadiag.vmcore.collect.view import View

from .rds_kernel import RdsKernel

LAYOUTS = ("rds_uek4", "rds_uek5", "rds_uek_new")
ENDS = {"laddr": "10.0.0.1", "faddr": "10.0.0.2"}
DISCONNECTING, UP = 2, 3
STACK = (
    ("schedule_timeout", ""),
    ("rds_ib_conn_shutdown", "rds_rdma"),
    ("rds_conn_shutdown", "rds"),
    ("process_one_work", ""),
)


def facts(kernel, *modules, stack=()):
    collected = collect(View(kernel.dump(*modules, stack=stack), "dump"))
    return {fact.fields["tos"]: fact.fields for fact in collected.facts}, collected.coverage


@pytest.fixture(params=LAYOUTS)
def kernel(request):
    return RdsKernel(request.param)


def stuck(kernel, **values):
    """A connection whose shutdown a worker has been running for 42 s."""
    number = 12 if kernel.layout == "rds_uek4" else 11
    conn = kernel.connection(
        **ENDS, tos=4, state=DISCONNECTING, drop_source=number, flags=0x8C, **values
    )
    kernel.run(
        kernel.down_work(kernel.path(conn)),
        "rds_shutdown_worker",
        kernel.task(62, "kworker/u8:1"),
        42,
    )
    return conn


def test_stuck_shutdown(kernel):
    stuck(kernel)
    rows, (coverage,) = facts(kernel, stack=STACK)
    row = rows[4]
    assert coverage.status == "complete"
    assert row["problems"] == []
    assert (row["laddr"], row["faddr"], row["state"]) == ("10.0.0.1", "10.0.0.2", "DISCONNECTING")
    assert row["drop_reason"] == "qp event"
    assert row["flags"] == ["RDS_IN_XMIT", "RDS_RECV_REFILL", "RDS_SHUTDOWN_WORK_QUEUED"]
    assert row["shutdown_task"] == 62
    assert row["shutdown_function"] == "rds_ib_conn_shutdown"
    assert row["workqueue"] == "krdsd"
    assert not row["shutdown_pending"]
    assert not row["connect_pending"]


def test_rings(kernel):
    stuck(kernel)
    row = facts(kernel)[0][4]
    assert row["recv_ring"] == {
        "nr": 1024, "alloc_ptr": 560, "alloc_ctr": 560, "free_ptr": 256, "free_ctr": 256, "in_flight": 304,
    }  # fmt: skip
    assert row["send_ring"]["in_flight"] == 0
    assert not row["corrupt"]


def test_counters_that_wrapped(kernel):
    kernel.connection(**ENDS, state=UP, alloc=100, free=(1 << 32) - 200)
    row = facts(kernel)[0][0]
    assert row["recv_ring"]["in_flight"] == 300
    assert not row["corrupt"]


def test_corrupt_ring(kernel):
    kernel.connection(**ENDS, state=UP, alloc=100, free=101)
    row = facts(kernel)[0][0]
    assert row["recv_ring"]["in_flight"] == 0xFFFFFFFF
    assert row["corrupt"]
    assert row["problems"] == ["recv_ring: its counters cannot be those of a ring"]


def test_queue_pair_and_completion_queues(kernel):
    stuck(kernel)
    row = facts(kernel)[0][4]
    assert (row["qp_num"], row["qp_state"], row["device"]) == (77, "ERR", "mlx4_0")
    assert (row["recv_cqn"], row["send_cqn"]) == (0x419, 0x419)
    assert (row["cm_state"], row["disconnected_min_seconds"]) == ("DISCONNECT", 2.048)


def test_registration_slots(kernel):
    kernel.connection(**ENDS, state=UP)
    row = facts(kernel)[0][0]
    expected = (256, None, True) if kernel.paths else (None, None, None)
    assert (row["fastreg_wrs"], row["fastreg_in_use"], row["fastreg_full"]) == expected


@pytest.mark.parametrize(
    ("layout", "flags", "expected"),
    [
        ("rds_uek4", 0, None),  # no such member
        ("rds_uek5", 0x2, True),  # a u8: the constant is a mask
        ("rds_uek5", 0x4, False),
        ("rds_uek_new", 0x4, True),  # an unsigned long: the constant is a bit number
        ("rds_uek_new", 0x2, False),
    ],
)
def test_cq_error_flag(layout, flags, expected):
    kernel = RdsKernel(layout)
    kernel.connection(**ENDS, state=DISCONNECTING, ib_flags=flags)
    assert facts(kernel)[0][0]["cq_error_flag"] is expected


def test_shutdown_behind_another(kernel):
    stuck(kernel)
    victim = kernel.connection(laddr="10.0.0.1", faddr="10.0.0.9", tos=0, state=DISCONNECTING)
    kernel.queue_behind(kernel.down_work(kernel.path(victim)))
    row = facts(kernel)[0][0]
    assert row["shutdown_pending"]
    assert row["behind_task"] == 62
    assert row["shutdown_task"] is None


def test_connect_and_shutdown_share_a_work_in_the_newest_layout():
    kernel = RdsKernel("rds_uek_new")
    conn = kernel.connection(**ENDS, state=0)
    kernel.queue_behind(kernel.down_work(kernel.path(conn)))
    row = facts(kernel)[0][0]
    assert (row["connect_pending"], row["shutdown_pending"]) == (True, False)


def test_shutdown_that_waits_as_a_work():
    kernel = RdsKernel("rds_uek_new")
    conn = kernel.connection(**ENDS, state=DISCONNECTING, flags=1 << 8)
    kernel.set(kernel.path(conn).cp_down_wait_w.work.data.counter, 1)
    kernel.set(kernel.variable("shadow_timekeeper", "struct timekeeper").xtime_sec, 1_700_000_000)
    kernel.set(kernel.path(conn).cp_reconnect_start, 1_700_000_000 - 77)
    row = facts(kernel)[0][0]
    assert row["shutdown_waiting"]
    assert row["flags"] == ["RDS_SHUTDOWN_WAITING"]
    assert (row["shutdown_task"], row["shutdown_wait_seconds"]) == (None, 77)
    assert row["shutdown_wait_clock"] == "reconnect_start"


def test_reason_without_a_table_of_texts():
    kernel = RdsKernel("rds_uek5")
    del kernel._objects["conn_drop_reasons"]
    kernel.connection(**ENDS, state=UP, drop_source=11)
    assert facts(kernel)[0][0]["drop_reason"] == "qp event"


def test_passive_half_of_a_loopback_connection(kernel):
    conn = kernel.connection(laddr="10.0.0.1", faddr="10.0.0.1", tos=1, state=UP)
    half = kernel.connection(laddr="10.0.0.1", faddr="10.0.0.1", tos=2, state=UP)
    kernel.hlist_init(kernel.hash[1])
    kernel.set(conn.c_passive, half)
    assert set(facts(kernel)[0]) == {1, 2}


def test_other_transports_are_left_out(kernel):
    kernel.connection(**ENDS, state=UP)
    kernel.set(kernel.transport.t_name, "tcp")
    rows, (coverage,) = facts(kernel)
    assert (rows, coverage.status) == ({}, "complete")


def test_queued_messages(kernel):
    conn = kernel.connection(**ENDS, state=UP)
    messages = [kernel.new("struct rds_message") for _ in range(3)]
    for number, message in enumerate(messages):
        kernel.set(message.m_rs, kernel.hash[number % 2])  # any two addresses
        kernel.set(message.m_inc.i_hdr.h_len, (4096).to_bytes(4, "big"))
    kernel.list_init(
        kernel.member(kernel.path(conn), "retrans"), *(one.m_conn_item for one in messages)
    )
    row = facts(kernel)[0][0]
    assert (row["queued_messages"], row["queued_bytes"]) == (3, 3 * 4096)
    assert row["queued_sockets"] == 2


def test_reconnect_timer(kernel):
    """A connect work that waits for its timer; the newest layout has one work for both ways."""
    conn = kernel.connection(**ENDS, state=0)
    cp = kernel.path(conn)
    work = cp.cp_up_or_down_w if kernel.layout == "rds_uek_new" else kernel.member(cp, "conn_w")
    assert not facts(kernel)[0][0]["reconnect_timer"]
    entry = work.timer.entry
    kernel.set(entry.next if kernel.layout == "rds_uek4" else entry.pprev, conn)
    kernel.set(work.work.data.counter, 1)
    row = facts(kernel)[0][0]
    assert (row["reconnect_timer"], row["connect_pending"]) == (True, True)


def test_how_long_it_has_been_down(kernel):
    """UEK keeps when the path left UP: that is nearer to the shutdown's age than when its worker was idle."""
    kernel.set(kernel.variable("shadow_timekeeper", "struct timekeeper").xtime_sec, 1_700_000_000)
    conn = stuck(kernel)
    cp = kernel.path(conn)
    kernel.time_out(kernel.worker.task)
    assert facts(kernel)[0][4]["shutdown_wait_seconds"] == 42
    kernel.set(kernel.member(cp, "reconnect_start"), 1_700_000_000 - 30)
    row = facts(kernel)[0][4]
    assert (row["down_seconds"], row["shutdown_wait_seconds"]) == (30, 30)
    assert row["shutdown_wait_clock"] == "reconnect_start"
    kernel.set(kernel.member(cp, "reconnect_start"), 1_700_000_000 - 3000)
    row = facts(kernel)[0][4]
    assert (row["down_seconds"], row["shutdown_wait_seconds"]) == (3000, 42)
    kernel.set(kernel.member(cp, "state").counter, UP)
    assert facts(kernel)[0][4]["down_seconds"] is None
