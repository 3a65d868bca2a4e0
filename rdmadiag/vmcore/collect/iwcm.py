"""Identifiers of the iWARP CM, who waits for each and who waits behind those."""

from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact, Fields
from rdmadiag.vmcore.collect.behind import behind_task
from rdmadiag.vmcore.collect.driver_limit import connect_remaining
from rdmadiag.vmcore.collect.ids import RdmaId, id_table, owner_of, setup_task
from rdmadiag.vmcore.collect.locals import check_local
from rdmadiag.vmcore.collect.nvme_untyped import worker_controller
from rdmadiag.vmcore.collect.rows import Row
from rdmadiag.vmcore.collect.tasktable import TaskRow
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.waits import first_task
from rdmadiag.vmcore.helpers.addresses import sockaddr_ip, sockaddr_port
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
from rdmadiag.vmcore.helpers.ib_device import ib_device_name
from rdmadiag.vmcore.helpers.iwcm import (
    iw_cm_id_connect_wait,
    iw_cm_id_flag_names,
    iw_cm_id_flags,
    iw_cm_id_for_each_destroyer,
    iw_cm_id_private,
    iw_cm_id_refcount,
    iw_cm_id_state,
)
from rdmadiag.vmcore.helpers.rdma_cm import rdma_id_iw_cm_id

KINDS = ("iwcm.cm_id",)
_KIND = KINDS[0]
_DESTROY_LOCALS = {"destroy_cm_id": "cm_id", "iw_cm_disconnect": "cm_id"}


def collect(view: View) -> Collected:
    """Return an ``iwcm.cm_id`` fact for each identifier that an RDMA CM identifier leads to."""
    for module, variable, type_ in (
        ("iw_cm", "iwcm_wq", "struct iwcm_id_private"),
        ("rdma_cm", "dev_list", "struct rdma_id_private"),
    ):
        if coverage := view.not_here(_KIND, module, variable, type_):
            return Collected(coverage=[coverage])
    ids = id_table(view)
    problems = list(ids.problems)
    facts: list[Fact] = []
    for rdma_id in ids:
        try:
            if iw_id := rdma_id_iw_cm_id(rdma_id.object):
                facts.append(_fact(view, rdma_id, iw_cm_id_private(iw_id)))
        except READ_ERRORS as error:
            problems.append(f"the id at {rdma_id.address:#x}: {why(error)}")
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts, len(ids))])


def _fact(view: View, rdma_id: RdmaId, iw_priv: Object) -> Fact:
    row, address = Row(), int(iw_priv.value_())
    row.fields |= {"address": hex(address), "rdma_cm_id": hex(rdma_id.address)}
    row.read("state", lambda: iw_cm_id_state(iw_priv))
    row.read("flags", lambda: hex(iw_cm_id_flags(iw_priv)))
    row.read("flag_names", lambda: iw_cm_id_flag_names(iw_priv))
    row.read("connect_wait", lambda: iw_cm_id_connect_wait(iw_priv))
    row.read("refcount", lambda: iw_cm_id_refcount(iw_priv))
    row.read("laddr", lambda: sockaddr_ip(iw_priv.id.local_addr))
    row.read("lport", lambda: sockaddr_port(iw_priv.id.local_addr))
    row.read("raddr", lambda: sockaddr_ip(iw_priv.id.remote_addr))
    row.read("rport", lambda: sockaddr_port(iw_priv.id.remote_addr))
    row.read("device", lambda: ib_device_name(iw_priv.id.device))
    row.read("owner", lambda: owner_of(view, rdma_id))
    row.fields["driver_remaining_seconds"] = None
    if row.fields["connect_wait"]:
        left = row.value(
            "driver's timer", lambda: connect_remaining(view, iw_priv.id.address_of_())
        )
        row.fields["driver_remaining_seconds"] = left.seconds if left else None
    _add_tasks(view, rdma_id, iw_priv, row)
    row.fields["problems"] = row.problems
    fields = row.fields
    text = f"iw_cm id {fields['laddr']} -> {fields['raddr']} {fields['state']}, flags {fields['flags']}"
    return view.fact(_KIND, fields, "struct iwcm_id_private", address, text, "flags")


def _add_tasks(view: View, rdma_id: RdmaId, iw_priv: Object, row: Row) -> None:
    """Add who destroys the identifier, who sets it up, and who waits behind these."""
    destroyer = row.value(
        "destroy_task", lambda: first_task(view, iw_cm_id_for_each_destroyer(iw_priv))
    )
    setter = row.value("setup_task", lambda: setup_task(view, rdma_id))
    row.fields["destroy_checked"] = None
    if destroyer:
        check_local(view, row, "destroy_checked", destroyer, _DESTROY_LOCALS, iw_priv)
    _name_controller(view, destroyer or setter, row)
    behind: list[Fields] = []
    for name, task in (("destroy", destroyer), ("setup", setter)):
        row.fields[f"{name}_task"] = task.pid if task else None
        row.read(f"{name}_wait_seconds", partial(_seconds, view, task))
        if task:
            behind += [one for one in behind_task(view, task.address) if one not in behind]
    row.fields |= {"waiters": len(behind), "behind": behind}


def _seconds(view: View, task: TaskRow | None) -> float | None:
    return view.wait(task)[0] if task else None


def _name_controller(view: View, task: TaskRow | None, row: Row) -> None:
    """Name the controller by what its worker runs, where nvme_rdma has no types to tell."""
    owner = row.fields["owner"]
    if task and owner and owner["ulp"] == "nvme_rdma" and "controller" not in owner:
        name = worker_controller(view, view.works.by_task.get(task.address))
        if name:
            owner |= {"controller": name, "queue": None}
