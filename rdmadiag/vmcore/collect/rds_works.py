"""The works of an RDS path: who runs its shutdown, since when, and what its queued works wait behind."""

from typing import NamedTuple

from drgn import Object

from rdmadiag.vmcore.collect.locals import check_local
from rdmadiag.vmcore.collect.rows import Row
from rdmadiag.vmcore.collect.view import NO_WAIT, View
from rdmadiag.vmcore.collect.worktable import Worker
from rdmadiag.vmcore.helpers.rds import (
    path_connect_work,
    path_down_wait_work,
    path_reconnect_work,
    path_shutdown_work,
    path_workqueue,
)
from rdmadiag.vmcore.helpers.workqueue import (
    delayed_work_timer_queued,
    work_pending,
    workqueue_name,
)

__all__ = ("add_works",)

_DOWN_FLAG = "RDS_SHUTDOWN_WORK_QUEUED"
_SHUTDOWN_LOCALS = {"rds_ib_conn_path_shutdown": "cp", "rds_ib_conn_shutdown": "conn"}
_FIELDS = (
    "shutdown_task",
    "shutdown_function",
    "shutdown_wait_seconds",
    "shutdown_wait_clock",
    "shutdown_checked",
    "shutdown_pending",
    "connect_pending",
    "connect_task",
    "reconnect_timer",
    "behind_task",
    "workqueue",
)


class _Works(NamedTuple):
    down: Object
    connect: Object
    one: bool  # the newest UEK has one work for both


def add_works(view: View, cp: Object, row: Row) -> None:
    """
    Add what the works of a path tell.

    :param cp: ``struct rds_conn_path *``
    """
    row.fields |= dict.fromkeys(_FIELDS)
    row.read("workqueue", lambda: workqueue_name(path_workqueue(cp)))
    works = row.value("works", lambda: _works(cp))
    if works is None:
        return
    worker = view.works.by_work.get(works.down.address_ or 0)
    if worker and (not works.one or _is_going_down(row)):
        _add_shutdown(view, cp, worker, row)
    connector = view.works.by_work.get(works.connect.work.address_ or 0)
    if connector and not (works.one and _is_going_down(row)):
        task = view.tasks.named(connector.task)
        row.fields["connect_task"] = task.pid if task else None
    _add_pending(works, worker, row)
    row.read("reconnect_timer", lambda: _timer_runs(cp, works))
    row.fields["behind_task"] = _behind(view, works)
    if row.read("shutdown_waiting", lambda: _waits_as_work(cp)) and not worker:
        row.fields |= {
            "shutdown_wait_seconds": row.fields.get("down_seconds"),
            "shutdown_wait_clock": "reconnect_start",
        }


def _add_pending(works: _Works, worker: Worker | None, row: Row) -> None:
    """Add which of a path's works are queued."""
    down = row.value("shutdown_pending", lambda: work_pending(works.down) and worker is None)
    connect = row.value("connect_pending", lambda: work_pending(works.connect.work))
    if works.one:
        going_down = _is_going_down(row)
        down, connect = bool(down and going_down), bool(connect and not going_down)
    row.fields |= {"shutdown_pending": down, "connect_pending": connect}


def _works(cp: Object) -> _Works:
    down, connect = path_shutdown_work(cp), path_connect_work(cp)
    return _Works(down, connect, down.address_ == connect.work.address_)


def _is_going_down(row: Row) -> bool:
    state, flags = row.fields.get("state"), row.fields.get("flags") or []
    return _DOWN_FLAG in flags or state in {"DISCONNECTING", "ERROR"}


def _add_shutdown(view: View, cp: Object, worker: Worker, row: Row) -> None:
    task = view.tasks.named(worker.task)
    if task is None:
        row.problems.append(f"the task at {worker.task:#x} that runs its shutdown was not found")
        return
    seconds, clock = row.value("shutdown_wait_seconds", lambda: view.wait(task)) or NO_WAIT
    down = row.fields.get("down_seconds")
    if clock == "worker.last_active" and down is not None and (seconds is None or down < seconds):
        # Neither can be shorter than the shutdown, so the shorter one is nearer.
        seconds, clock = down, "reconnect_start"
    row.fields |= {
        "shutdown_task": task.pid,
        "shutdown_function": view.stacks.of(task.task).rdma_function or None,
        "shutdown_wait_seconds": seconds,
        "shutdown_wait_clock": clock,
    }
    check_local(view, row, "shutdown_checked", task, _SHUTDOWN_LOCALS, cp)


def _timer_runs(cp: Object, works: _Works) -> bool:
    reconnect = path_reconnect_work(cp)
    return delayed_work_timer_queued(works.connect) or (
        reconnect is not None and delayed_work_timer_queued(reconnect)
    )


def _waits_as_work(cp: Object) -> bool:
    waiting = path_down_wait_work(cp)
    return waiting is not None and work_pending(waiting.work)


def _behind(view: View, works: _Works) -> int | None:
    """Return the number of the worker that a queued work waits behind."""
    for work in (works.down, works.connect.work):
        queued = view.works.queued_by_work.get(work.address_ or 0)
        ahead = view.works.ahead(queued) if queued else None
        task = view.tasks.named(ahead.task) if ahead else None
        if task:
            return task.pid
    return None
