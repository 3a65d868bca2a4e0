"""RDS sockets: what they are bound to, what waits in them, and whose they are."""

from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.holders import processes_of
from rdmadiag.vmcore.collect.rows import Row, isolated, until_broken
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.rds_sock import for_each_rds_sock, rds_sock_bound, rds_sock_connected
from rdmadiag.vmcore.helpers.text import c_string

KINDS = ("rds.socket",)
ON_DEMAND = True
_KIND = KINDS[0]


def collect(view: View) -> Collected:
    """Return an ``rds.socket`` fact for each socket."""
    if coverage := view.not_here(_KIND, "rds", "rds_sock_list", "struct rds_sock"):
        return Collected(coverage=[coverage])
    problems: list[str] = []
    sockets = until_broken(for_each_rds_sock(view.prog), problems, "the list of sockets is broken")
    facts = isolated(sockets, partial(_fact, view), problems, lambda rs: f"{rs.value_():#x}")
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts)])


def _fact(view: View, rs: Object) -> Fact:
    row, address = Row(), int(rs.value_())
    row.fields["address"] = hex(address)
    for name, end in (("l", rds_sock_bound), ("f", rds_sock_connected)):
        found = row.value(f"{name}addr", partial(end, rs)) or (None, None)
        row.fields |= {f"{name}addr": found[0], f"{name}port": found[1]}
    row.read("transport", lambda: _transport(rs))
    for name, member in (("send_bytes", "rs_snd_bytes"), ("receive_bytes", "rs_rcv_bytes")):
        row.read(name, partial(_number, rs, member))
    row.read("send_buffer", lambda: int(rs.rs_sk.sk_sndbuf.value_()))
    row.read("receive_buffer", lambda: int(rs.rs_sk.sk_rcvbuf.value_()))
    row.read("congested", lambda: bool(rs.rs_congested.value_()))
    row.read("processes", lambda: processes_of(view, {address}))
    row.fields["problems"] = row.problems
    text = f"RDS socket {row.fields['laddr']}:{row.fields['lport']}"
    return view.fact(_KIND, row.fields, "struct rds_sock", address, text)


def _number(rs: Object, member: str) -> int:
    return int(rs.member_(member).value_())


def _transport(rs: Object) -> str | None:
    """Return the name of the transport; a socket that is not bound has none."""
    transport = rs.rs_transport.read_()
    return c_string(transport.t_name) if transport else None
