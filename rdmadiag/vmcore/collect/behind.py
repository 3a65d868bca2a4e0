"""Who sleeps behind whom: the waits of :mod:`.waits` the other way round, and followed to their end."""

from typing import NamedTuple

from rdmadiag.facts.model import Fields
from rdmadiag.vmcore.collect.tasktable import TaskRow
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.waits import waits_on, work_name
from rdmadiag.vmcore.walk import take_steps

__all__ = ("Chain", "behind_task", "behind_work", "chain_of")

_MAX_CHAIN = 64
_Waiter = tuple[int, str]
"""Address of a waiter's ``struct task_struct``, and what it waits for."""


def behind_task(view: View, task: int) -> list[Fields]:
    """
    Return the tasks that wait, directly or through others, for the work that a worker runs to end.

    :param task: Address of the worker's ``struct task_struct``.
    """
    found = _follow(view, _behind(view, task))
    found.pop(task, None)
    return list(found.values())


def behind_work(view: View, work: int) -> list[Fields]:
    """Return the tasks that wait, directly or through others, for a work, running or not."""
    return list(_follow(view, _behind_work(view, work)).values())


def _follow(view: View, first: list[_Waiter]) -> dict[int, Fields]:
    """Return some waiters and those behind them, each followed to its end before the next."""
    found: dict[int, Fields] = {}
    left = first[::-1]
    while left:
        task, what = left.pop()
        if task in found:
            continue
        take_steps(view.prog)
        row = view.tasks.named(task)
        pid, comm = (row.pid, row.comm) if row else (None, None)
        found[task] = {"pid": pid, "comm": comm, "what": what}
        left += _behind(view, task)[::-1]
    return found


def _behind(view: View, task: int) -> list[_Waiter]:
    """Return those who wait for the work, or all works of the queue, of a worker."""
    worker = view.works.by_task.get(task)
    if not worker:
        return []
    waiters = _behind_work(view, worker.work)
    if queue := worker.queue:
        what = f"flush of workqueue {queue.name}"
        waiters += [(task, what) for task in view.works.queue_flushers.get(queue.address, ())]
    return waiters


def _behind_work(view: View, work: int) -> list[_Waiter]:
    what = f"flush of {work_name(view, work)}"
    return [(task, what) for task in view.works.flushers.get(work, ())]


class Chain(NamedTuple):
    """
    What a task waits for, followed to its end.

    :ivar links: One for each task on the way: {pid, comm, state, what}.
    :ivar cycle: Numbers of the tasks that wait for each other for ever; empty when the chain ends.
    """

    links: list[Fields]
    cycle: list[int]


def chain_of(view: View, task: TaskRow) -> Chain:
    """Return the chain of waits that a task is at the beginning of."""
    links: list[Fields] = []
    seen: list[int] = []
    row: TaskRow | None = task
    while row and len(links) < _MAX_CHAIN:
        if row.pid in seen:
            return Chain(links, _from_lowest(seen[seen.index(row.pid) :]))
        seen.append(row.pid)
        waits = waits_on(view, row) or {}
        links.append(
            {"pid": row.pid, "comm": row.comm, "state": row.state, "what": waits.get("what", "")}
        )
        row = view.tasks.by_pid(waits.get("pid"))
    return Chain(links, [])


def _from_lowest(pids: list[int]) -> list[int]:
    """Return a circle so that it reads the same from wherever it was entered."""
    start = pids.index(min(pids))
    return pids[start:] + pids[:start]
