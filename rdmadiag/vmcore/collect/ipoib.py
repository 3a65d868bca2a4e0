"""Interfaces of IP over InfiniBand."""

from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.rows import Row, each_object
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.ib_device import ib_device_name, ib_qp_state
from rdmadiag.vmcore.helpers.ipoib import (
    for_each_ipoib_dev,
    ipoib_dev_flag_names,
    ipoib_dev_name,
    ipoib_dev_neighbours,
    ipoib_dev_outstanding,
    ipoib_dev_stopped_queues,
)

KINDS = ("ipoib.interface",)
ON_DEMAND = True
_KIND = KINDS[0]


def collect(view: View) -> Collected:
    """Return an ``ipoib.interface`` fact for each interface."""
    if coverage := view.not_here(_KIND, "ib_ipoib", "ipoib_client", "struct ipoib_dev_priv"):
        return Collected(coverage=[coverage])
    return each_object(
        view, _KIND, for_each_ipoib_dev(view.prog), partial(_fact, view), "the interfaces"
    )


def _fact(view: View, priv: Object) -> Fact:
    row, address = Row(), int(priv.value_())
    row.fields["address"] = hex(address)
    row.read("interface", lambda: ipoib_dev_name(priv))
    row.read("device", lambda: ib_device_name(priv.ca))
    row.read("port", lambda: int(priv.port.value_()))
    row.read("pkey", lambda: hex(priv.pkey.value_()))
    row.read("flags", lambda: ipoib_dev_flag_names(priv))
    row.read("stopped_queues", lambda: ipoib_dev_stopped_queues(priv))
    row.read("tx_head", lambda: int(priv.tx_head.value_()))
    row.read("tx_tail", lambda: int(priv.tx_tail.value_()))
    row.read("outstanding", lambda: ipoib_dev_outstanding(priv))
    row.read("neighbours", lambda: ipoib_dev_neighbours(priv))
    row.fields |= {"qp_num": None, "qp_state": None}
    if (qp := row.value("qp", priv.qp.read_)) is not None and qp:
        row.read("qp_num", lambda: int(qp.qp_num.value_()))
        row.read("qp_state", lambda: ib_qp_state(qp))
    row.fields["problems"] = row.problems
    text = f"interface {row.fields['interface']}, {row.fields['outstanding']} sends outstanding"
    return view.fact(_KIND, row.fields, "struct ipoib_dev_priv", address, text)
