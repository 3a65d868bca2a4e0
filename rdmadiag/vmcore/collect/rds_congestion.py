"""RDS' congestion maps: which ports of which address take no messages."""

from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.rows import Row, isolated, until_broken
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.addresses import ip_address
from rdmadiag.vmcore.helpers.rds_sock import cong_map_ports, for_each_rds_cong_map
from rdmadiag.vmcore.helpers.wait import waitqueue_for_each_task

KINDS = ("rds.congestion_map",)
ON_DEMAND = True
_KIND = KINDS[0]


def collect(view: View) -> Collected:
    """Return an ``rds.congestion_map`` fact for each map."""
    if coverage := view.not_here(_KIND, "rds", "rds_cong_tree", "struct rds_cong_map"):
        return Collected(coverage=[coverage])
    problems: list[str] = []
    maps = until_broken(for_each_rds_cong_map(view.prog), problems, "the tree of maps is broken")
    facts = isolated(maps, partial(_fact, view), problems, lambda one: f"{one.value_():#x}")
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts)])


def _fact(view: View, cong_map: Object) -> Fact:
    row, address = Row(), int(cong_map.value_())
    row.fields["address"] = hex(address)
    row.read("addr", lambda: ip_address(cong_map.m_addr))
    row.read("congested_ports", partial(cong_map_ports, cong_map))
    row.read("waiters", lambda: _waiters(view, cong_map))
    row.fields["problems"] = row.problems
    text = f"congestion map of {row.fields['addr']}: ports {row.fields['congested_ports']}"
    return view.fact(_KIND, row.fields, "struct rds_cong_map", address, text)


def _waiters(view: View, cong_map: Object) -> list[int]:
    """Return the pids of the senders that wait for a port of it."""
    tasks = waitqueue_for_each_task(cong_map.m_waitq)
    return [row.pid for task in tasks if (row := view.tasks.named(int(task.value_())))]
