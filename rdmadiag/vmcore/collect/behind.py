"""Who sleeps behind whom: the waits of :mod:`.waits` the other way round, and followed to their end."""

from typing import NamedTuple

from rdmadiag.facts.model import Fields
from rdmadiag.vmcore.collect.tasktable import TaskRow
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.waits import waits_on, work_name

__all__ = ("Chain", "behind_task", "behind_work", "chain_of")

_MAX_CHAIN = 64


def behind_task(view: View, task: int) -> list[Fields]:
    """
    Return the tasks that wait, directly or through others, for the work that a worker runs to end.

    :param task: Address of the worker's ``struct task_struct``.
    """
    found: dict[int, Fields] = {}
    _follow(view, task, found)
    found.pop(task, None)
    return list(found.values())


def behind_work(view: View, work: int) -> list[Fields]:
    """Return the tasks that wait, directly or through others, for a work, running or not."""
    found: dict[int, Fields] = {}
    _follow_work(view, work, found)
    return list(found.values())


def _follow(view: View, task: int, found: dict[int, Fields]) -> None:
    worker = view.works.by_task.get(task)
    if not worker:
        return
    _follow_work(view, worker.work, found)
    if worker.queue:
        for waiter in view.works.queue_flushers.get(worker.queue.address, ()):
            _add(view, waiter, f"flush of workqueue {worker.queue.name}", found)


def _follow_work(view: View, work: int, found: dict[int, Fields]) -> None:
    for waiter in view.works.flushers.get(work, ()):
        _add(view, waiter, f"flush of {work_name(view, work)}", found)


def _add(view: View, task: int, what: str, found: dict[int, Fields]) -> None:
    if task in found:
        return
    row = view.tasks.named(task)
    found[task] = {
        "pid": row.pid if row else None,
        "comm": row.comm if row else None,
        "what": what,
    }
    _follow(view, task, found)


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
