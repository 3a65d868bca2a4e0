"""
Workqueues
----------

Workqueues, their pools and workers, and the works that run, wait or wait for a timer.
"""

from collections.abc import Iterator
from functools import partial
from itertools import filterfalse, islice

from drgn import Object, Program, cast, container_of
from drgn.helpers.linux.idr import idr_for_each

from rdmadiag.vmcore.helpers.enums import enum_names, flag_names
from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.helpers.timekeeping import timer_pending
from rdmadiag.vmcore.walk import list_entries, xarray_entries

__all__ = (
    "barrier_task",
    "delayed_work_timer_queued",
    "for_each_worker_pool",
    "for_each_workqueue",
    "pool_for_each_pending_work",
    "pool_for_each_worker",
    "pwq_for_each_inactive_work",
    "work_is_barrier",
    "work_pending",
    "work_pwq",
    "worker_for_each_scheduled_work",
    "workqueue_flag_names",
    "workqueue_for_each_flusher",
    "workqueue_for_each_pwq",
    "workqueue_max_active",
    "workqueue_name",
)

_MAX_POOLS = 65536


def for_each_workqueue(prog: Program) -> Iterator[Object]:
    """
    Iterate over all workqueues.

    :return: Iterator of ``struct workqueue_struct *`` objects.
    """
    return list_entries("struct workqueue_struct", prog["workqueues"], "list")


def workqueue_name(wq: Object) -> str:
    """
    Return a workqueue's name.

    :param wq: ``struct workqueue_struct *``
    """
    # A module's DWARF only declares the type; the kernel's own is asked for.
    return c_string(cast("struct workqueue_struct *", wq).name)


def workqueue_flag_names(wq: Object) -> list[str]:
    """
    Return the names of a workqueue's flags: ``WQ_UNBOUND``, ``WQ_MEM_RECLAIM``, ``__WQ_ORDERED`` ...

    :param wq: ``struct workqueue_struct *``
    """
    # The enum of the flags also holds limits (WQ_MAX_ACTIVE, WQ_DFL_ACTIVE).
    bits = {
        value.bit_length() - 1: name
        for value, name in enum_names(wq.prog_, "WQ_UNBOUND").items()
        if value.bit_count() == 1 and not name.endswith("_ACTIVE")
    }
    return flag_names(int(wq.flags.value_()), bits)


def workqueue_for_each_pwq(wq: Object) -> Iterator[Object]:
    """
    Iterate over a workqueue's pool workqueues.

    :param wq: ``struct workqueue_struct *``
    :return: Iterator of ``struct pool_workqueue *`` objects.
    """
    return list_entries("struct pool_workqueue", wq.pwqs, "pwqs_node")


def pool_for_each_worker(pool: Object) -> Iterator[Object]:
    """
    Iterate over a pool's workers, idle ones too.

    :param pool: ``struct worker_pool *``
    :return: Iterator of ``struct worker *`` objects.
    """
    return list_entries("struct worker", pool.workers, "node")


def pool_for_each_pending_work(pool: Object) -> Iterator[Object]:
    """
    Iterate over the works that a pool's workers will take next.

    :param pool: ``struct worker_pool *``
    :return: Iterator of ``struct work_struct *`` objects.
    """
    works = list_entries("struct work_struct", pool.worklist, "entry")
    # Later than v6.12 a rescuer marks its place among them with a work that is none, pool_workqueue.mayday_cursor.
    if not pool.prog_.type("struct pool_workqueue").has_member("mayday_cursor"):
        return works
    return filterfalse(_is_cursor, works)


def _is_cursor(work: Object) -> bool:
    pwq = work_pwq(work)
    return pwq is not None and bool(pwq.mayday_cursor.address_ == work.value_())


def pwq_for_each_inactive_work(pwq: Object) -> Iterator[Object]:
    """
    Iterate over the works that wait until fewer works of their queue are active.

    :param pwq: ``struct pool_workqueue *``
    :return: Iterator of ``struct work_struct *`` objects.
    """
    # Since Linux kernel commit f97a4a1a3f87 ("workqueue: Rename "delayed" (delayed by active management)
    # to "inactive"") (in v5.15), the list is named so.
    try:
        works = pwq.inactive_works
    except AttributeError:
        works = pwq.delayed_works
    return list_entries("struct work_struct", works, "entry")


def worker_for_each_scheduled_work(worker: Object) -> Iterator[Object]:
    """
    Iterate over the works that a worker runs after its present one: mostly barriers of those who flush it.

    :param worker: ``struct worker *``
    :return: Iterator of ``struct work_struct *`` objects.
    """
    return list_entries("struct work_struct", worker.scheduled, "entry")


def work_pending(work: Object) -> bool:
    """
    Return whether a work is queued (or its delay runs), which it is not while it runs.

    A work that is being cancelled also looks queued.

    :param work: ``struct work_struct``
    """
    return bool(int(work.data.counter.value_()) & 1)


def work_pwq(work: Object) -> Object | None:
    """
    Return the pool workqueue that a queued work is on, ``None`` when it is on none.

    :param work: ``struct work_struct``
    :return: ``struct pool_workqueue *``
    """
    prog = work.prog_
    data = int(work.data.counter.value_()) & 0xFFFFFFFFFFFFFFFF
    if not data & 1 << int(prog.constant("WORK_STRUCT_PWQ_BIT").value_()):
        return None
    # Since v6.10 or so the number of low bits is named WORK_STRUCT_PWQ_SHIFT; before that,
    # WORK_STRUCT_FLAG_BITS.
    try:
        shift = int(prog.constant("WORK_STRUCT_PWQ_SHIFT").value_())
    except LookupError:
        shift = int(prog.constant("WORK_STRUCT_FLAG_BITS").value_())
    return Object(prog, "struct pool_workqueue *", data >> shift << shift)


def work_is_barrier(work: Object) -> bool:
    """
    Return whether a work is the barrier of a task that flushes a work or a queue.

    :param work: ``struct work_struct``
    """
    return bool(work.func.value_() == work.prog_.symbol("wq_barrier_func").address)


def barrier_task(work: Object) -> Object:
    """
    Return the task that waits on a barrier.

    :param work: ``struct work_struct *`` for which :func:`work_is_barrier` is true.
    :return: ``struct task_struct *``
    """
    return container_of(work, "struct wq_barrier", "work").task.read_()


def workqueue_for_each_flusher(wq: Object) -> Iterator[Object]:
    """
    Iterate over those who flush a whole workqueue.

    :param wq: ``struct workqueue_struct *``
    :return: Iterator of ``struct wq_flusher *`` objects, which are on the stacks of the flushing tasks.
    """
    if first := wq.first_flusher.read_():
        yield first
    queues = (wq.flusher_queue, wq.flusher_overflow)
    for flusher in nested(queues, partial(list_entries, "struct wq_flusher", member="list")):
        if flusher != first:
            yield flusher


def delayed_work_timer_queued(dwork: Object) -> bool:
    """
    Return whether a delayed work waits for its timer.

    :param dwork: ``struct delayed_work``
    """
    return timer_pending(dwork.timer)


def workqueue_max_active(wq: Object) -> int:
    """
    Return how many works of a queue may run at once (per CPU or, for an unbound queue, per node).

    :param wq: ``struct workqueue_struct *``
    """
    # Since v6.9 the member is named max_active; before that, saved_max_active.
    try:
        return int(wq.max_active.value_())
    except AttributeError:
        return int(wq.saved_max_active.value_())


def for_each_worker_pool(prog: Program) -> Iterator[Object]:
    """
    Iterate over all worker pools.

    :return: Iterator of ``struct worker_pool *`` objects.
    """
    idr = prog["worker_pool_idr"]
    # Since Linux kernel commit 371c752dc669 ("xarray: Track free entries in an XArray") and its series (in v4.20),
    # an IDR is an xarray; before that, it is a tree of its own.
    try:
        is_xarray = idr.idr_rt.type_.tag == "xarray"
    except AttributeError:
        is_xarray = False
    if is_xarray:
        for _, pool in xarray_entries(
            "struct worker_pool *", idr.idr_rt.address_of_(), limit=_MAX_POOLS
        ):
            yield pool
        return
    type_ = prog.type("struct worker_pool *")
    for _, entry in islice(idr_for_each(idr), _MAX_POOLS):
        yield cast(type_, entry)
