"""What a task sleeps on, and who has to act first."""

from collections.abc import Iterable

from drgn import Object
from drgn.helpers.linux.locking import mutex_owner, rwsem_owner

from rdmadiag.facts.model import Fields
from rdmadiag.vmcore.collect.known import known_objects
from rdmadiag.vmcore.collect.rpc import rpc_transport, rpc_wait
from rdmadiag.vmcore.collect.sleeps import Sleep, sleep_of
from rdmadiag.vmcore.collect.tasktable import TaskRow
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.errors import READ_ERRORS
from rdmadiag.vmcore.helpers.workqueue import work_pending

__all__ = ("first_task", "pids_of", "waits_on", "work_name", "work_state")

_LOCKS = {"struct mutex": mutex_owner, "struct rw_semaphore": rwsem_owner}


def waits_on(view: View, task: TaskRow) -> Fields | None:
    """
    Return the object that a task sleeps on, as far as it can be followed, and who has to act first.

    ``pids``: those that run the work or the queue that it flushes, or hold the lock; ``pid``: the first.
    """
    known = view.once("waits", dict[int, "Fields | None"])
    if task.address not in known:
        known[task.address] = (
            _flush_of_work(view, task)
            or _flush_of_queue(view, task)
            or _call(view, task)
            or _object(view, task)
        )
    return known[task.address]


def _fields(type_: str, address: int, what: str, rows: list[TaskRow]) -> Fields:
    pids = [row.pid for row in rows]
    verb, noun = "held" if type_ in _LOCKS else "run", "pid" if len(pids) == 1 else "pids"
    by = f", {verb} by {noun} {', '.join(map(str, pids))}" if pids else ""
    return {
        "type": type_,
        "address": hex(address),
        "what": what + by,
        "pid": pids[0] if pids else None,
        "pids": pids,
    }


def _call(view: View, task: TaskRow) -> Fields | None:
    """Return the call that a task waits for, and who connects the transport that it goes over."""
    wait = rpc_wait(view, task)
    if wait is None:
        return None
    try:
        transport = rpc_transport(view, wait.xprt)
    except READ_ERRORS:
        return _fields(wait.type, wait.address, wait.what, [])
    rows = [transport.worker] if transport.worker else []
    return _fields(wait.type, wait.address, f"{wait.what} over {transport.label}", rows)


def _object(view: View, task: TaskRow) -> Fields | None:
    sleep = sleep_of(view, task)
    if sleep is None:
        return None
    return _fields(sleep.type, sleep.address, _what(view, sleep), _owners(view, sleep))


def _what(view: View, sleep: Sleep) -> str:
    symbol = view.dump.symbolize(sleep.address)
    if symbol and not symbol[1]:
        return f"{symbol[0]} [{symbol[3]}]" if symbol[3] else symbol[0]
    found = known_objects(view).find(sleep.address)
    if found is None:
        return ""
    return f"{found.member} of {found.type} {found.address:#x} ({found.label})"


def _owners(view: View, sleep: Sleep) -> list[TaskRow]:
    """Return the task that holds a lock."""
    owner_of = _LOCKS.get(sleep.type)
    if owner_of is None:
        return []
    try:
        owner = int(owner_of(Object(view.prog, f"{sleep.type} *", sleep.address)).value_())
    except READ_ERRORS:
        return []
    row = view.tasks.named(owner)
    return [row] if row else []


def _flush_of_work(view: View, task: TaskRow) -> Fields | None:
    works = view.works
    work = works.flushed_work.get(task.address)
    if work is None:
        return None
    queued = works.queued_by_work.get(work)
    worker = works.by_work.get(work) or (works.ahead(queued) if queued else None)
    row = view.tasks.named(worker.task) if worker else None
    what = f"flush of {work_name(view, work)}"
    return _fields("struct work_struct", work, what, [row] if row else [])


def _flush_of_queue(view: View, task: TaskRow) -> Fields | None:
    queue = view.works.flushed_queue(task.address)
    if queue is None:
        return None
    tasks = [view.tasks.named(one.task) for one in view.works.workers_of(queue)]
    what = f"flush of workqueue {queue.name}"
    return _fields("struct workqueue_struct", queue.address, what, [row for row in tasks if row])


def work_name(view: View, work: int) -> str:
    """Return the name of a work's function, where the work is known."""
    known = view.works.by_work.get(work) or view.works.queued_by_work.get(work)
    return view.function_name(known.function) if known else "a work"


def first_task(view: View, tasks: Iterable[Object]) -> TaskRow | None:
    """
    Return the first of some waiters that is a task of this dump.

    :param tasks: ``struct task_struct *`` objects
    """
    return next((row for task in tasks if (row := view.tasks.named(int(task.value_())))), None)


def pids_of(view: View, tasks: Iterable[Object]) -> list[int]:
    """
    Return the numbers of those of some waiters that are tasks of this dump.

    :param tasks: ``struct task_struct *`` objects
    """
    rows = (view.tasks.named(int(task.value_())) for task in tasks)
    return [row.pid for row in rows if row]


def work_state(view: View, work: Object) -> str:
    """
    Return whether a work is ``running``, ``pending`` or ``idle``.

    :param work: ``struct work_struct``
    """
    if work.address_ in view.works.by_work:
        return "running"
    return "pending" if work_pending(work) else "idle"
