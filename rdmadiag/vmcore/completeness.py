"""
Completeness
------------

Whether the dump has what a diagnosis rests on: the list of tasks is followed to its end, once, when it is
opened.
"""

from collections.abc import Iterator

from drgn import Program

from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.walk import WalkError, list_entries

__all__ = ("check_tasks",)

MAX_TASKS = 1 << 22
"""``PID_MAX_LIMIT``."""


def check_tasks(prog: Program) -> Iterator[Problem]:
    """Walk ``init_task.tasks`` and say if the walk does not come back to its start."""
    count = 0
    try:
        head = prog["init_task"].tasks
        for _ in list_entries("struct task_struct", head, "tasks", limit=MAX_TASKS):
            count += 1
    except LookupError:
        yield Problem("the task list was not found", "init_task")
    except WalkError as error:
        what = f"the task list breaks off after {count} processes: {error.problem.what}"
        yield Problem(what, error.problem.where)
