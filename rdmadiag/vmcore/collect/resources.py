"""Resources of RDMA devices, and who holds them: what ``rdma resource show`` prints."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from drgn import Object

from rdmadiag.facts.model import Collected, Fact, Fields
from rdmadiag.vmcore.collect.rows import Row, isolated, until_broken
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.enums import enum_value_name
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
from rdmadiag.vmcore.helpers.ib_device import for_each_ib_device, ib_device_name, ib_qp_state
from rdmadiag.vmcore.helpers.rdma_cm import rdma_id_state
from rdmadiag.vmcore.helpers.restrack import Resource, for_each_resource, resource_owner

KINDS = ("rdma.resource",)
ON_DEMAND = True
_KIND = KINDS[0]


class Held(NamedTuple):
    """A resource and the name of its device."""

    device: str
    resource: Resource


def collect(view: View) -> Collected:
    """Return an ``rdma.resource`` fact for each resource of each device."""
    if coverage := view.not_here(_KIND, "ib_core", "ib_wq", "struct rdma_restrack_root"):
        return Collected(coverage=[coverage])
    problems: list[str] = []
    facts = isolated(
        for_each_held(view, problems),
        partial(_fact, view),
        problems,
        lambda one: f"{one.resource.type} {one.resource.entry.value_():#x}",
    )
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts)])


def for_each_held(view: View, problems: list[str]) -> Iterator[Held]:
    """Iterate over the resources of all devices; where a walk breaks costs what is behind it and a problem."""
    devices = for_each_ib_device(view.prog)
    for device in until_broken(devices, problems, "the devices"):
        what = f"the resources of the device at {device.value_():#x}"
        yield from until_broken(_held(device), problems, what)


def _held(device: Object) -> Iterator[Held]:
    name = ib_device_name(device)
    for resource in for_each_resource(device):
        yield Held(name, resource)


def _fact(view: View, held: Held) -> Fact:
    resource, row = held.resource, Row()
    row.fields |= {"device": held.device, "type": resource.type}
    row.read("id", lambda: int(resource.entry.id.value_()))
    row.fields |= held_by(view, resource.entry) | {"address": None, "details": {}}
    found = row.value("object", resource.object)
    if found is not None:
        row.fields["address"] = hex(found.value_())
        row.fields["details"] = _details(resource.type, found, row.problems)
    row.fields["problems"] = row.problems
    address = int(found.value_()) if found is not None else 0
    text = f"{resource.type} {row.fields['id']} of {held.device}, held by {_holder(row.fields)}"
    return view.fact(_KIND, row.fields, f"restrack {resource.type}", address, text)


def held_by(view: View, entry: Object) -> Fields:
    """
    Return ``kernel``, ``pid`` and ``comm`` of who holds a resource: a part of the kernel, or a process.

    :param entry: ``struct rdma_restrack_entry *``
    """
    kernel, task = resource_owner(entry)
    owner = view.tasks.at(int(task.value_())) if task else None
    return {
        "kernel": kernel or None,
        "pid": owner.pid if owner else None,
        "comm": owner.comm if owner else None,
    }


def _holder(fields: Fields) -> str:
    process = f"pid {fields['pid']} ({fields['comm']})" if fields["pid"] else "nobody known"
    return fields["kernel"] or process


_READERS: dict[str, dict[str, Callable[[Object], object]]] = {
    "QP": {
        "number": lambda qp: int(qp.qp_num.value_()),
        "qp_type": lambda qp: enum_value_name(qp.qp_type, "IB_QPT_"),
        "state": ib_qp_state,
        "send_cq": lambda qp: hex(qp.send_cq.value_()),
        "recv_cq": lambda qp: hex(qp.recv_cq.value_()),
    },
    "CQ": {
        "entries": lambda cq: int(cq.cqe.value_()),
        "users": lambda cq: int(cq.usecnt.counter.value_()),
        "poll": lambda cq: enum_value_name(cq.poll_ctx, "IB_POLL_"),
        "vector": lambda cq: int(cq.comp_vector.value_()),
    },
    "PD": {"users": lambda pd: int(pd.usecnt.counter.value_())},
    "MR": {
        "bytes": lambda mr: int(mr.length.value_()),
        "lkey": lambda mr: hex(mr.lkey.value_()),
        "rkey": lambda mr: hex(mr.rkey.value_()),
    },
    "CM_ID": {"state": rdma_id_state},
}


def _details(type_: str, found: Object, problems: list[str]) -> Fields:
    """Return what is to be said of an object of a type; it is no problem where the kernel or the driver lacks it."""
    details: Fields = {}
    for name, read in _READERS.get(type_, {}).items():
        details[name] = None
        try:
            details[name] = read(found)
        except (LookupError, AttributeError):
            pass
        except READ_ERRORS as error:
            problems.append(f"{name}: {why(error)}")
    return details
