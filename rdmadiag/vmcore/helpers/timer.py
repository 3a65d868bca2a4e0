"""
Timers
------

Timers that are queued, on all CPUs, and the delayed works that wait for one.
"""

from collections.abc import Iterator

from drgn import Object, Program, Type, container_of, sizeof
from drgn.helpers.linux.cpumask import for_each_possible_cpu
from drgn.helpers.linux.percpu import per_cpu

from rdmadiag.vmcore.walk import hlist_entries

__all__ = ("for_each_delayed_work", "for_each_timer")


def _base_for_each_timer(base: Object, timer_type: Type) -> Iterator[Object]:
    """Iterate over the timers of a ``struct timer_base``, whose wheel is read as one block."""
    vectors = base.vectors
    words = memoryview(base.prog_.read(vectors.address_ or 0, sizeof(vectors))).cast("Q")
    for index, word in enumerate(words):
        if word:
            yield from hlist_entries(timer_type, vectors[index], "entry")


def for_each_timer(prog: Program) -> Iterator[Object]:
    """
    Iterate over all queued timers.

    :return: Iterator of ``struct timer_list *`` objects.
    :raises LookupError: if the kernel has no wheel of this kind (before v4.8).
    """
    timer_type = prog.type("struct timer_list")
    bases = prog["timer_bases"]
    for cpu in for_each_possible_cpu(prog):
        for base in per_cpu(bases, cpu):
            yield from _base_for_each_timer(base, timer_type)


def for_each_delayed_work(prog: Program) -> Iterator[Object]:
    """
    Iterate over all delayed works that wait for their timer.

    :return: Iterator of ``struct delayed_work *`` objects.
    """
    function = prog.symbol("delayed_work_timer_fn").address
    type_ = prog.type("struct delayed_work")
    for timer in for_each_timer(prog):
        if timer.function.value_() == function:
            yield container_of(timer, type_, "timer")
