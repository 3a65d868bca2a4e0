"""Transports of NFS over RDMA on the client: their state, their calls, and who waits for them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TypeVar

from drgn import Object

from rdmadiag.facts.model import Collected, Coverage, Fact, Fields
from rdmadiag.vmcore.collect.ids import id_table
from rdmadiag.vmcore.collect.rows import Row, hex_or_none, isolated
from rdmadiag.vmcore.collect.rpc import Call, RpcTable, rpc_table, rpc_wait
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.addresses import sockaddr_ip, sockaddr_port
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
from rdmadiag.vmcore.helpers.ib_device import ib_device_name, ib_qp_state
from rdmadiag.vmcore.helpers.nfs import nfs_mounts
from rdmadiag.vmcore.helpers.rdma_cm import rdma_id_state
from rdmadiag.vmcore.helpers.sunrpc import xprt_protocol, xprt_state_names
from rdmadiag.vmcore.helpers.timekeeping import jiffies_to_seconds, seconds_until
from rdmadiag.vmcore.helpers.workqueue import work_pending
from rdmadiag.vmcore.helpers.xprtrdma import (
    rpcrdma_xprt,
    rpcrdma_xprt_cm_id,
    rpcrdma_xprt_connect_status,
)

KINDS = ("xprtrdma.transport",)
_KIND = KINDS[0]
_MAX_NAMES = 8
T = TypeVar("T")


def collect(view: View) -> Collected:
    """Return an ``xprtrdma.transport`` fact for each RDMA transport of an RPC client."""
    if coverage := view.not_loaded(_KIND, "rpcrdma") or _without(view):
        return Collected(coverage=[coverage])
    table = rpc_table(view)
    problems = list(table.problems)
    found = _rdma(table, problems)
    facts = isolated(found, partial(_fact, view, table), problems, lambda one: f"{one.value_():#x}")
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts)])


def _without(view: View) -> Coverage | None:
    return view.not_here(_KIND, "sunrpc", "sunrpc_net_id", "struct rpc_xprt") or view.not_here(
        _KIND, "rpcrdma", "sunrpc_net_id", "struct rpcrdma_xprt"
    )


def _rdma(table: RpcTable, problems: list[str]) -> Iterator[Object]:
    for address, xprt in table.xprts.items():
        try:
            wanted = xprt_protocol(xprt) == "rdma"
        except READ_ERRORS as error:
            problems.append(f"{address:#x} cannot be read: {why(error)}")
            continue
        if wanted:
            yield xprt


def _fact(view: View, table: RpcTable, xprt: Object) -> Fact:
    r_xprt, address, row = rpcrdma_xprt(xprt), int(xprt.value_()), Row()
    row.fields |= {"address": hex(r_xprt.value_()), "programs": sorted(table.programs[address])}
    row.read("server", lambda: sockaddr_ip(xprt.addr))
    row.read("port", lambda: sockaddr_port(xprt.addr))
    state = row.read("state", lambda: xprt_state_names(xprt))
    row.fields["connected"] = None if state is None else "CONNECTED" in state
    row.read("backchannel", lambda: bool(xprt.bc_xprt))
    row.read("connect_status", lambda: rpcrdma_xprt_connect_status(r_xprt))
    row.read("credits", lambda: int(r_xprt.rx_buf.rb_credits.value_()))
    for queue in ("pending", "sending", "backlog"):
        row.read(queue, partial(_length, xprt, queue))
    _add_connect(view, xprt, r_xprt, row)
    _add_cm(view, r_xprt, row)
    _add_calls(table.of(address), row)
    row.read("mounts", lambda: _mounts(view).get(address, []))
    row.fields["callers"] = _callers(view).get(address, [])
    row.fields["problems"] = row.problems
    return view.fact(
        _KIND, row.fields, "struct rpcrdma_xprt", int(r_xprt.value_()), _text(row.fields)
    )


def _text(fields: Fields) -> str:
    up = {True: "connected", False: "not connected", None: "in an unknown state"}
    return (
        f"RDMA transport to {fields['server']}:{fields['port']} ({', '.join(fields['programs'])}) "
        f"{up[fields['connected']]}, {fields['calls']} calls not done"
    )


def _length(xprt: Object, queue: str) -> int:
    return int(xprt.member_(queue).qlen.value_())


def _add_connect(view: View, xprt: Object, r_xprt: Object, row: Row) -> None:
    """Add what is being done to connect, and since when."""
    stat, work = xprt.stat, r_xprt.rx_connect_worker
    connects = row.read("connects", lambda: int(stat.connect_count.value_()))
    started = row.value("connect_start", lambda: int(stat.connect_start.value_()))
    row.fields["attempt_seconds"] = (
        round(jiffies_to_seconds(view.prog, started), 3)
        if started and connects is not None
        else None
    )
    due = row.read("connect_due_seconds", lambda: seconds_until(work.timer))
    worker = view.works.by_work.get(work.work.address_ or 0)
    task = view.tasks.named(worker.task) if worker else None
    row.fields["connect_task"] = task.pid if task else None
    row.fields["connect_work"] = None
    if worker or due is not None:
        row.fields["connect_work"] = "running" if worker else "delayed"
    else:
        row.read("connect_work", lambda: "pending" if work_pending(work.work) else "idle")


def _add_cm(view: View, r_xprt: Object, row: Row) -> None:
    row.fields |= dict.fromkeys(("device", "cm_state", "qp_num", "qp_state"))
    cm_id = row.value("cm_id", lambda: rpcrdma_xprt_cm_id(r_xprt))
    row.fields["cm_id"] = hex_or_none(cm_id.value_() if cm_id is not None else None)
    rdma_id = id_table(view).live(cm_id) if cm_id is not None else None
    if rdma_id is None or cm_id is None:
        return
    row.read("cm_state", lambda: rdma_id_state(rdma_id.object))
    if cm_id.device:
        row.read("device", lambda: ib_device_name(cm_id.device))
    if cm_id.qp:
        row.read("qp_num", lambda: int(cm_id.qp.qp_num.value_()))
        row.read("qp_state", lambda: ib_qp_state(cm_id.qp.read_()))


def _add_calls(calls: list[Call], row: Row) -> None:
    seconds = [call.seconds for call in calls if call.seconds is not None]
    row.fields |= {
        "calls": len(calls),
        "oldest_call_seconds": max(seconds, default=None),
        "procedures": sorted({call.name for call in calls})[:_MAX_NAMES],
    }


def _mounts(view: View) -> dict[int, list[str]]:
    """Return where file systems are mounted, by the transport that they are behind."""
    return view.once("nfs mounts", lambda: _by_xprt(sorted(_all_mounts(view))))


def _all_mounts(view: View) -> set[tuple[int, str]]:
    return {(int(xprt.value_()), where) for xprt, where in nfs_mounts(view.prog)}


def _callers(view: View) -> dict[int, list[Fields]]:
    """Return the tasks that wait for a call or for a file, by the transport that it is behind."""
    return view.once("rpc callers", lambda: _by_xprt(_all_callers(view)))


def _all_callers(view: View) -> Iterator[tuple[int, Fields]]:
    for task in view.interesting:
        if wait := rpc_wait(view, task):
            yield wait.xprt, {"pid": task.pid, "comm": task.comm, "what": wait.what}


def _by_xprt(pairs: Iterable[tuple[int, T]]) -> dict[int, list[T]]:
    found: dict[int, list[T]] = defaultdict(list)
    for xprt, one in pairs:
        found[xprt].append(one)
    return found
