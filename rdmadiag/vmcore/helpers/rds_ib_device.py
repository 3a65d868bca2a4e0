"""
RDS devices
-----------

``struct rds_ib_device`` and its pools of memory regions, of ``net/rds/ib.h`` and ``net/rds/ib_mr.h``.
"""

from collections.abc import Iterator

from drgn import Object, Program

from rdmadiag.vmcore.helpers.addresses import ip_address
from rdmadiag.vmcore.walk import list_entries

__all__ = (
    "for_each_rds_ib_device",
    "rds_ib_device_for_each_connection",
    "rds_ib_device_ips",
    "rds_ib_device_pools",
    "rds_ib_pool_counts",
)

_POOLS = ("mr_1m_pool", "mr_8k_pool", "mr_pool")
_ATOMICS = ("item_count", "dirty_count", "free_pinned")
_LIMITS = ("max_items", "max_items_soft", "max_free_pinned")


def for_each_rds_ib_device(prog: Program) -> Iterator[Object]:
    """
    Iterate over the devices that RDS uses.

    :return: Iterator of ``struct rds_ib_device *`` objects.
    """
    return list_entries("struct rds_ib_device", prog["rds_ib_devices"], "list")


def rds_ib_device_for_each_connection(rds_ibdev: Object) -> Iterator[Object]:
    """
    Iterate over the connections of a device.

    :param rds_ibdev: ``struct rds_ib_device *``
    :return: Iterator of ``struct rds_ib_connection *`` objects.
    """
    return list_entries("struct rds_ib_connection", rds_ibdev.conn_list, "ib_node")


def rds_ib_device_ips(rds_ibdev: Object) -> list[str]:
    """
    Return the IP addresses of a device.

    :param rds_ibdev: ``struct rds_ib_device *``
    """
    entries = list_entries("struct rds_ib_ipaddr", rds_ibdev.ipaddr_list, "list")
    return [ip_address(entry.ipaddr) for entry in entries]


def rds_ib_device_pools(rds_ibdev: Object) -> dict[str, Object]:
    """
    Return the pools of memory regions by the name of their member: two since v4.3, one before that.

    :param rds_ibdev: ``struct rds_ib_device *``
    :return: ``struct rds_ib_mr_pool *`` objects.
    """
    type_ = rds_ibdev.type_.type
    pools = {name: rds_ibdev.member_(name).read_() for name in _POOLS if type_.has_member(name)}
    return {name: pool for name, pool in pools.items() if pool}


def rds_ib_pool_counts(pool: Object) -> dict[str, int]:
    """
    Return the counters and limits of a pool.

    :param pool: ``struct rds_ib_mr_pool *``
    """
    counts = {name: int(pool.member_(name).counter.value_()) for name in _ATOMICS}
    return counts | {name: int(pool.member_(name).value_()) for name in _LIMITS}
