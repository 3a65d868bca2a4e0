"""
Controllers of an nvme_rdma that has no types in the dump: what the core's types, the works and the iWARP
identifiers tell of them.
"""

from functools import partial

from drgn import Object, container_of

from rdmadiag.facts.model import Collected, Coverage, Fact
from rdmadiag.vmcore.collect.ids import id_table, setup_task
from rdmadiag.vmcore.collect.nvme_bound import add_bound
from rdmadiag.vmcore.collect.nvme_fields import (
    add_behind,
    add_core,
    add_disks,
    add_works,
    controller_text,
)
from rdmadiag.vmcore.collect.nvme_queues import Blocked, blocked_fields
from rdmadiag.vmcore.collect.rows import Row, isolated
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.waits import first_task
from rdmadiag.vmcore.collect.worktable import Worker
from rdmadiag.vmcore.helpers.errors import READ_ERRORS
from rdmadiag.vmcore.helpers.iwcm import iw_cm_id_for_each_destroyer, iw_cm_id_private
from rdmadiag.vmcore.helpers.nvme import for_each_nvme_ctrl, nvme_ctrl_name, nvme_ctrl_transport
from rdmadiag.vmcore.helpers.rdma_cm import rdma_id_iw_cm_id

__all__ = ("collect_untyped", "worker_controller")

_KIND = "nvme.rdma_controller"
_RECONNECT = "nvme_rdma_reconnect_ctrl_work"
_SPAN = 4096
"""How far the core's part of a controller may be behind the transport's works in the same object."""


def collect_untyped(view: View, coverage: Coverage) -> Collected:
    """
    Return facts of the controllers that the core knows, as far as they can be filled.

    :param coverage: Why the transport's own objects cannot be read.
    """
    facts: list[Fact] = []
    problems: list[str] = []
    if coverage.status == "failed":
        facts = isolated(_controllers(view), partial(_fact, view), problems, _name)
    if not facts:
        return Collected(coverage=[coverage])
    problems.insert(0, f"{coverage.reason}; only what the core knows of its controllers was read")
    reason = "; ".join(problems)
    return Collected(facts=facts, coverage=[view.coverage(_KIND, "partial", reason)])


def _name(nvme: Object) -> str:
    return f"the controller at {nvme.value_():#x}"


def _controllers(view: View) -> list[Object]:
    """Return the core's part of each controller: ``struct nvme_ctrl *``."""
    return view.once("nvme controllers", lambda: _read_controllers(view))


def _read_controllers(view: View) -> list[Object]:
    try:
        every = list(for_each_nvme_ctrl(view.prog))
        return [nvme for nvme in every if nvme_ctrl_transport(nvme) == "rdma"]
    except READ_ERRORS:
        return []


def worker_controller(view: View, worker: Worker | None) -> str | None:
    """Return the name of the controller that a worker reconnects, ``None`` when it cannot be told."""
    nvme = _controller_of(view, worker) if worker else None
    return nvme_ctrl_name(nvme) if nvme is not None else None


def _controller_of(view: View, worker: Worker) -> Object | None:
    """
    Return the controller whose reconnect work a worker runs: the core's part follows it in the same object.

    :return: ``struct nvme_ctrl *``
    """
    if view.function_name(worker.function) != _RECONNECT:
        return None
    behind = [
        (nvme.value_() - worker.work, nvme)
        for nvme in _controllers(view)
        if 0 < nvme.value_() - worker.work < _SPAN
    ]
    return min(behind, key=lambda pair: pair[0])[1] if behind else None


def _fact(view: View, nvme: Object) -> Fact:
    row, address = Row(), int(nvme.value_())
    row.fields |= {"address": None, "listed": None, "queues": [], "queues_live": None}
    add_core(nvme, row)
    add_disks(view, nvme, row)
    row.read("queue_count", lambda: int(nvme.queue_count.value_()))
    works = {name: nvme.member_(f"{name}_work") for name in ("delete", "reset")}
    reconnect = _reconnect_work(view, nvme)
    if reconnect is not None:
        works["reconnect"] = reconnect.work
    add_works(view, works, reconnect, row)
    blocked = row.value("blocked task", lambda: _blocked(view, row.fields["reconnect_task"]))
    row.fields |= blocked_fields(view, blocked)
    add_behind(view, works, row)
    add_bound(view, reconnect, blocked, row)
    row.fields["problems"] = row.problems
    return view.fact(_KIND, row.fields, "struct nvme_ctrl", address, controller_text(row.fields))


def _reconnect_work(view: View, nvme: Object) -> Object | None:
    """
    Return a controller's reconnect work when it runs.

    :return: ``struct delayed_work *``
    """
    for worker in view.works.workers:
        found = _controller_of(view, worker)
        if found is not None and found == nvme:
            work = Object(view.prog, "struct work_struct *", worker.work)
            return container_of(work, "struct delayed_work", "work")
    return None


def _blocked(view: View, pid: int | None) -> Blocked | None:
    """Return what the worker that reconnects waits for, when it is an iWARP identifier."""
    if pid is None:
        return None
    for rdma_id in id_table(view):
        iw_id = rdma_id_iw_cm_id(rdma_id.object)
        if iw_id is None:
            continue
        task = first_task(view, iw_cm_id_for_each_destroyer(iw_cm_id_private(iw_id)))
        task = task or setup_task(view, rdma_id)
        if task and task.pid == pid:
            return Blocked(task, None, iw_id)
    return None
