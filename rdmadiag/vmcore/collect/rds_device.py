"""Devices that RDS uses, with their pools of memory regions."""

from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact, Fields
from rdmadiag.vmcore.collect.rows import Row, each_object
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.ib_device import ib_device_name
from rdmadiag.vmcore.helpers.rds_ib_device import (
    for_each_rds_ib_device,
    rds_ib_device_for_each_connection,
    rds_ib_device_ips,
    rds_ib_device_pools,
    rds_ib_pool_counts,
)

KINDS = ("rds.ib_device",)
ON_DEMAND = True
_KIND = KINDS[0]


def collect(view: View) -> Collected:
    """Return an ``rds.ib_device`` fact for each device."""
    if coverage := view.not_here(_KIND, "rds_rdma", "rds_ib_devices", "struct rds_ib_device"):
        return Collected(coverage=[coverage])
    return each_object(
        view,
        _KIND,
        for_each_rds_ib_device(view.prog),
        partial(_fact, view),
        "the list of devices is broken",
    )


def _fact(view: View, rds_ibdev: Object) -> Fact:
    row, address = Row(), int(rds_ibdev.value_())
    row.fields["address"] = hex(address)
    row.read("device", lambda: ib_device_name(rds_ibdev.dev))
    row.read("addresses", partial(rds_ib_device_ips, rds_ibdev))
    row.read("connections", lambda: sum(1 for _ in rds_ib_device_for_each_connection(rds_ibdev)))
    row.read("max_wrs", lambda: int(rds_ibdev.max_wrs.value_()))
    row.read("pools", lambda: _pools(rds_ibdev))
    row.fields["problems"] = row.problems
    text = f"RDS device {row.fields['device']}, {row.fields['connections']} connections"
    return view.fact(_KIND, row.fields, "struct rds_ib_device", address, text)


def _pools(rds_ibdev: Object) -> list[Fields]:
    pools = rds_ib_device_pools(rds_ibdev).items()
    return [
        {"pool": name.removesuffix("_pool"), **rds_ib_pool_counts(pool)} for name, pool in pools
    ]
