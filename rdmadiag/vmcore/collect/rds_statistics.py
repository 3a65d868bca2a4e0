"""RDS' counters, as ``rds-info -c`` prints them."""

from rdmadiag.facts.model import Collected, Coverage, Fact
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.rds_stats import RDS_STATISTICS, rds_counters

KINDS = ("rds.counter",)
ON_DEMAND = True
_KIND = KINDS[0]
_MODULES = dict(zip(RDS_STATISTICS, ("rds", "rds_rdma", "rds_tcp"), strict=True))


def collect(view: View) -> Collected:
    """Return an ``rds.counter`` fact for each counter."""
    found = Collected()
    missing: list[Coverage] = []
    for name, module in _MODULES.items():
        if coverage := view.not_here(_KIND, module, name):
            missing.append(coverage)
        else:
            counters = rds_counters(view.prog, name).items()
            found.facts += [_fact(view, name, counter, value) for counter, value in counters]
    lost = [one for one in missing if one.status == "failed"]
    if not found.facts:
        found.coverage = lost or missing[:1]
    else:
        found.coverage = [view.covered(_KIND, [one.reason for one in lost], found.facts)]
    return found


def _fact(view: View, variable: str, counter: str, value: int) -> Fact:
    fields = {"set": variable, "counter": counter, "value": value, "problems": []}
    return view.fact(_KIND, fields, "per-CPU variable", 0, f"{counter} {value}", variable)
