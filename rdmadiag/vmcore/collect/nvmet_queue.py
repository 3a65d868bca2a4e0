"""Queues of the NVMe over RDMA target."""

from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.rows import Row, isolated, until_broken
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.ib_device import ib_qp_state
from rdmadiag.vmcore.helpers.nvmet_rdma import for_each_nvmet_rdma_queue, nvmet_rdma_queue_state
from rdmadiag.vmcore.helpers.rdma_cm import rdma_id_private, rdma_id_state
from rdmadiag.vmcore.helpers.workqueue import work_pending

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
    problems: list[str] = []
    queues = for_each_nvmet_rdma_queue(view.prog)
    found = until_broken(queues, problems, "the list of queues is broken")
    facts = isolated(found, partial(_fact, view), problems, lambda one: f"{one.value_():#x}")
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts)])


def _fact(view: View, queue: Object) -> Fact:
    row, address = Row(), int(queue.value_())
    row.fields["address"] = hex(address)
    row.read("index", lambda: int(queue.idx.value_()))
    row.read("host_queue", lambda: int(queue.host_qid.value_()))
    row.read("state", lambda: nvmet_rdma_queue_state(queue))
    row.read("free_sends", lambda: int(queue.sq_wr_avail.counter.value_()))
    row.read("qp_num", lambda: int(queue.qp.qp_num.value_()))
    row.read("qp_state", lambda: ib_qp_state(queue.qp))
    row.read("cm_state", lambda: rdma_id_state(rdma_id_private(queue.cm_id)))
    row.read("release_work", lambda: _work(view, queue.release_work))
    row.fields["problems"] = row.problems
    text = f"target queue {row.fields['index']} {row.fields['state']}"
    return view.fact(_KIND, row.fields, "struct nvmet_rdma_queue", address, text)


def _work(view: View, work: Object) -> str:
    if work.address_ in view.works.by_work:
        return "running"
    return "pending" if work_pending(work) else "idle"
