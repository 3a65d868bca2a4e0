"""Completion queues: who holds them, which CPU and interrupt serve them, and whether they are read."""

from collections.abc import Callable
from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.resources import Held, for_each_held, held_by
from rdmadiag.vmcore.collect.rows import Row, isolated
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.enums import enum_value_name
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
from rdmadiag.vmcore.helpers.ib_cq import (
    ib_cq_cons_index,
    ib_cq_eq,
    ib_cq_irq,
    ib_cq_number,
    ib_cq_unpolled,
)

KINDS = ("rdma.cq",)
ON_DEMAND = True
_KIND = KINDS[0]

_OF_DRIVER: dict[str, Callable[[Object], object]] = {
    "number": ib_cq_number,
    "irq": ib_cq_irq,
    "eq": ib_cq_eq,
    "cons_index": ib_cq_cons_index,
    "unpolled": ib_cq_unpolled,
}


def collect(view: View) -> Collected:
    """Return an ``rdma.cq`` fact for each completion queue of each device."""
    if coverage := view.not_here(_KIND, "ib_core", "ib_wq", "struct rdma_restrack_root"):
        return Collected(coverage=[coverage])
    problems: list[str] = []
    queues = (one for one in for_each_held(view, problems) if one.resource.type == "CQ")
    facts = isolated(
        queues, partial(_fact, view), problems, lambda one: f"{one.resource.entry.value_():#x}"
    )
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts)])


def _fact(view: View, held: Held) -> Fact:
    cq, row = held.resource.object(), Row()
    address = int(cq.value_())
    row.fields |= {"address": hex(address), "device": held.device}
    row.read("id", lambda: int(held.resource.entry.id.value_()))
    row.fields |= held_by(view, held.resource.entry)
    row.read("entries", lambda: int(cq.cqe.value_()))
    row.read("users", lambda: int(cq.usecnt.counter.value_()))
    row.read("poll", lambda: enum_value_name(cq.poll_ctx, "IB_POLL_"))
    row.read("vector", lambda: int(cq.comp_vector.value_()))
    for name, reader in _OF_DRIVER.items():
        _read_if_kept(row, name, partial(reader, cq))
    row.fields["problems"] = row.problems
    text = f"CQ {row.fields['id']} of {held.device}, {row.fields['users']} users"
    return view.fact(_KIND, row.fields, "struct ib_cq", address, text)


def _read_if_kept(row: Row, name: str, reader: Callable[[], object]) -> None:
    """Read what only some drivers keep: it is no fault where this one does not."""
    try:
        row.fields[name] = reader()
    except LookupError:
        row.fields[name] = None
    except READ_ERRORS as error:
        row.fields[name] = None
        row.problems.append(f"{name}: {why(error)}")
