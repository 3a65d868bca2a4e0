"""The object that a task sleeps on, as its own stack tells."""

from typing import NamedTuple

from drgn import offsetof

from rdmadiag.vmcore.collect.tasktable import TaskRow
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.errors import READ_ERRORS
from rdmadiag.vmcore.helpers.stackwait import StackWait, task_for_each_wait
from rdmadiag.vmcore.helpers.wait import task_blocker

__all__ = ("Sleep", "sleep_of")

_COMPLETION = frozenset(("wait_for_common", "__wait_for_common", "do_wait_for_common"))


class Sleep(NamedTuple):
    """
    What a task sleeps on.

    :ivar type: ``struct completion``, ``struct mutex``, ``struct wait_queue_head`` ...
    :ivar entry: Address of its entry on its own stack, 0 for a lock that the task itself names.
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
    if named := task_blocker(task.task):
        return Sleep(*named, 0)
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
