"""Queues of an NVMe over RDMA controller, and the one that a task is blocked on."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from drgn import Object

from rdmadiag.facts.model import Fields
from rdmadiag.vmcore.collect.ids import RdmaId, id_table
from rdmadiag.vmcore.collect.rows import Row, hex_or_none
from rdmadiag.vmcore.collect.tasktable import TaskRow
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.waits import first_task
from rdmadiag.vmcore.helpers.ib_device import ib_qp_state
from rdmadiag.vmcore.helpers.iwcm import iw_cm_id_for_each_destroyer, iw_cm_id_private
from rdmadiag.vmcore.helpers.nvme_rdma import (
    nvme_rdma_ctrl_for_each_queue,
    nvme_rdma_queue_flag_names,
)
from rdmadiag.vmcore.helpers.rdma_cm import rdma_id_iw_cm_id, rdma_id_state
from rdmadiag.vmcore.helpers.wait import completion_for_each_task, mutex_for_each_waiter

__all__ = ("Blocked", "Queue", "add_blocked", "add_blocked_task", "read_queues")

_BLOCKED = ("blocked_task", "blocked_queue", "blocked_wait_seconds", "blocked_in", "iw_cm_id")
_ALLOCATED = "NVME_RDMA_Q_ALLOCATED"


class Queue(NamedTuple):
    """
    A queue.

    :ivar object: ``struct nvme_rdma_queue *``
    :ivar rdma_id: Its identifier, ``None`` when the pointer dangles.
    :ivar iw_cm_id: ``struct iw_cm_id *``, ``None`` when there is none.
    """

    number: int
    object: Object
    rdma_id: RdmaId | None
    iw_cm_id: Object | None
    fields: Fields


class Blocked(NamedTuple):
    """
    The task that is blocked in setting up or tearing down a queue.

    :ivar queue: Number of the queue, ``None`` when it is not known.
    :ivar iw_cm_id: ``struct iw_cm_id *`` of the queue, ``None`` when there is none.
    """

    task: TaskRow
    queue: int | None
    iw_cm_id: Object | None


def read_queues(view: View, ctrl: Object) -> list[Queue]:
    """
    Return a controller's queues.

    :param ctrl: ``struct nvme_rdma_ctrl *``
    """
    return [
        _queue(view, index, queue)
        for index, queue in enumerate(nvme_rdma_ctrl_for_each_queue(ctrl))
    ]


def _queue(view: View, index: int, queue: Object) -> Queue:
    row = Row()
    row.fields["index"] = index
    row.read("flags", lambda: hex(queue.flags.value_()))
    flags = row.read("flag_names", lambda: nvme_rdma_queue_flag_names(queue)) or []
    row.fields["flag_names"] = flags
    row.read("cm_id", lambda: hex_or_none(queue.cm_id.value_()))
    rdma_id = row.value("cm_id", lambda: _own_id(view, queue))
    iw_id = row.value("iw_cm_id", lambda: rdma_id_iw_cm_id(rdma_id.object)) if rdma_id else None
    row.fields |= {
        "cm_id_live": rdma_id is not None,
        "cm_state": None,
        "iw_cm_id": hex_or_none(iw_id.value_()) if iw_id else None,
        "qp_num": None,
        "qp_state": None,
    }
    if rdma_id:
        row.read("cm_state", lambda: rdma_id_state(rdma_id.object))
    # A queue that was freed keeps its pointers.
    if _ALLOCATED in flags and (qp := row.value("qp", queue.qp.read_)):
        row.read("qp_num", lambda: int(qp.qp_num.value_()))
        row.read("qp_state", lambda: ib_qp_state(qp))
    row.fields["problems"] = row.problems
    return Queue(index, queue, rdma_id, iw_id, row.fields)


def _own_id(view: View, queue: Object) -> RdmaId | None:
    """
    Return a queue's identifier, ``None`` when its pointer dangles.

    The memory of an identifier that was freed may be another queue's by now.
    """
    rdma_id = id_table(view).live(queue.cm_id.read_())
    return rdma_id if rdma_id and rdma_id.object.id.context.value_() == queue.value_() else None


def add_blocked(view: View, queues: list[Queue], row: Row) -> Blocked | None:
    """Add who is blocked in setting up or tearing down one of the queues."""
    for queue in queues:
        task = row.value(f"waiters of queue {queue.number}", partial(_waiter, view, queue))
        if task is not None:
            blocked = Blocked(task, queue.number, queue.iw_cm_id)
            add_blocked_task(view, blocked, row)
            return blocked
    add_blocked_task(view, None, row)
    return None


def add_blocked_task(view: View, blocked: Blocked | None, row: Row) -> None:
    """Add the fields that tell of a blocked task."""
    row.fields |= dict.fromkeys(_BLOCKED)
    if blocked is None:
        return
    row.read("blocked_wait_seconds", lambda: view.wait(blocked.task)[0])
    iw_cm_id = blocked.iw_cm_id
    row.fields |= {
        "blocked_task": blocked.task.pid,
        "blocked_queue": blocked.queue,
        "blocked_in": view.stacks.of(blocked.task.task).rdma_function or None,
        "iw_cm_id": hex_or_none(iw_cm_id.value_()) if iw_cm_id else None,
    }


def _waiter(view: View, queue: Queue) -> TaskRow | None:
    """Return the task that waits to destroy a queue's identifier, or for its connection."""
    task = None
    if queue.iw_cm_id:
        task = first_task(view, iw_cm_id_for_each_destroyer(iw_cm_id_private(queue.iw_cm_id)))
    if not task and queue.rdma_id:
        id_priv = queue.rdma_id.object
        task = first_task(view, completion_for_each_task(id_priv.comp))
        task = task or first_task(view, _lockers(view, id_priv))
    return task or first_task(view, completion_for_each_task(queue.object.cm_done))


def _lockers(view: View, id_priv: Object) -> Iterator[Object]:
    """Iterate over nvme_rdma's tasks that wait until an event handler of an identifier ends."""
    for task in mutex_for_each_waiter(id_priv.handler_mutex):
        # By name: built into the kernel it is no module.
        if any(name.startswith("nvme_rdma_") for name in view.stacks.of(task).functions):
            yield task
