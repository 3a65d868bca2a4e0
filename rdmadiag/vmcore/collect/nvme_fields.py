"""The fields of a controller that do not need the types of the transport."""

from functools import partial

from drgn import Object

from rdmadiag.facts.model import Fields
from rdmadiag.vmcore.collect.behind import behind_task, behind_work
from rdmadiag.vmcore.collect.holders import disks_of, mounts_of
from rdmadiag.vmcore.collect.rows import Row
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.nvme import nvme_ctrl_name, nvme_ctrl_refcount, nvme_ctrl_state
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.helpers.timekeeping import seconds_until
from rdmadiag.vmcore.helpers.workqueue import work_pending

__all__ = ("add_behind", "add_core", "add_disks", "add_works", "controller_text")


def add_core(nvme: Object, row: Row) -> None:
    """
    Add what the core knows of a controller.

    :param nvme: ``struct nvme_ctrl``
    """
    row.read("controller", lambda: nvme_ctrl_name(nvme))
    row.read("state", lambda: nvme_ctrl_state(nvme))
    row.read("refcount", lambda: nvme_ctrl_refcount(nvme))
    row.read("reconnects", lambda: int(nvme.nr_reconnects.value_()))
    row.read("kato_seconds", lambda: int(nvme.kato.value_()))
    _add_options(nvme, row)


def add_disks(view: View, nvme: Object, row: Row) -> None:
    """
    Add the disks behind a controller, and what is mounted from them.

    :param nvme: ``struct nvme_ctrl``
    """
    disks = row.read("disks", lambda: disks_of(nvme))
    row.fields["mounts"] = None
    if disks is not None:
        row.read("mounts", lambda: mounts_of(view, disks))


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


def controller_text(fields: Fields) -> str:
    """Return one line about a controller."""
    text = (
        f"{fields['controller']} ({fields['nqn']} at {fields['traddr']}) {fields['state']}, "
        f"{_known(fields['queues_live'])} of {_known(fields['queue_count'])} queues live"
    )
    if fields["blocked_task"]:
        text += f", pid {fields['blocked_task']} blocked in {fields['blocked_in']}"
    return text


def _known(value: object) -> str:
    return "an unknown number" if value is None else str(value)


def add_works(view: View, works: dict[str, Object], reconnect: Object | None, row: Row) -> None:
    """
    Add the states of a controller's works and who runs them.

    :param works: ``struct work_struct`` objects by what they do.
    :param reconnect: ``struct delayed_work`` of the one that reconnects.
    """
    due = None
    row.fields["reconnect_due_seconds"] = None
    if reconnect is not None:
        due = row.read("reconnect_due_seconds", lambda: seconds_until(reconnect.timer))
    for name in ("reconnect", "delete", "error", "reset"):
        row.fields |= {f"{name}_work": None, f"{name}_task": None}
    for name, work in works.items():
        worker = view.works.by_work.get(work.address_ or 0)
        task = view.tasks.named(worker.task) if worker else None
        state = "running" if worker else _work_state(view, work)
        if name == "reconnect" and due is not None and not worker:
            state = "delayed"
        row.fields |= {f"{name}_work": state, f"{name}_task": task.pid if task else None}


def _work_state(view: View, work: Object) -> str:
    """Return the state of a work that does not run: one that is being cancelled also looks pending."""
    if work.address_ in view.works.queued_by_work:
        return "pending"
    return "cancelling" if work_pending(work) else "idle"


def add_behind(view: View, works: dict[str, Object], row: Row) -> None:
    """Add the tasks that wait for one of the controller's works, or behind its blocked task."""
    behind: list[Fields] = []
    for work in works.values():
        behind += [one for one in behind_work(view, work.address_ or 0) if one not in behind]
    if task := view.tasks.by_pid(row.fields["blocked_task"]):
        pids = {one["pid"] for one in behind}
        behind += [one for one in behind_task(view, task.address) if one["pid"] not in pids]
    row.fields["waiting_behind"] = behind
