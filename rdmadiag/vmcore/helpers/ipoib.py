"""
IP over InfiniBand
------------------

Interfaces and neighbours of ``drivers/infiniband/ulp/ipoib/ipoib.h``.
"""

from collections.abc import Iterator

from drgn import Object, Program, cast

from rdmadiag.vmcore.helpers.enums import flag_names
from rdmadiag.vmcore.helpers.ib_client import for_each_ib_client_data
from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.walk import list_entries, take_steps

__all__ = (
    "for_each_ipoib_dev",
    "ipoib_dev_flag_names",
    "ipoib_dev_name",
    "ipoib_dev_neighbours",
    "ipoib_dev_outstanding",
    "ipoib_dev_stopped_queues",
)

_MAX_QUEUES = 4096
_OTHER_FLAGS = ("IPOIB_PKEY_ASSIGNED", "IPOIB_STOP_REAPER", "IPOIB_NEIGH_TBL_FLUSH")


def for_each_ipoib_dev(prog: Program) -> Iterator[Object]:
    """
    Iterate over the interfaces of all devices, child interfaces too.

    :return: Iterator of ``struct ipoib_dev_priv *`` objects.
    """
    parents = nested(for_each_ib_client_data(prog, "ipoib_client"), _parents)
    yield from nested(parents, _with_children)


def _parents(device_and_data: tuple[Object, Object]) -> Iterator[Object]:
    head = cast("struct list_head *", device_and_data[1])
    return list_entries("struct ipoib_dev_priv", head, "list")


def _with_children(priv: Object) -> Iterator[Object]:
    yield priv
    yield from list_entries("struct ipoib_dev_priv", priv.child_intfs, "list")


def ipoib_dev_name(priv: Object) -> str:
    """
    Return an interface's name: ``ib0``.

    :param priv: ``struct ipoib_dev_priv *``
    """
    return c_string(priv.dev.name)


def ipoib_dev_flag_names(priv: Object) -> list[str]:
    """
    Return the names of an interface's flags without ``IPOIB_``: ``FLAG_OPER_UP`` ...

    :param priv: ``struct ipoib_dev_priv *``
    """
    # The enum holds sizes, limits and the flags of multicast groups too.
    flags = priv.prog_.constant("IPOIB_FLAG_OPER_UP").type_.enumerators or ()
    bits = {
        one.value: one.name.removeprefix("IPOIB_")
        for one in flags
        if one.name.startswith("IPOIB_FLAG_") or one.name in _OTHER_FLAGS
    }
    return flag_names(int(priv.flags.value_()), bits)


def ipoib_dev_outstanding(priv: Object) -> int:
    """
    Return how many sends have not completed, of all the connected mode's connections too.

    :param priv: ``struct ipoib_dev_priv *``
    """
    # Since v5.7 or so the sends of all connections have global counters. Before that, they counted in those of
    # datagrams, too; before v4.15 or so in one number.
    try:
        head, tail = priv.global_tx_head, priv.global_tx_tail
    except AttributeError:
        if hasattr(priv, "tx_outstanding"):
            return int(priv.tx_outstanding.value_())
        head, tail = priv.tx_head, priv.tx_tail
    return (int(head.value_()) - int(tail.value_())) & 0xFFFFFFFF


def ipoib_dev_stopped_queues(priv: Object) -> list[int]:
    """
    Return the numbers of an interface's transmit queues that its driver has stopped.

    :param priv: ``struct ipoib_dev_priv *``
    """
    bit = int(priv.prog_.constant("__QUEUE_STATE_DRV_XOFF").value_())
    queues, count = priv.dev._tx, int(priv.dev.real_num_tx_queues.value_())
    if count > _MAX_QUEUES:
        raise ValueError(f"an interface with {count} transmit queues")
    take_steps(priv.prog_, count)
    return [i for i in range(count) if int(queues[i].state.value_()) >> bit & 1]


def ipoib_dev_neighbours(priv: Object) -> int:
    """
    Return how many neighbours an interface knows.

    :param priv: ``struct ipoib_dev_priv *``
    """
    return int(priv.ntbl.entries.counter.value_())
