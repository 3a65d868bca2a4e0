"""Identifiers of the RDMA CM."""

from collections.abc import Iterator
from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.ids import RdmaId, id_table, owner_of
from rdmadiag.vmcore.collect.rows import Row, isolated
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.waits import first_task
from rdmadiag.vmcore.helpers.addresses import sockaddr_ip, sockaddr_port
from rdmadiag.vmcore.helpers.enums import enum_value_name
from rdmadiag.vmcore.helpers.ib_device import ib_device_name
from rdmadiag.vmcore.helpers.iwcm import iw_cm_id_for_each_destroyer, iw_cm_id_private
from rdmadiag.vmcore.helpers.rdma_cm import rdma_id_iw_cm_id, rdma_id_refcount, rdma_id_state
from rdmadiag.vmcore.helpers.wait import completion_for_each_task, mutex_for_each_waiter

KINDS = ("rdma_cm.id",)
_KIND = KINDS[0]


def collect(view: View) -> Collected:
    """Return an ``rdma_cm.id`` fact for each identifier that is bound to a device or referenced."""
    if coverage := view.not_here(_KIND, "rdma_cm", "dev_list", "struct rdma_id_private"):
        return Collected(coverage=[coverage])
    ids = id_table(view)
    problems = list(ids.problems)
    facts = isolated(ids, partial(_fact, view), problems, lambda one: f"the id at {one.address:#x}")
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts, len(ids))])


def _fact(view: View, rdma_id: RdmaId) -> Fact:
    row, id_priv = Row(), rdma_id.object
    row.fields |= {"address": hex(rdma_id.address), "listed": rdma_id.listed}
    row.read("state", lambda: rdma_id_state(id_priv))
    row.read("refcount", lambda: rdma_id_refcount(id_priv))
    row.read("laddr", lambda: sockaddr_ip(id_priv.id.route.addr.src_addr))
    row.read("lport", lambda: sockaddr_port(id_priv.id.route.addr.src_addr))
    row.read("raddr", lambda: sockaddr_ip(id_priv.id.route.addr.dst_addr))
    row.read("rport", lambda: sockaddr_port(id_priv.id.route.addr.dst_addr))
    row.read("device", lambda: ib_device_name(id_priv.id.device) if id_priv.id.device else None)
    row.read("port_space", lambda: enum_value_name(id_priv.id.ps, "RDMA_PS_"))
    row.read("owner", lambda: owner_of(view, rdma_id))
    destroyer = row.value("destroy_task", lambda: first_task(view, _destroyers(view, id_priv)))
    row.fields["destroy_task"] = destroyer.pid if destroyer else None
    row.read("destroy_wait_seconds", lambda: view.wait(destroyer)[0] if destroyer else None)
    row.fields["problems"] = row.problems
    fields = row.fields
    text = f"rdma_cm id {fields['laddr']} -> {fields['raddr']} {fields['state']}, {fields['refcount']} references"
    return view.fact(_KIND, fields, "struct rdma_id_private", rdma_id.address, text)


def _destroyers(view: View, id_priv: Object) -> Iterator[Object]:
    """Iterate over the tasks that wait in ``_destroy_id()``: for the last reference, or in the iWARP CM below."""
    yield from completion_for_each_task(id_priv.comp)
    # rdma_destroy_id() first takes the mutex that a running event handler holds.
    for task in mutex_for_each_waiter(id_priv.handler_mutex):
        if "rdma_destroy_id" in view.stacks.of(task).functions:
            yield task
    if iw_id := rdma_id_iw_cm_id(id_priv):
        yield from iw_cm_id_for_each_destroyer(iw_cm_id_private(iw_id))
