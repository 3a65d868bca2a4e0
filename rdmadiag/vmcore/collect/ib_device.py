"""RDMA devices and their ports."""

import re
from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.rows import Row
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
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
    facts: list[Fact] = []
    problems: list[str] = []
    try:
        for device in for_each_ib_device(view.prog):
            if _NAME.fullmatch(ib_device_name(device)):
                facts.append(_fact(view, device))
            else:
                problems.append(f"what is at {device.value_():#x} is no device")
    except READ_ERRORS as error:
        problems.append(f"the devices after {len(facts)} were not found: {why(error)}")
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts)])


def _fact(view: View, device: Object) -> Fact:
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
