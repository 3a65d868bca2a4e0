"""Queues of the NVMe over RDMA target."""

from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.rows import Row, each_object
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.waits import work_state
from rdmadiag.vmcore.helpers.ib_device import ib_qp_state
from rdmadiag.vmcore.helpers.nvmet_rdma import for_each_nvmet_rdma_queue, nvmet_rdma_queue_state
from rdmadiag.vmcore.helpers.rdma_cm import rdma_id_private, rdma_id_state
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.walk import list_entries

KINDS = ("nvmet.rdma_queue",)
ON_DEMAND = True
_KIND = KINDS[0]


def collect(view: View) -> Collected:
    """Return an ``nvmet.rdma_queue`` fact for each queue of each host."""
    coverage = view.not_here(
        _KIND, "nvmet_rdma", "nvmet_rdma_queue_list", "struct nvmet_rdma_queue"
    )
    if coverage:
        return Collected(coverage=[coverage])
    return each_object(
        view,
        _KIND,
        for_each_nvmet_rdma_queue(view.prog),
        partial(_fact, view),
        "the list of queues is broken",
    )


def _fact(view: View, queue: Object) -> Fact:
    row, address = Row(), int(queue.value_())
    row.fields["address"] = hex(address)
    row.read("index", lambda: int(queue.idx.value_()))
    row.read("host_queue", lambda: int(queue.host_qid.value_()))
    row.read("state", lambda: nvmet_rdma_queue_state(queue))
    row.fields |= dict.fromkeys(("hostnqn", "subsystem", "controller"))
    # A queue has no controller until the host's connect command has come.
    if (ctrl := row.value("ctrl", queue.nvme_sq.ctrl.read_)) is not None and ctrl:
        row.read("hostnqn", lambda: c_string(ctrl.hostnqn))
        row.read("subsystem", lambda: c_string(ctrl.subsys.subsysnqn))
        row.read("controller", lambda: int(ctrl.cntlid.value_()))
    row.read("recv_queue_size", lambda: int(queue.recv_queue_size.value_()))
    row.read("early_commands", lambda: _length(queue.rsp_wait_list))
    row.read("waiting_for_sends", lambda: _length(queue.rsp_wr_wait_list))
    row.read("free_sends", lambda: int(queue.sq_wr_avail.counter.value_()))
    row.read("qp_num", lambda: int(queue.qp.qp_num.value_()))
    row.read("qp_state", lambda: ib_qp_state(queue.qp))
    row.read("cm_state", lambda: rdma_id_state(rdma_id_private(queue.cm_id)))
    row.read("release_work", lambda: work_state(view, queue.release_work))
    row.fields["problems"] = row.problems
    text = f"target queue {row.fields['index']} {row.fields['state']}, of {row.fields['hostnqn']}"
    return view.fact(_KIND, row.fields, "struct nvmet_rdma_queue", address, text)


def _length(head: Object) -> int:
    return sum(1 for _ in list_entries("struct nvmet_rdma_rsp", head, "wait_list"))
