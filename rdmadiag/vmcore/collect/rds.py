"""RDS connections over InfiniBand."""

from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact, Fields
from rdmadiag.vmcore.collect.holders import processes_of
from rdmadiag.vmcore.collect.rds_paths import Path, rds_paths
from rdmadiag.vmcore.collect.rds_works import add_works
from rdmadiag.vmcore.collect.rows import Row, hex_or_none, isolated
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.addresses import ip_address
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
from rdmadiag.vmcore.helpers.ib_cm import (
    ib_cm_id_private,
    ib_cm_id_state,
    ib_cm_id_timewait_seconds,
)
from rdmadiag.vmcore.helpers.ib_cq import ib_cq_number
from rdmadiag.vmcore.helpers.ib_device import ib_device_name, ib_qp_state
from rdmadiag.vmcore.helpers.rdma_cm import rdma_id_is_iwarp, rdma_id_private, rdma_id_state
from rdmadiag.vmcore.helpers.rds import (
    path_drop_reason,
    path_flag_names,
    path_for_each_message,
    path_reconnect_start,
    path_state,
    rds_message_bytes,
)
from rdmadiag.vmcore.helpers.rds_ib import (
    path_ib_connection,
    rds_ib_cq_error,
    rds_ib_fastreg,
    rds_ib_recv_cq,
    rds_ib_send_cq,
    rds_ib_work_ring,
)

KINDS = ("rds.ib_connection",)
_KIND = KINDS[0]


def collect(view: View) -> Collected:
    """Return an ``rds.ib_connection`` fact for each path of each connection."""
    if coverage := view.not_here(_KIND, "rds_rdma", "rds_conn_hash", "struct rds_connection"):
        return Collected(coverage=[coverage])
    problems: list[str] = []
    paths = rds_paths(view, problems, "infiniband")
    facts = isolated(paths, partial(_fact, view), problems, lambda one: f"{one.path.value_():#x}")
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts)])


def _fact(view: View, one: Path) -> Fact:
    conn, cp = one
    row = Row()
    row.fields["conn"] = hex(conn.value_())
    row.fields["path"] = hex(cp.value_())
    row.read("laddr", lambda: ip_address(conn.c_laddr))
    row.read("faddr", lambda: ip_address(conn.c_faddr))
    row.read("tos", lambda: int(conn.c_tos.value_()))
    row.read("state", lambda: path_state(cp))
    row.read("drop_reason", lambda: path_drop_reason(cp))
    row.read("flags", lambda: path_flag_names(cp))
    _add_queue(view, cp, row)
    row.read("down_seconds", lambda: _down_seconds(view, cp, row.fields["state"]))
    add_works(view, cp, row)
    ic = row.value("transport data", lambda: path_ib_connection(cp))
    address = int(ic.value_()) if ic is not None else 0
    row.fields["address"] = hex_or_none(address)
    if ic is not None and not address:
        row.problems.append("there is no transport data")
    _add_ib(ic if address else None, row)
    row.fields["problems"] = row.problems
    return view.fact(_KIND, row.fields, "struct rds_ib_connection", address, _text(row.fields))


def _down_seconds(view: View, cp: Object, state: str | None) -> float | None:
    """Return how long ago a path was UP; ``None`` when it is, or where the kernel does not keep that."""
    began = path_reconnect_start(cp)
    if state == "UP" or not began or view.time.wall is None:
        return None
    return max(view.time.wall - began, 0.0)


def _text(fields: Fields) -> str:
    ring = fields.get("recv_ring") or {}
    return (
        f"RDS <{fields['laddr']},{fields['faddr']},{fields['tos']}> {fields['state']}, receive ring "
        f"{ring.get('in_flight')} of {ring.get('nr')} in flight, {fields['signaled_sends']} signaled sends"
    )


def _add_queue(view: View, cp: Object, row: Row) -> None:
    """Add the number and bytes of the messages that are not acknowledged, as far as they can be walked."""
    count = size = 0
    sockets: set[int] = set()
    try:
        for message in path_for_each_message(cp):
            count += 1
            size += rds_message_bytes(message)
            sockets.add(int(message.m_rs.value_()))
    except READ_ERRORS as error:
        row.problems.append(f"queued_messages: {why(error)}")
    # A message whose socket was closed meanwhile has none.
    sockets.discard(0)
    row.fields |= {
        "queued_messages": count,
        "queued_bytes": size,
        "queued_sockets": len(sockets),
    }
    row.read("processes", lambda: processes_of(view, sockets))


_IB_FIELDS = (
    "recv_ring",
    "send_ring",
    "signaled_sends",
    "fastreg_in_use",
    "fastreg_wrs",
    "fastreg_full",
    "cq_error_flag",
    "qp_num",
    "qp_state",
    "send_cq",
    "recv_cq",
    "send_cqn",
    "recv_cqn",
    "device",
    "cm_state",
    "cm_id",
    "disconnected_min_seconds",
    "active_side",
)


def _add_ib(ic: Object | None, row: Row) -> None:
    """
    Add what is in the InfiniBand part of a connection.

    :param ic: ``struct rds_ib_connection *``
    """
    row.fields |= dict.fromkeys(_IB_FIELDS) | {"corrupt": False}
    if ic is None:
        return
    for name in ("recv_ring", "send_ring"):
        _add_ring(ic, name, row)
    row.read("signaled_sends", lambda: int(ic.i_signaled_sends.counter.value_()))
    if fastreg := row.value("fastreg_wrs", lambda: rds_ib_fastreg(ic)):
        names = ("fastreg_wrs", "fastreg_in_use", "fastreg_full")
        row.fields |= dict(zip(names, fastreg, strict=True))
    row.read("cq_error_flag", lambda: rds_ib_cq_error(ic))
    row.read("active_side", lambda: bool(ic.i_active_side.value_()))
    _add_cq(row, "send", row.value("send_cq", lambda: rds_ib_send_cq(ic)))
    _add_cq(row, "recv", row.value("recv_cq", lambda: rds_ib_recv_cq(ic)))
    _add_cm_id(ic, row)


def _add_ring(ic: Object, name: str, row: Row) -> None:
    ring = row.value(name, lambda: rds_ib_work_ring(ic.member_("i_" + name)))
    if ring is None:
        return
    row.fields[name] = ring._asdict()
    if ring.corrupt:
        row.fields["corrupt"] = True
        row.problems.append(f"{name}: its counters cannot be those of a ring")


def _add_cq(row: Row, side: str, cq: Object | None) -> None:
    """
    Add a completion queue and its number, where the driver is one that has numbers.

    :param cq: ``struct ib_cq *``
    """
    if cq is None or not cq:
        return
    row.fields[f"{side}_cq"] = hex(cq.value_())
    try:
        row.fields[f"{side}_cqn"] = ib_cq_number(cq)
    except LookupError:
        pass  # soft RoCE has no numbers
    except READ_ERRORS as error:
        row.problems.append(f"{side}_cqn: {why(error)}")


def _add_cm_id(ic: Object, row: Row) -> None:
    cm_id = row.value("cm_id", ic.i_cm_id.read_)
    if ibdev := row.value("device", ic.rds_ibdev.read_):
        row.read("device", lambda: ib_device_name(ibdev.dev))
    if not cm_id:
        return
    row.fields["cm_id"] = hex(cm_id.value_())
    id_priv = row.value("cm_id", lambda: rdma_id_private(cm_id))
    if id_priv is not None:
        row.read("cm_state", lambda: rdma_id_state(id_priv))
        row.read("disconnected_min_seconds", lambda: _disconnected(id_priv, row.fields["cm_state"]))
    qp = row.value("qp_num", cm_id.qp.read_)
    if qp:
        row.read("qp_num", lambda: int(qp.qp_num.value_()))
        row.read("qp_state", lambda: ib_qp_state(qp))


def _disconnected(id_priv: Object, state: str | None) -> float | None:
    """
    Return how long ago an identifier was disconnected, at least; ``None`` when there is no telling.

    Once it is disconnected, it is IDLE for the CM below only after a fixed time.

    :param id_priv: ``struct rdma_id_private *``
    """
    if state != "DISCONNECT" or rdma_id_is_iwarp(id_priv) or not id_priv.cm_id.ib:
        return None
    cm_id_priv = ib_cm_id_private(id_priv.cm_id.ib)
    return ib_cm_id_timewait_seconds(cm_id_priv) if ib_cm_id_state(cm_id_priv) == "IDLE" else None
