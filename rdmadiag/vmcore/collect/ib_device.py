"""RDMA devices and their ports."""

import re
from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.rows import Row, each_object
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.ib_device import (
    for_each_ib_device,
    ib_device_driver,
    ib_device_name,
    ib_port_states,
)

KINDS = ("ib.device",)
_KIND = KINDS[0]
_NAME = re.compile(r"[!-~]+")


def collect(view: View) -> Collected:
    """Return an ``ib.device`` fact for each device."""
    if coverage := view.not_here(_KIND, "ib_core", "ib_wq"):
        return Collected(coverage=[coverage])
    return each_object(
        view, _KIND, for_each_ib_device(view.prog), partial(_fact, view), "the devices"
    )


def _fact(view: View, device: Object) -> Fact:
    if not _NAME.fullmatch(ib_device_name(device)):
        raise ValueError("it is no device")
    row = Row()
    row.fields["address"] = hex(device.value_())
    row.read("name", partial(ib_device_name, device))
    row.read("driver", partial(ib_device_driver, device))
    ports = row.value("ports", partial(ib_port_states, device)) or []
    row.fields["ports"] = [
        {"port": port, "state": state, "phys_state": None, "netdev": netdev}
        for port, state, netdev in ports
    ]
    row.fields["problems"] = row.problems
    text = f"{row.fields['name']} ({row.fields['driver']}), {len(ports)} ports"
    return view.fact(_KIND, row.fields, "struct ib_device", device.value_(), text)
