"""
RDS statistics
--------------

The counters that ``rds-info -c`` prints: one set a CPU.
"""

from drgn import Program
from drgn.helpers.linux.cpumask import for_each_possible_cpu
from drgn.helpers.linux.percpu import per_cpu

__all__ = ("RDS_STATISTICS", "rds_counters")

RDS_STATISTICS = ("rds_stats", "rds_ib_stats", "rds_tcp_stats")
"""Per-CPU variables that hold counters."""


def rds_counters(prog: Program, name: str) -> dict[str, int]:
    """
    Return the sums over all CPUs of a set of counters, by name without ``s_``.

    :param name: One of :data:`RDS_STATISTICS`.
    :raises LookupError: if the module is not loaded.
    """
    sets = prog[name]
    sums: dict[str, int] = {}
    for cpu in for_each_possible_cpu(prog):
        for counter, value in per_cpu(sets, cpu).value_().items():
            sums[counter] = sums.get(counter, 0) + int(value)
    return {counter.removeprefix("s_"): value for counter, value in sums.items()}
