"""
NVMe over RDMA host
-------------------

Controllers and queues of ``drivers/nvme/host/rdma.c``.
"""

from collections.abc import Iterator

from drgn import Object, Program, container_of

from rdmadiag.vmcore.helpers.enums import enum_names, flag_names
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.walk import list_entries, take_steps

__all__ = (
    "for_each_nvme_rdma_ctrl",
    "nvme_rdma_ctrl_for_each_queue",
    "nvme_rdma_ctrl_works",
    "nvme_rdma_queue_flag_names",
    "nvme_rdma_queue_index",
    "nvme_rdma_work_ctrl",
)

_WORK_MEMBERS = {
    "nvme_rdma_reconnect_ctrl_work": "reconnect_work.work",
    "nvme_rdma_error_recovery_work": "err_work",
    "nvme_rdma_del_ctrl_work": "delete_work",
}
_MAX_QUEUES = 65536  # queue identifiers have 16 bits


def for_each_nvme_rdma_ctrl(prog: Program) -> Iterator[Object]:
    """
    Iterate over the controllers that have been set up; one that is still being created is not among them.

    :return: Iterator of ``struct nvme_rdma_ctrl *`` objects.
    """
    head = prog["nvme_rdma_ctrl_list"]
    return list_entries("struct nvme_rdma_ctrl", head, "list")


def nvme_rdma_ctrl_works(ctrl: Object) -> dict[str, Object]:
    """
    Return a controller's works by what they do: ``reconnect``, ``error``, ``delete``, ``reset``.

    :param ctrl: ``struct nvme_rdma_ctrl *``
    :return: ``struct work_struct`` objects.
    """
    return {
        "reconnect": ctrl.reconnect_work.work,
        "error": ctrl.err_work,
        "delete": _own_or_core(ctrl, "delete_work"),
        "reset": _own_or_core(ctrl, "reset_work"),
    }


def _own_or_core(ctrl: Object, name: str) -> Object:
    # Since v4.13 (reset_work) and v4.15 (delete_work) these are in struct nvme_ctrl; before that, they
    # are the transport's own.
    try:
        return ctrl.ctrl.member_(name)
    except LookupError:
        return ctrl.member_(name)


def nvme_rdma_work_ctrl(work: Object, function: str) -> Object | None:
    """
    Return the controller that a work belongs to, ``None`` for other works.

    :param work: ``struct work_struct *``
    :param function: Name of its function.
    :return: ``struct nvme_rdma_ctrl *``
    """
    if member := _WORK_MEMBERS.get(function):
        return container_of(work, "struct nvme_rdma_ctrl", member)
    if function != "nvme_delete_ctrl_work":
        return None
    # The core's work of any transport: the operations tell which.
    ctrl = container_of(work, "struct nvme_ctrl", "delete_work")
    if c_string(ctrl.ops.name) != "rdma":
        return None
    return container_of(ctrl, "struct nvme_rdma_ctrl", "ctrl")


def nvme_rdma_ctrl_for_each_queue(ctrl: Object) -> Iterator[Object]:
    """
    Iterate over a controller's queues, the admin queue first.

    :param ctrl: ``struct nvme_rdma_ctrl *``
    :return: Iterator of ``struct nvme_rdma_queue *`` objects.
    :raises ValueError: if the number of queues cannot be.
    """
    queues = ctrl.queues.read_()
    count = int(ctrl.ctrl.queue_count.value_())
    if count > _MAX_QUEUES:
        raise ValueError(f"a controller with {count} queues")
    for index in range(count if queues else 0):
        take_steps(ctrl.prog_)
        yield queues + index


def nvme_rdma_queue_index(queue: Object) -> int:
    """
    Return a queue's index; 0 is the admin queue.

    :param queue: ``struct nvme_rdma_queue *``
    """
    return int((queue - queue.ctrl.queues).value_())


def nvme_rdma_queue_flag_names(queue: Object) -> list[str]:
    """
    Return the names of a queue's flags.

    :param queue: ``struct nvme_rdma_queue *``
    """
    names = enum_names(queue.prog_, "NVME_RDMA_Q_LIVE")
    # In the first kernels (v4.8) the enum holds masks, not bit numbers: its smallest is 1.
    if 0 not in names:
        names = {value.bit_length() - 1: name for value, name in names.items()}
    return flag_names(int(queue.flags.value_()), names)
