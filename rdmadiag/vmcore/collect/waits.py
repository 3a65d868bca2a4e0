"""What a task sleeps on, and who sleeps behind whom."""

from collections.abc import Iterable
from typing import NamedTuple

from drgn import Object, offsetof
from drgn.helpers.linux.locking import mutex_owner

from rdmadiag.facts.model import Fields
from rdmadiag.vmcore.collect.known import known_objects
from rdmadiag.vmcore.collect.tasktable import TaskRow
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.errors import READ_ERRORS
from rdmadiag.vmcore.helpers.stackwait import StackWait, task_for_each_wait

__all__ = (
    "Sleep",
    "behind_task",
    "behind_work",
    "first_task",
    "setup_task",
    "sleep_of",
    "waits_on",
)

_COMPLETION = frozenset(("wait_for_common", "__wait_for_common", "do_wait_for_common"))
_SETUP_SPAN = 1024
"""How far into a user's object its completion may be, where the object's type is not known."""


class Sleep(NamedTuple):
    """
    What a task sleeps on.

    :ivar type: ``struct completion``, ``struct mutex``, ``struct wait_queue_head`` ...
    :ivar entry: Address of its entry on its own stack.
    """

    type: str
    address: int
    entry: int


def sleep_of(view: View, task: TaskRow) -> Sleep | None:
    """Return what a task sleeps on; ``None`` when its stack does not tell."""
    sleeps = view.once("sleeps", dict[int, "Sleep | None"])
    if task.address not in sleeps:
        try:
            sleeps[task.address] = _sleep(view, task)
        except READ_ERRORS:
            sleeps[task.address] = None
    return sleeps[task.address]


def _sleep(view: View, task: TaskRow) -> Sleep | None:
    functions = view.stacks.of(task.task).functions
    lock = _lock_of(functions)
    waits = task_for_each_wait(
        task.task, lambda address: view.tasks.at(address) is not None, f"struct {lock[0]}"
    )
    for wait in waits:
        if found := _object_of(view, wait, bool(_COMPLETION.intersection(functions)), lock[1]):
            return found
    return None


def _lock_of(functions: list[str]) -> tuple[str, str]:
    """Return the types of the waiter and of the lock that a stack with these functions waits for."""
    for name in functions:
        if name.startswith("rwsem_down_"):
            return "rwsem_waiter", "rw_semaphore"
        if name.startswith("__down"):
            return "semaphore_waiter", "semaphore"
    return "mutex_waiter", "mutex"


def _object_of(view: View, wait: StackWait, completion: bool, lock: str) -> Sleep | None:
    """Return the object whose list of waiters was found."""
    heads = {
        "struct wait_queue_entry": ("struct wait_queue_head", "head"),
        "struct __wait_queue": ("struct __wait_queue_head", "task_list"),
        "struct swait_queue": ("struct swait_queue_head", "task_list"),
    }
    name, member = heads.get(wait.kind, (f"struct {lock}", "wait_list"))
    address = wait.head - offsetof(view.prog.type(name), member)
    # Simple wait queues are used for completions; ordinary ones were, before v5.7.
    if wait.kind == "struct swait_queue" or (completion and wait.kind in heads):
        type_ = view.prog.type("struct completion")
        return Sleep(type_.type_name(), address - offsetof(type_, "wait"), wait.entry)
    return Sleep(name, address, wait.entry)


def waits_on(view: View, task: TaskRow) -> Fields | None:
    """Return the object that a task sleeps on, as far as it can be followed."""
    sleep = sleep_of(view, task)
    if sleep is None:
        return None
    if followed := _flush(view, task):
        return followed
    fields: Fields = {"type": sleep.type, "address": hex(sleep.address), "what": _what(view, sleep)}
    if sleep.type == "struct mutex":
        fields |= _owner(view, sleep)
    return fields


def _what(view: View, sleep: Sleep) -> str:
    symbol = view.dump.symbolize(sleep.address)
    if symbol and not symbol[1]:
        return f"{symbol[0]} [{symbol[3]}]" if symbol[3] else symbol[0]
    found = known_objects(view).find(sleep.address)
    if found is None:
        return ""
    return f"{found.member} of {found.type} {found.address:#x} ({found.label})"


def _flush(view: View, task: TaskRow) -> Fields | None:
    """Return the work or the workqueue that a task flushes."""
    works = view.works
    for work, waiters in works.flushers.items():
        if task.address in waiters:
            worker = works.by_work.get(work)
            runner = view.tasks.named(worker.task) if worker else None
            what = f"flush of {_work_name(view, work)}"
            return {
                "type": "struct work_struct",
                "address": hex(work),
                "what": f"{what}, run by pid {runner.pid}" if runner else what,
                "pid": runner.pid if runner else None,
            }
    for queue in works.queues():
        if task.address in works.queue_flushers.get(queue.address, ()):
            return {
                "type": "struct workqueue_struct",
                "address": hex(queue.address),
                "what": f"flush of workqueue {queue.name}",
            }
    return None


def _owner(view: View, sleep: Sleep) -> Fields:
    try:
        owner = mutex_owner(Object(view.prog, "struct mutex *", sleep.address))
    except READ_ERRORS:
        return {}
    row = view.tasks.named(int(owner.value_()))
    return {"pid": row.pid if row else None}


def first_task(view: View, tasks: Iterable[Object]) -> TaskRow | None:
    """
    Return the first of some waiters that is a task of this dump.

    :param tasks: ``struct task_struct *`` objects
    """
    return next((row for task in tasks if (row := view.tasks.named(int(task.value_())))), None)


def setup_task(view: View, context: int) -> TaskRow | None:
    """
    Return the task that waits until a connection is set up.

    Users of the RDMA CM wait on a completion in the object that they gave it as context, so this needs
    none of the user's types.
    """
    best: tuple[int, TaskRow] | None = None
    for task in view.interesting:
        sleep = sleep_of(view, task)
        if not sleep or sleep.type != "struct completion":
            continue
        distance = sleep.address - context
        if 0 <= distance < _SETUP_SPAN and (best is None or distance < best[0]):
            best = (distance, task)
    return best[1] if best else None


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
        _add(view, waiter, f"flush of {_work_name(view, work)}", found)


def _work_name(view: View, work: int) -> str:
    known = view.works.by_work.get(work) or view.works.queued_by_work.get(work)
    return view.function_name(known.function) if known else "a work"


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
