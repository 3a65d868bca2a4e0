"""Which completion vectors, interrupts and CPUs serve the RDS connections over InfiniBand."""

from functools import partial

from drgn import Object
from drgn.helpers.linux.cpumask import for_each_online_cpu, for_each_possible_cpu

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.rds_paths import Path, rds_paths
from rdmadiag.vmcore.collect.rows import Row, isolated
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.addresses import ip_address
from rdmadiag.vmcore.helpers.rds_ib import path_ib_connection

KINDS = ("rds.ib_vectors",)
ON_DEMAND = True
_KIND = KINDS[0]

# In the order of UEK4 and mainline, then of the UEK kernels that differ.
_VECTORS = {
    "send_vector": ("i_scq_vector", "i_cq_vector"),
    "recv_vector": ("i_rcq_vector", "i_cq_vector"),
    "irq": ("i_irqn",),
}
_CPUS = {  # in UEK only
    "send_cpu": ("i_preferred_send_cpu", "i_preferred_cpu"),
    "recv_cpu": ("i_preferred_recv_cpu", "i_preferred_cpu"),
}


def collect(view: View) -> Collected:
    """Return an ``rds.ib_vectors`` fact for each path of each connection over InfiniBand."""
    if coverage := view.not_here(_KIND, "rds_rdma", "rds_conn_hash", "struct rds_ib_connection"):
        return Collected(coverage=[coverage])
    problems: list[str] = []
    paths = rds_paths(view, problems, "infiniband")
    facts = isolated(paths, partial(_fact, view), problems, lambda one: f"{one.path.value_():#x}")
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts)])


def _fact(view: View, one: Path) -> Fact:
    conn, cp = one
    ic, row = path_ib_connection(cp), Row()
    address = int(ic.value_())
    row.fields["address"] = hex(address)
    row.read("laddr", lambda: ip_address(conn.c_laddr))
    row.read("faddr", lambda: ip_address(conn.c_faddr))
    row.read("tos", lambda: int(conn.c_tos.value_()))
    for name, members in _VECTORS.items():
        row.read(name, partial(_number, ic, members))
    # WORK_CPU_UNBOUND, which is no CPU's number, stands for any.
    possible = view.once("possible CPUs", lambda: set(for_each_possible_cpu(view.prog)))
    wanted = {name: row.value(name, partial(_number, ic, _CPUS[name])) for name in _CPUS}
    row.fields |= {name: cpu if cpu in possible else None for name, cpu in wanted.items()}
    row.read("offline", lambda: sorted((possible & {*wanted.values()}) - _online(view)))
    row.fields["problems"] = row.problems
    text = (
        f"RDS <{row.fields['laddr']},{row.fields['faddr']},{row.fields['tos']}> "
        f"send vector {row.fields['send_vector']}, receive vector {row.fields['recv_vector']}"
    )
    return view.fact(_KIND, row.fields, "struct rds_ib_connection", address, text)


def _number(ic: Object, members: tuple[str, ...]) -> int | None:
    """Return the first of the members that this kernel has; ``None`` for none, and while it is not set (-1)."""
    for name in members:
        if ic.type_.type.has_member(name):
            number = int(ic.member_(name).value_())
            return number if number >= 0 else None
    return None


def _online(view: View) -> set[int]:
    return view.once("online CPUs", lambda: set(for_each_online_cpu(view.prog)))
