"""
Controllers of an nvme_rdma that has no types in the dump: what the core's types, the works and the iWARP
identifiers tell of them.
"""

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
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
from rdmadiag.vmcore.collect.nvme_queues import Blocked, add_blocked_task
from rdmadiag.vmcore.collect.rows import Row, isolated, until_broken
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.waits import first_task
from rdmadiag.vmcore.collect.worktable import Worker
from rdmadiag.vmcore.helpers.errors import READ_ERRORS
from rdmadiag.vmcore.helpers.iwcm import iw_cm_id_for_each_destroyer, iw_cm_id_private
from rdmadiag.vmcore.helpers.nested import nested
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
        found = _controllers(view)
        problems += found.problems
        facts = isolated(found.by_address.values(), partial(_fact, view), problems, _name)
    if not facts:
        return Collected(coverage=[coverage])
    problems.insert(0, f"{coverage.reason}; only what the core knows of its controllers was read")
    reason = "; ".join(problems)
    return Collected(facts=facts, coverage=[view.coverage(_KIND, "partial", reason)])


def _name(nvme: Object) -> str:
    return f"the controller at {nvme.value_():#x}"


class _Controllers:
    """
    The core's part of the controllers.

    :ivar by_address: ``struct nvme_ctrl *`` objects by address.
    :ivar problems: Why some may be missing.
    """

    def __init__(self, view: View) -> None:
        self.problems: list[str] = []
        walk = nested(for_each_nvme_ctrl(view.prog), _rdma_controller)
        found = until_broken(walk, self.problems, "the core's controllers")
        self.by_address = {int(nvme.value_()): nvme for nvme in found}
        self._addresses = sorted(self.by_address)

    def behind(self, address: int) -> Object | None:
        """Return the first one behind an address, within the size of an object."""
        after = bisect_right(self._addresses, address)
        if after == len(self._addresses) or self._addresses[after] - address >= _SPAN:
            return None
        return self.by_address[self._addresses[after]]


def _rdma_controller(nvme: Object) -> Iterator[Object]:
    if nvme_ctrl_transport(nvme) == "rdma":
        yield nvme


def _controllers(view: View) -> _Controllers:
    return view.once("nvme controllers", lambda: _Controllers(view))


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
    return _controllers(view).behind(worker.work)


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
    add_blocked_task(view, blocked, row)
    add_behind(view, works, row)
    add_bound(view, reconnect, blocked, row)
    row.fields["problems"] = row.problems
    return view.fact(_KIND, row.fields, "struct nvme_ctrl", address, controller_text(row.fields))


def _reconnect_work(view: View, nvme: Object) -> Object | None:
    """
    Return a controller's reconnect work when it runs.

    :return: ``struct delayed_work *``
    """
    works = view.once("reconnect works", lambda: _reconnect_works(view))
    work = works.get(int(nvme.value_()))
    if work is None:
        return None
    return container_of(
        Object(view.prog, "struct work_struct *", work), "struct delayed_work", "work"
    )


def _reconnect_works(view: View) -> dict[int, int]:
    """Return the addresses of the reconnect works that run by their controller's."""
    found: dict[int, int] = {}
    for worker in view.works.workers:
        if (nvme := _controller_of(view, worker)) is not None:
            found.setdefault(int(nvme.value_()), worker.work)
    return found


def _blocked(view: View, pid: int | None) -> Blocked | None:
    """Return what the worker that reconnects waits for, when it is an iWARP identifier."""
    waits = view.once("waits for iWARP ids", lambda: dict(reversed([*_waits_for_ids(view)])))
    return waits.get(pid) if pid is not None else None


def _waits_for_ids(view: View) -> Iterator[tuple[int, Blocked]]:
    """Iterate over the numbers of those who wait for an iWARP identifier, and what each waits for."""
    for rdma_id in id_table(view):
        with suppress(*READ_ERRORS):  # the collector of identifiers says so
            iw_id = rdma_id_iw_cm_id(rdma_id.object)
            if iw_id is not None:
                task = first_task(view, iw_cm_id_for_each_destroyer(iw_cm_id_private(iw_id)))
                task = task or setup_task(view, rdma_id)
                if task:
                    yield task.pid, Blocked(task, None, iw_id)
