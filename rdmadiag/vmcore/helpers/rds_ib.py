"""
RDS over InfiniBand
-------------------

``struct rds_ib_connection`` of ``net/rds/ib.h``: rings, counters, queues.
"""

from typing import NamedTuple

from drgn import Object, cast, sizeof

from rdmadiag.vmcore.helpers.rds import path_member

__all__ = (
    "RdsIbWorkRing",
    "path_ib_connection",
    "rds_ib_cq_error",
    "rds_ib_fastreg",
    "rds_ib_recv_cq",
    "rds_ib_send_cq",
    "rds_ib_work_ring",
)

# How many registration slots there are when all are back: macros of net/rds/ib.h.
_FASTREG_SLOTS = {"i_fastreg_inuse_count": 512, "i_fastreg_wrs": 256}
_CQ_ERR = 2  # RDS_IB_CQ_ERR of the linux-uek header that was read


class RdsIbWorkRing(NamedTuple):
    """
    A ``struct rds_ib_work_ring``.

    ``in_flight`` is the number of work requests that the device has: more than ``nr`` cannot be.
    """

    nr: int
    alloc_ptr: int
    alloc_ctr: int
    free_ptr: int
    free_ctr: int
    in_flight: int

    @property
    def corrupt(self) -> bool:
        """Whether the counters cannot be those of a ring."""
        pointers = (self.alloc_ptr, self.free_ptr)
        return self.in_flight > self.nr or any(p >= self.nr > 0 for p in pointers)


def path_ib_connection(cp: Object) -> Object:
    """
    Return a path's InfiniBand part.

    :param cp: ``struct rds_conn_path *``
    :return: ``struct rds_ib_connection *``
    """
    return cast("struct rds_ib_connection *", path_member(cp, "transport_data").read_())


def rds_ib_work_ring(ring: Object) -> RdsIbWorkRing:
    """
    Read a ring.

    :param ring: ``struct rds_ib_work_ring``
    """
    ring = ring.read_()
    alloc_ctr = int(ring.w_alloc_ctr.value_())
    free_ctr = int(ring.w_free_ctr.counter.value_()) & 0xFFFFFFFF
    return RdsIbWorkRing(
        int(ring.w_nr.value_()),
        int(ring.w_alloc_ptr.value_()),
        alloc_ctr,
        int(ring.w_free_ptr.value_()),
        free_ctr,
        (alloc_ctr - free_ctr) & 0xFFFFFFFF,
    )


def _first_member(value: Object, *names: str) -> Object:
    for name in names:
        try:
            return value.member_(name)
        except LookupError:
            continue
    raise AttributeError(f"{value.type_.type.type_name()} has none of {', '.join(names)}")


def rds_ib_send_cq(ic: Object) -> Object:
    """
    Return the completion queue of sends.

    :param ic: ``struct rds_ib_connection *``
    :return: ``struct ib_cq *``
    """
    return _first_member(ic, "i_send_cq", "i_scq").read_()


def rds_ib_recv_cq(ic: Object) -> Object:
    """
    Return the completion queue of receives.

    :param ic: ``struct rds_ib_connection *``
    :return: ``struct ib_cq *``
    """
    return _first_member(ic, "i_recv_cq", "i_rcq").read_()


def rds_ib_fastreg(ic: Object) -> tuple[int, int | None, bool] | None:
    """
    Return the state of the registration slots: free ones, registrations in use, and whether all are back.

    :param ic: ``struct rds_ib_connection *``
    :return: ``None`` where there are none (UEK4); the second is ``None`` in UEK.
    """
    try:
        free = int(ic.i_fastreg_wrs.counter.value_())
    except AttributeError:
        return None
    try:
        in_use = int(ic.i_fastreg_inuse_count.counter.value_())
    except AttributeError:
        return free, None, free >= _FASTREG_SLOTS["i_fastreg_wrs"]
    return free, in_use, in_use == 0 and free >= _FASTREG_SLOTS["i_fastreg_inuse_count"]


def rds_ib_cq_error(ic: Object) -> bool | None:
    """
    Return whether the CQ error flag of a connection is set; ``None`` where the kernel has no such flag.

    :param ic: ``struct rds_ib_connection *``
    """
    try:
        flags = ic.i_flags
    except AttributeError:
        return None
    try:
        constant = int(ic.prog_.constant("RDS_IB_CQ_ERR").value_())
    except LookupError:
        constant = _CQ_ERR
    word = int(flags.value_())
    # A u8 is used as a mask (UEK5 and after), an unsigned long with set_bit() (newest).
    return bool(word & constant if sizeof(flags) == 1 else word >> constant & 1)
