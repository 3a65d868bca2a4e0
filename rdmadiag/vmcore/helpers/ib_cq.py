"""
Completion queues
-----------------

What the core has of a ``struct ib_cq`` is little: its number, its interrupt and how far it is read are in the
drivers' own structures.
"""

from drgn import Object, cast, container_of

from rdmadiag.vmcore.helpers.ib_device import driver_member, ib_device_driver

__all__ = ("ib_cq_cons_index", "ib_cq_eq", "ib_cq_irq", "ib_cq_number", "ib_cq_unpolled")

# Driver's structure around a struct ib_cq, the member that is the ib_cq, and the number that the driver's
# messages name it by.
_NUMBER = {
    "mlx4_ib": ("struct mlx4_ib_cq", "ibcq", "mcq.cqn"),
    "mlx5_ib": ("struct mlx5_ib_cq", "ibcq", "mcq.cqn"),
    "hns_roce": ("struct hns_roce_cq", "ib_cq", "cqn"),
    "iw_cxgb4": ("struct c4iw_cq", "ibcq", "cq.cqid"),
    "irdma": ("struct irdma_cq", "ibcq", "cq_num"),
}
# The same and the interrupt.
_IRQ = {
    "mlx4_ib": ("struct mlx4_ib_cq", "ibcq", "mcq.irq"),
    "mlx5_ib": ("struct mlx5_ib_cq", "ibcq", "mcq.irqn"),
}
# The same and the number of completions read so far.
_CONS_INDEX = {
    "mlx4_ib": ("struct mlx4_ib_cq", "ibcq", "mcq.cons_index"),
    "mlx5_ib": ("struct mlx5_ib_cq", "ibcq", "mcq.cons_index"),
    "hns_roce": ("struct hns_roce_cq", "ib_cq", "cons_index"),
}
_EQ = {"mlx5_ib": ("struct mlx5_ib_cq", "ibcq", "mcq.eq")}


def ib_cq_number(cq: Object) -> int:
    """
    Return the number by which the driver's messages name a completion queue.

    :param cq: ``struct ib_cq *``
    :raises LookupError: if the driver is not known or its types are not in the dump.
    """
    return int(driver_member(cq, _NUMBER).value_())


def ib_cq_irq(cq: Object) -> int:
    """
    Return the interrupt that completions of a completion queue come with.

    :param cq: ``struct ib_cq *``
    :raises LookupError: if the driver is none that keeps it there, or its types are not in the dump.
    """
    return int(driver_member(cq, _IRQ).value_())


def ib_cq_cons_index(cq: Object) -> int:
    """
    Return how many completions have been read, modulo 2**32.

    :param cq: ``struct ib_cq *``
    :raises LookupError: if the driver is none that counts them, or its types are not in the dump.
    """
    return int(driver_member(cq, _CONS_INDEX).value_()) & 0xFFFFFFFF


def ib_cq_eq(cq: Object) -> dict[str, int] | None:
    """
    Return number, vector and consumer index of the event queue behind a completion queue; ``None`` for no queue.

    :param cq: ``struct ib_cq *`` of an mlx5 device
    :raises LookupError: if the driver is another, or the types of mlx5_core are not in the dump.
    """
    # mlx5_ib only declares the type; mlx5_core has it whole (struct mlx5_eq of lib/eq.h).
    eq = cast("struct mlx5_eq_comp *", driver_member(cq, _EQ))
    if not eq:
        return None
    core = eq.core
    return {name: int(core.member_(name).value_()) for name in ("eqn", "vecidx", "cons_index")}


def ib_cq_unpolled(cq: Object) -> int:
    """
    Return how many completions were posted that nobody has read yet.

    :param cq: ``struct ib_cq *`` of a soft RoCE or soft iWARP device: others post them in memory of their own
    :raises LookupError: if the driver is another, or its types are not in the dump.
    """
    return _UNPOLLED[ib_device_driver(cq.device)](cq)


def _rxe_unpolled(cq: Object) -> int:
    queue = container_of(cq, "struct rxe_cq", "ibcq").queue
    buffer = queue.buf
    posted = int(buffer.producer_index.value_()) - int(buffer.consumer_index.value_())
    return posted & int(queue.index_mask.value_())


def _siw_unpolled(cq: Object) -> int:
    siw = container_of(cq, "struct siw_cq", "base_cq")
    return (int(siw.cq_put.value_()) - int(siw.cq_get.value_())) & 0xFFFFFFFF


_UNPOLLED = {"rdma_rxe": _rxe_unpolled, "siw": _siw_unpolled}
