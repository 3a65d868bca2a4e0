"""
Timers
------

Timers that are queued, on all CPUs, and the delayed works that wait for one.
"""

from collections.abc import Iterator

from drgn import Object, Program, Type, container_of, sizeof
from drgn.helpers.linux.cpumask import for_each_possible_cpu
from drgn.helpers.linux.percpu import per_cpu

from rdmadiag.vmcore.walk import hlist_entries, list_entries

__all__ = ("for_each_delayed_work", "for_each_timer")


def _for_each_bucket(buckets: Object, timer_type: Type) -> Iterator[Object]:
    """
    Iterate over the timers in an array of chains or lists, which is read as one block.

    :param buckets: ``struct hlist_head []``, or ``struct list_head []`` before v4.2
    """
    element = sizeof(buckets[0])
    start = buckets.address_ or 0
    words = memoryview(buckets.prog_.read(start, sizeof(buckets))).cast("Q")[:: element // 8]
    chains = element == 8
    for index, word in enumerate(words):
        if chains and word:
            yield from hlist_entries(timer_type, buckets[index], "entry")
        elif not chains and word != start + index * element:
            yield from list_entries(timer_type, buckets[index], "entry")


def _for_each_wheel(prog: Program) -> Iterator[Object]:
    """Iterate over the arrays of buckets of all CPUs."""
    # Since Linux kernel commit 500462a9de65 ("timers: Switch to a non-cascading wheel") (in v4.8), each CPU
    # has several struct timer_base. Before that, it has one struct tvec_base with five levels.
    try:
        bases = prog["timer_bases"]
    except LookupError:
        yield from _for_each_cascading_wheel(prog)
        return
    for cpu in for_each_possible_cpu(prog):
        for base in per_cpu(bases, cpu):
            yield base.vectors


def _for_each_cascading_wheel(prog: Program) -> Iterator[Object]:
    bases = prog["tvec_bases"]
    for cpu in for_each_possible_cpu(prog):
        # A structure since v4.2, a pointer to one before.
        base = per_cpu(bases, cpu)
        for level in range(1, 6):
            yield base.member_(f"tv{level}").vec


def for_each_timer(prog: Program) -> Iterator[Object]:
    """
    Iterate over all queued timers.

    :return: Iterator of ``struct timer_list *`` objects.
    """
    timer_type = prog.type("struct timer_list")
    for buckets in _for_each_wheel(prog):
        yield from _for_each_bucket(buckets, timer_type)


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
