"""Works that delete an NVMe over RDMA controller, and what is left of the controller while they run."""

from functools import partial

from drgn import Object, container_of

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.rows import Row, isolated
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.worktable import QueuedWork, Worker
from rdmadiag.vmcore.helpers.damage import object_damage
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
from rdmadiag.vmcore.helpers.nvme import nvme_ctrl_name, nvme_ctrl_refcount

KINDS = ("nvme.delete_work",)
# The core's own work since v4.15, the transport's before that.
_TYPES = {
    "nvme_delete_ctrl_work": "struct nvme_ctrl",
    "nvme_rdma_del_ctrl_work": "struct nvme_rdma_ctrl",
}


def collect(view: View) -> Collected:
    """Return an ``nvme.delete_work`` fact for each work that deletes a controller, running or not."""
    problems: list[str] = []
    works: list[Worker | QueuedWork] = [*view.works.workers, *view.works.queued]
    deletes = [one for one in works if view.function_name(one.function) in _TYPES]
    facts = isolated(deletes, partial(_fact, view), problems, lambda one: f"the work {one.work:#x}")
    facts = [fact for fact in facts if fact.fields["transport"] in ("nvme_rdma", None)]
    return Collected(facts=facts, coverage=[view.covered(KINDS[0], problems, facts, len(works))])


def _fact(view: View, one: Worker | QueuedWork) -> Fact:
    function = view.function_name(one.function)
    worker = view.tasks.named(one.task) if isinstance(one, Worker) else None
    work = Object(view.prog, "struct work_struct *", one.work)
    row = Row()
    row.fields |= {
        "work": hex(one.work),
        "function": function,
        "worker_pid": worker.pid if worker else None,
        "flushers": _flushers(view, one),
    }
    _add_controller(view, container_of(work, _TYPES[function], "delete_work"), row)
    row.fields["problems"] = row.problems
    text = f"{function} of {row.fields['controller'] or 'a controller'}, refcount {row.fields['refcount']}"
    if row.fields["damage"]:
        text += f"; {row.fields['damage']}"
    return view.fact(KINDS[0], row.fields, "struct work_struct", one.work, text)


def _flushers(view: View, one: Worker | QueuedWork) -> list[int]:
    """Return the pids of those who wait for the work, or for all works of its queue."""
    tasks = list(view.works.flushers.get(one.work, ()))
    if one.queue:
        tasks += view.works.queue_flushers.get(one.queue.address, ())
    return [row.pid for task in tasks if (row := view.tasks.named(task))]


def _add_controller(view: View, ctrl: Object, row: Row) -> None:
    """
    Add what can be read of the controller that the work is in.

    :param ctrl: ``struct nvme_ctrl *`` or ``struct nvme_rdma_ctrl *``
    """
    row.fields |= dict.fromkeys(("controller", "refcount", "transport"))
    try:
        row.fields["damage"] = object_damage(ctrl)
    except READ_ERRORS as error:
        row.fields["damage"] = None
        row.problems.append(f"controller: {why(error)}")
    if row.fields["damage"] != "":
        return
    nvme = ctrl.ctrl.address_of_() if ctrl.type_.type.has_member("ctrl") else ctrl
    row.read("transport", lambda: view.module_name(int(nvme.ops.value_())))
    row.read("controller", lambda: nvme_ctrl_name(nvme))
    row.read("refcount", lambda: nvme_ctrl_refcount(nvme))
