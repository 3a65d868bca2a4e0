"""
NVMe over RDMA target
---------------------

Queues of ``drivers/nvme/target/rdma.c``.
"""

from collections.abc import Iterator

from drgn import Object, Program

from rdmadiag.vmcore.helpers.enums import enum_value_name
from rdmadiag.vmcore.walk import list_entries

__all__ = ("for_each_nvmet_rdma_queue", "nvmet_rdma_queue_state")


def for_each_nvmet_rdma_queue(prog: Program) -> Iterator[Object]:
    """
    Iterate over the queues of all hosts.

    :return: Iterator of ``struct nvmet_rdma_queue *`` objects.
    """
    head = prog["nvmet_rdma_queue_list"]
    return list_entries("struct nvmet_rdma_queue", head, "queue_list")


def nvmet_rdma_queue_state(queue: Object) -> str:
    """
    Return a queue's state without ``NVMET_RDMA_Q_``.

    :param queue: ``struct nvmet_rdma_queue *``
    """
    return enum_value_name(queue.state, "NVMET_RDMA_Q_")
