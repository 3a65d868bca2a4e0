"""Connections of iSER, of the initiator and of the target."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from drgn import Object, Program

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.rows import Row, isolated, until_broken
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.waits import pids_of
from rdmadiag.vmcore.helpers.ib_device import ib_device_name, ib_qp_state
from rdmadiag.vmcore.helpers.iser import for_each_iser_conn, for_each_isert_conn, iser_conn_state
from rdmadiag.vmcore.helpers.rdma_cm import rdma_id_private, rdma_id_state
from rdmadiag.vmcore.helpers.wait import completion_for_each_task

KINDS = ("iser.connection",)
ON_DEMAND = True
_KIND = KINDS[0]


class _Side(NamedTuple):
    """One end: what has to be there to read it, how its connections are found, what they are waited for with."""

    name: str
    module: str
    variable: str
    type: str
    connections: Callable[[Program], Iterator[Object]]
    completions: tuple[str, ...]


_SIDES = (
    _Side(
        *("initiator", "ib_iser", "ig", "struct iser_conn", for_each_iser_conn),
        ("stop_completion", "ib_completion", "up_completion"),
    ),
    _Side(
        *("target", "ib_isert", "cma_wq", "struct isert_conn", for_each_isert_conn),
        ("login_comp", "login_req_comp"),
    ),
)


def collect(view: View) -> Collected:
    """Return an ``iser.connection`` fact for each connection of the initiator and of the target."""
    problems: list[str] = []
    facts: list[Fact] = []
    there = [side for side in _SIDES if view.dump.presence(side.module) != "absent"]
    for side in there:
        if missing := view.not_here(_KIND, side.module, side.variable, side.type):
            problems.append(missing.reason)
        else:
            facts += _facts(view, side, problems)
    if not there:
        reason = "neither ib_iser nor ib_isert is loaded"
        return Collected(coverage=[view.coverage(_KIND, "absent", reason)])
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts)])


def _facts(view: View, side: _Side, problems: list[str]) -> list[Fact]:
    conns = side.connections(view.prog)
    found = until_broken(conns, problems, f"the connections of the {side.name}")
    return isolated(found, partial(_fact, view, side), problems, lambda one: f"{one.value_():#x}")


def _fact(view: View, side: _Side, conn: Object) -> Fact:
    row, address = Row(), int(conn.value_())
    row.fields |= {"address": hex(address), "side": side.name}
    # The initiator keeps what concerns RDMA in a part of its own.
    part, name = (conn.ib_conn, "cma_id") if side.name == "initiator" else (conn, "cm_id")
    row.read("state", lambda: iser_conn_state(conn))
    row.read("device", lambda: ib_device_name(part.device.ib_device))
    row.fields |= dict.fromkeys(("cm_state", "qp_num", "qp_state"))
    if (cm_id := row.value("cm_id", part.member_(name).read_)) is not None and cm_id:
        row.read("cm_state", lambda: rdma_id_state(rdma_id_private(cm_id)))
    if (qp := row.value("qp", part.qp.read_)) is not None and qp:
        row.read("qp_num", lambda: int(qp.qp_num.value_()))
        row.read("qp_state", lambda: ib_qp_state(qp))
    row.read("waiters", lambda: _waiters(view, side, conn))
    row.fields["problems"] = row.problems
    text = f"iSER connection ({side.name}) {row.fields['state']}"
    return view.fact(_KIND, row.fields, conn.type_.type.type_name(), address, text)


def _waiters(view: View, side: _Side, conn: Object) -> dict[str, list[int]]:
    """Return the pids of those who wait for one of a connection's completions, by its name."""
    found = {}
    for name in side.completions:
        if pids := pids_of(view, completion_for_each_task(conn.member_(name))):
            found[name] = pids
    return found
