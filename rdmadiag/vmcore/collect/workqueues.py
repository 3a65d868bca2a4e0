"""Works that run, on any queue, and works of RDMA queues that wait."""

from collections.abc import Iterator
from functools import partial

from rdmadiag.facts.model import Collected, Fact, Fields
from rdmadiag.vmcore.collect.rows import isolated
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.worktable import Queue, QueuedWork, Worker

KINDS = ("workqueue.work",)
_KIND = KINDS[0]


def collect(view: View) -> Collected:
    """Return a ``workqueue.work`` fact for each work."""
    works, problems = view.works, list(view.works.problems)
    facts = isolated(works.workers, partial(_running, view), problems, _name)
    facts += isolated(works.queued, partial(_waiting, view), problems, _name)
    read = len(list(works.queues()))
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts, read)])


def _name(one: Worker | QueuedWork) -> str:
    return f"the work at {one.work:#x}"


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
    return view.fact(_KIND, fields, "struct work_struct", address, text)
