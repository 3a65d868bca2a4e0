"""Controllers of NVMe over RDMA: their queues, their works, and what they are blocked on."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from drgn import Object, cast

from rdmadiag.facts.model import Collected, Fact, Fields
from rdmadiag.vmcore.collect.behind import behind_task, behind_work
from rdmadiag.vmcore.collect.ids import RdmaId, id_table
from rdmadiag.vmcore.collect.nvme_bound import add_bound
from rdmadiag.vmcore.collect.nvme_queues import add_blocked, read_queues
from rdmadiag.vmcore.collect.rows import Row
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.damage import object_damage
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
from rdmadiag.vmcore.helpers.nvme_rdma import (
    for_each_nvme_rdma_ctrl,
    nvme_ctrl_name,
    nvme_ctrl_refcount,
    nvme_ctrl_state,
    nvme_rdma_ctrl_works,
    nvme_rdma_work_ctrl,
)
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.helpers.timekeeping import seconds_until
from rdmadiag.vmcore.helpers.workqueue import work_pending

KINDS = ("nvme.rdma_controller",)
_KIND = KINDS[0]
_MODULE = "nvme_rdma"


class _Controller(NamedTuple):
    object: Object
    listed: bool


def collect(view: View) -> Collected:
    """Return an ``nvme.rdma_controller`` fact for each controller, set up or still being created."""
    if coverage := view.not_here(_KIND, _MODULE, "nvme_rdma_ctrl_list", "struct nvme_rdma_ctrl"):
        return Collected(coverage=[coverage])
    problems: list[str] = []
    facts: list[Fact] = []
    for address, controller in _controllers(view, problems).items():
        try:
            facts.append(_fact(view, controller))
        except READ_ERRORS as error:
            problems.append(f"the controller at {address:#x} cannot be read: {why(error)}")
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts)])


def _controllers(view: View, problems: list[str]) -> dict[int, _Controller]:
    found: dict[int, _Controller] = {}
    try:
        for ctrl in for_each_nvme_rdma_ctrl(view.prog):
            found[int(ctrl.value_())] = _Controller(ctrl, listed=True)
    except READ_ERRORS as error:
        problems.append(f"the list of controllers is broken: {why(error)}")
    # One that is still being created is on no list, but its queues have identifiers. One that is freed
    # already may still have a work.
    for rdma_id in id_table(view):
        what = f"the user of the id at {rdma_id.address:#x}"
        _add_unlisted(found, problems, what, partial(_user_of_id, view, rdma_id))
    known = {
        work.address_
        for controller in found.values()
        for work in nvme_rdma_ctrl_works(controller.object).values()
    }
    for work, function in _works(view):
        if work.value_() in known:
            continue
        what = f"the controller of the work at {work.value_():#x}"
        _add_unlisted(found, problems, what, partial(nvme_rdma_work_ctrl, work, function))
    return found


def _add_unlisted(
    found: dict[int, _Controller],
    problems: list[str],
    what: str,
    read: Callable[[], Object | None],
) -> None:
    try:
        ctrl = read()
    except READ_ERRORS as error:
        problems.append(f"{what}: {why(error)}")
        return
    if ctrl is not None:
        found.setdefault(int(ctrl.value_()), _Controller(ctrl, listed=False))


def _works(view: View) -> Iterator[tuple[Object, str]]:
    """Iterate over the works that run or wait, with the names of their functions."""
    works = view.works
    pairs = [(one.work, one.function) for one in works.workers]
    pairs += [(one.work, one.function) for one in works.queued]
    for work, function in pairs:
        yield Object(view.prog, "struct work_struct *", work), view.function_name(function)


def _user_of_id(view: View, rdma_id: RdmaId) -> Object | None:
    cm_id = rdma_id.object.id
    if view.module_name(int(cm_id.event_handler.value_())) != _MODULE:
        return None
    return cast("struct nvme_rdma_queue *", cm_id.context.read_()).ctrl.read_()


def _fact(view: View, controller: _Controller) -> Fact:
    ctrl = controller.object
    if damage := object_damage(ctrl):
        raise ValueError(damage)
    row, nvme, address = Row(), ctrl.ctrl, int(ctrl.value_())
    row.fields |= {"address": hex(address), "listed": controller.listed}
    row.read("controller", lambda: nvme_ctrl_name(nvme))
    row.read("state", lambda: nvme_ctrl_state(nvme))
    row.read("refcount", lambda: nvme_ctrl_refcount(nvme))
    row.read("reconnects", lambda: int(nvme.nr_reconnects.value_()))
    row.read("kato_seconds", lambda: int(nvme.kato.value_()))
    _add_options(nvme, row)
    queues = row.value("queues", lambda: read_queues(view, ctrl)) or []
    row.fields |= {
        "queue_count": len(queues),
        "queues": [queue.fields for queue in queues],
        "queues_live": sum("NVME_RDMA_Q_LIVE" in queue.fields["flag_names"] for queue in queues),
    }
    _add_works(view, ctrl, row)
    blocked = add_blocked(view, queues, row)
    _add_behind(view, ctrl, row)
    add_bound(view, ctrl, blocked, row)
    row.fields["problems"] = row.problems
    return view.fact(_KIND, row.fields, "struct nvme_rdma_ctrl", address, _text(row.fields))


def _text(fields: Fields) -> str:
    text = (
        f"{fields['controller']} ({fields['nqn']} at {fields['traddr']}) {fields['state']}, "
        f"{fields['queues_live']} of {fields['queue_count']} queues live"
    )
    if fields["blocked_task"]:
        text += f", pid {fields['blocked_task']} blocked in {fields['blocked_in']}"
    return text


def _add_options(nvme: Object, row: Row) -> None:
    names = ("nqn", "traddr", "trsvcid", "host_traddr")
    members = ("subsysnqn", "traddr", "trsvcid", "host_traddr")
    row.fields |= dict.fromkeys((*names, "max_reconnects", "reconnect_delay_seconds"))
    opts = row.value("options", nvme.opts.read_)
    if not opts:
        return
    for name, member in zip(names, members, strict=True):
        row.read(name, partial(_option, opts, member))
    row.read("max_reconnects", lambda: int(opts.max_reconnects.value_()))
    row.read("reconnect_delay_seconds", lambda: int(opts.reconnect_delay.value_()))


def _option(opts: Object, name: str) -> str | None:
    """Return the text of an option; ``None`` when it was not given."""
    pointer = opts.member_(name).read_()
    return c_string(pointer) if pointer else None


def _add_works(view: View, ctrl: Object, row: Row) -> None:
    due = row.read("reconnect_due_seconds", lambda: seconds_until(ctrl.reconnect_work.timer))
    for name, work in nvme_rdma_ctrl_works(ctrl).items():
        worker = view.works.by_work.get(work.address_ or 0)
        task = view.tasks.named(worker.task) if worker else None
        state = "running" if worker else _work_state(view, work)
        if name == "reconnect" and due is not None and not worker:
            state = "delayed"
        row.fields[f"{name}_work"] = state
        row.fields[f"{name}_task"] = task.pid if task else None


def _work_state(view: View, work: Object) -> str:
    """Return the state of a work that does not run: one that is being cancelled also looks pending."""
    if work.address_ in view.works.queued_by_work:
        return "pending"
    return "cancelling" if work_pending(work) else "idle"


def _add_behind(view: View, ctrl: Object, row: Row) -> None:
    """Add the tasks that wait for one of the controller's works, or behind its blocked task."""
    behind: list[Fields] = []
    for work in nvme_rdma_ctrl_works(ctrl).values():
        behind += [one for one in behind_work(view, work.address_ or 0) if one not in behind]
    if task := view.tasks.by_pid(row.fields["blocked_task"]):
        pids = {one["pid"] for one in behind}
        behind += [one for one in behind_task(view, task.address) if one["pid"] not in pids]
    row.fields["waiting_behind"] = behind
