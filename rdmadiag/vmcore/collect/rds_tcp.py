"""RDS connections over TCP."""

from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.rds_paths import Path, rds_paths
from rdmadiag.vmcore.collect.rows import Row, hex_or_none, isolated
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.addresses import ip_address
from rdmadiag.vmcore.helpers.rds import (
    path_flag_names,
    path_for_each_message,
    path_member,
    path_state,
    rds_message_bytes,
)
from rdmadiag.vmcore.helpers.rds_tcp import path_tcp_connection, tcp_sock_state

KINDS = ("rds.tcp_connection",)
ON_DEMAND = True
_KIND = KINDS[0]


def collect(view: View) -> Collected:
    """Return an ``rds.tcp_connection`` fact for each path of each connection over TCP."""
    if coverage := view.not_here(_KIND, "rds_tcp", "rds_conn_hash", "struct rds_tcp_connection"):
        return Collected(coverage=[coverage])
    problems: list[str] = []
    paths = rds_paths(view, problems, "tcp")
    facts = isolated(paths, partial(_fact, view), problems, lambda one: f"{one.path.value_():#x}")
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts)])


def _fact(view: View, one: Path) -> Fact:
    conn, cp = one
    row, address = Row(), int(cp.value_())
    row.fields["path"] = hex(address)
    row.read("laddr", lambda: ip_address(conn.c_laddr))
    row.read("faddr", lambda: ip_address(conn.c_faddr))
    row.read("tos", lambda: int(conn.c_tos.value_()))
    row.read("state", lambda: path_state(cp))
    row.read("flags", lambda: path_flag_names(cp))
    for name in ("next_tx_seq", "next_rx_seq"):
        row.read(name, partial(_number, cp, name))
    sizes = row.value("queued", lambda: [rds_message_bytes(m) for m in path_for_each_message(cp)])
    row.fields |= {"queued_messages": len(sizes or ()), "queued_bytes": sum(sizes or ())}
    _add_tcp(cp, row)
    row.fields["problems"] = row.problems
    text = f"RDS/TCP {row.fields['laddr']} -> {row.fields['faddr']} {row.fields['state']}"
    return view.fact(_KIND, row.fields, "struct rds_conn_path", address, text)


def _number(cp: Object, name: str) -> int:
    return int(path_member(cp, name).value_())


def _add_tcp(cp: Object, row: Row) -> None:
    row.fields |= {"address": None, "socket": None, "socket_state": None}
    tc = row.value("transport data", partial(path_tcp_connection, cp))
    if not tc:
        return
    row.fields["address"] = hex(tc.value_())
    sock = row.value("socket", tc.t_sock.read_)
    if sock:
        row.fields["socket"] = hex_or_none(sock.value_())
        row.read("socket_state", lambda: tcp_sock_state(sock.sk))
