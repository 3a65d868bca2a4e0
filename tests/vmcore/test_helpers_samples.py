"""The helpers by themselves, in a plain drgn program over the sample dumps."""

import pytest

from rdmadiag.vmcore.helpers.ib_cm import (
    ib_cm_id_private,
    ib_cm_id_state,
    ib_cm_id_timewait_seconds,
)
from rdmadiag.vmcore.helpers.ib_cq import ib_cq_number
from rdmadiag.vmcore.helpers.ib_device import for_each_ib_device, ib_qp_state
from rdmadiag.vmcore.helpers.iwcm import iw_cm_id_for_each_destroyer, iw_cm_id_private
from rdmadiag.vmcore.helpers.nvme_rdma import (
    for_each_nvme_rdma_ctrl,
    nvme_rdma_ctrl_for_each_queue,
    nvme_rdma_ctrl_works,
    nvme_rdma_queue_index,
    nvme_rdma_work_ctrl,
)
from rdmadiag.vmcore.helpers.rdma_cm import (
    cma_device_for_each_id,
    for_each_cma_device,
    rdma_id_is_iwarp,
    rdma_id_iw_cm_id,
    rdma_id_private,
)
from rdmadiag.vmcore.helpers.rds import (
    for_each_rds_connection,
    path_connect_work,
    path_member,
    path_shutdown_work,
    path_workqueue,
    rds_conn_for_each_path,
    rds_conn_transport,
)
from rdmadiag.vmcore.helpers.rds_ib import path_ib_connection, rds_ib_recv_cq, rds_ib_work_ring
from rdmadiag.vmcore.helpers.sched import scheduler_clock, task_comm, task_last_arrival, task_state
from rdmadiag.vmcore.helpers.siw import siw_cep_remaining_seconds, siw_find_cep
from rdmadiag.vmcore.helpers.timekeeping import jiffies_to_seconds, tick_rate, uptime_seconds
from rdmadiag.vmcore.helpers.timer import for_each_delayed_work
from rdmadiag.vmcore.helpers.workqueue import (
    for_each_worker_pool,
    for_each_workqueue,
    pool_for_each_worker,
    work_pending,
    work_pwq,
    workqueue_flag_names,
    workqueue_max_active,
    workqueue_name,
)

from .samples import NVME, RDS, shared


def prog_of(name):
    return shared(name).prog


def ids(name):
    return [
        one
        for device in for_each_cma_device(prog_of(name))
        for one in cma_device_for_each_id(device)
    ]


@pytest.mark.parametrize("name", RDS)
def test_rds_walk(name):
    for conn in for_each_rds_connection(prog_of(name)):
        assert conn.type_.type_name() == "struct rds_connection *"
        assert rds_conn_transport(conn) == "infiniband"
        (cp,) = rds_conn_for_each_path(conn)
        assert cp.cp_conn == conn
        assert workqueue_name(path_workqueue(cp)) == "krdsd"
        assert path_shutdown_work(cp).address_ == cp.cp_down_w.address_
        assert path_connect_work(cp).address_ == cp.cp_conn_w.address_
        ic = path_ib_connection(cp)
        assert ic.conn == conn
        ring = rds_ib_work_ring(ic.i_recv_ring)
        assert 0 <= ring.in_flight <= ring.nr == 1024
        assert not ring.corrupt


def test_member_that_this_kernel_has_not():
    conn = next(for_each_rds_connection(prog_of("rds-healthy")))
    with pytest.raises(AttributeError, match="struct rds_conn_path has no cp_drop_source"):
        path_member(conn.c_path, "drop_source")


def test_queues_of_soft_roce():
    conn = next(for_each_rds_connection(prog_of("rds-healthy")))
    ic = path_ib_connection(conn.c_path)
    assert ib_qp_state(ic.i_cm_id.qp) == "RTS"
    with pytest.raises(LookupError):
        ib_cq_number(rds_ib_recv_cq(ic))  # it has no numbers


def test_cm_below_a_connection():
    """It has been done with the connection for a while, but RDS still holds it."""
    conn = next(for_each_rds_connection(prog_of("rds-stuck-recv")))
    id_priv = rdma_id_private(path_ib_connection(conn.c_path).i_cm_id)
    assert not rdma_id_is_iwarp(id_priv)
    assert rdma_id_iw_cm_id(id_priv) is None
    below = ib_cm_id_private(id_priv.cm_id.ib)
    assert ib_cm_id_state(below) == "IDLE"
    assert ib_cm_id_timewait_seconds(below) == 2.048


@pytest.mark.parametrize("name", NVME)
def test_nvme_walk(name):
    controllers = list(for_each_nvme_rdma_ctrl(prog_of(name)))
    assert len(controllers) == 4
    for ctrl in controllers:
        assert ctrl.type_.type_name() == "struct nvme_rdma_ctrl *"
        queues = list(nvme_rdma_ctrl_for_each_queue(ctrl))
        assert [nvme_rdma_queue_index(queue) for queue in queues] == list(range(5))
        assert all(queue.ctrl == ctrl for queue in queues)


def test_controller_of_a_work():
    ctrl = next(for_each_nvme_rdma_ctrl(prog_of("nvme-rdma-healthy")))
    works = nvme_rdma_ctrl_works(ctrl)
    assert set(works) == {"reconnect", "error", "delete", "reset"}
    names = {"nvme_rdma_reconnect_ctrl_work": "reconnect", "nvme_rdma_error_recovery_work": "error"}
    for function, name in names.items():
        assert nvme_rdma_work_ctrl(works[name].address_of_(), function) == ctrl
    assert nvme_rdma_work_ctrl(works["reset"].address_of_(), "another_work") is None


def test_identifiers_and_destroyers():
    found = ids("iwcm-connect-wait")
    assert len(found) == 4
    for id_priv in found:
        iw_priv = iw_cm_id_private(rdma_id_iw_cm_id(id_priv))
        (task,) = iw_cm_id_for_each_destroyer(iw_priv)
        assert (task_state(task), task_comm(task)[:9]) == ("D", "kworker/u")
        assert 2 < (scheduler_clock(task.prog_) - task_last_arrival(task)) / 1e9 < 3


def test_timer_of_soft_iwarp():
    for id_priv in ids("iwcm-connect-wait"):
        cm_id = rdma_id_iw_cm_id(id_priv)
        cep = siw_find_cep(cm_id)
        assert cep.cm_id == cm_id
        assert siw_cep_remaining_seconds(cep) == pytest.approx(4.8, abs=0.1)


def test_timer_of_soft_iwarp_when_connected():
    (first, *_) = ids("nvme-rdma-healthy")
    with pytest.raises(LookupError):
        siw_find_cep(rdma_id_iw_cm_id(first))  # siw has no types in this dump


def test_devices():
    (device,) = for_each_ib_device(prog_of("nvme-rdma-healthy"))
    assert device.type_.type_name() == "struct ib_device *"


@pytest.mark.parametrize("name", [*RDS, *NVME])
def test_clocks(name):
    prog = prog_of(name)
    assert tick_rate(prog) == 250
    assert 10 < uptime_seconds(prog) < 1000
    now = int(prog["jiffies_64"].value_())
    assert jiffies_to_seconds(prog, now - 500) == 2
    assert abs(scheduler_clock(prog) / 1e9 - uptime_seconds(prog)) < 2


def test_workqueues():
    prog = prog_of("rds-mixed-queued")
    queues = {workqueue_name(wq): wq for wq in for_each_workqueue(prog)}
    assert workqueue_max_active(queues["krdsd"]) == 1
    assert {"WQ_UNBOUND", "WQ_MEM_RECLAIM", "__WQ_ORDERED"} <= set(
        workqueue_flag_names(queues["krdsd"])
    )
    assert workqueue_flag_names(queues["events"]) == []
    busy = [
        worker
        for pool in for_each_worker_pool(prog)
        for worker in pool_for_each_worker(pool)
        if worker.current_work
    ]
    assert [task_comm(worker.task)[:8] for worker in busy] == ["kworker/"]


def test_work_that_is_queued():
    prog = prog_of("rds-mixed-queued")
    works = [
        path_shutdown_work(cp)
        for conn in for_each_rds_connection(prog)
        for cp in rds_conn_for_each_path(conn)
    ]
    (queued,) = [work for work in works if work_pending(work)]
    assert workqueue_name(work_pwq(queued).wq) == "krdsd"
    (*_, idle) = [work for work in works if not work_pending(work)]
    assert work_pwq(idle) is None or workqueue_name(work_pwq(idle).wq) == "krdsd"


def test_delayed_works():
    prog = prog_of("nvme-rdma-reconnecting")
    reconnects = {ctrl.reconnect_work.address_ for ctrl in for_each_nvme_rdma_ctrl(prog)}
    delayed = {dwork.value_() for dwork in for_each_delayed_work(prog)}
    assert reconnects <= delayed
