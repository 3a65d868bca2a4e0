"""Works that run, on any queue, and works of RDMA queues that wait."""

from collections.abc import Iterator

from rdmadiag.facts.model import Collected, Fact, Fields
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.worktable import Queue, QueuedWork, Worker

KINDS = ("workqueue.work",)


def collect(view: View) -> Collected:
    """Return a ``workqueue.work`` fact for each work."""
    works = view.works
    facts = [_running(view, worker) for worker in works.workers]
    facts += [_waiting(view, work) for work in works.queued]
    return Collected(
        facts=facts,
        coverage=[view.covered("workqueue.work", works.problems, facts, len(list(works.queues())))],
    )


def _fields(view: View, queue: Queue | None, function: int, work: int) -> Fields:
    return {
        "workqueue": queue.name if queue else None,
        "flags": queue.flags if queue else None,
        "max_active": queue.max_active if queue else None,
        "function": view.function_name(function),
        "work": hex(work),
        "flushers": list(_pids(view, view.works.flushers.get(work, []))),
    }


def _pids(view: View, tasks: list[int]) -> Iterator[int]:
    for task in tasks:
        if row := view.tasks.named(task):
            yield row.pid


def _running(view: View, worker: Worker) -> Fact:
    row = view.tasks.named(worker.task)
    fields = _fields(view, worker.queue, worker.function, worker.work) | {
        "state": "running",
        "worker_pid": row.pid if row else None,
        "behind": None,
        "due_seconds": None,
    }
    return _fact(view, fields, worker.work)


def _waiting(view: View, work: QueuedWork) -> Fact:
    ahead = view.works.ahead(work)
    row = view.tasks.named(ahead.task) if ahead else None
    fields = _fields(view, work.queue, work.function, work.work) | {
        "state": work.state,
        "worker_pid": None,
        "behind": row.pid if row else None,
        "due_seconds": work.due_seconds,
    }
    return _fact(view, fields, work.work)


def _fact(view: View, fields: Fields, address: int) -> Fact:
    text = f"{fields['function']} on {fields['workqueue']}: {fields['state']}"
    return view.fact("workqueue.work", fields, "struct work_struct", address, text)
