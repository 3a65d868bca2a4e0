"""
Timers
------

Timers that are queued, on all CPUs, and the delayed works that wait for one.
"""

from collections.abc import Iterator
from functools import partial

from drgn import Object, Program, Type, container_of, sizeof
from drgn.helpers.linux.cpumask import for_each_possible_cpu
from drgn.helpers.linux.percpu import per_cpu

from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.walk import hlist_entries, list_entries

__all__ = ("for_each_delayed_work", "for_each_timer")

_CHAIN = 8
"""Bytes of a ``struct hlist_head``; a ``struct list_head`` has twice as many."""


def _buckets(buckets: Object) -> Iterator[Object]:
    """
    Iterate over the chains or lists of an array that hold timers; the array is read as one block.

    :param buckets: ``struct hlist_head []``, or ``struct list_head []`` before v4.2
    """
    element = sizeof(buckets[0])
    start = buckets.address_ or 0
    words = memoryview(buckets.prog_.read(start, sizeof(buckets))).cast("Q")[:: element // 8]
    for index, word in enumerate(words):
        empty = 0 if element == _CHAIN else start + index * element
        if word != empty:
            yield buckets[index]


def _timers(timer_type: Type, bucket: Object) -> Iterator[Object]:
    walk = hlist_entries if sizeof(bucket) == _CHAIN else list_entries
    return walk(timer_type, bucket, "entry")


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
    timers_of = partial(_timers, prog.type("struct timer_list"))
    yield from nested(nested(_for_each_wheel(prog), _buckets), timers_of)


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
