"""
Completeness
------------

Whether the dump has what a diagnosis rests on: the list of tasks is followed to its end, once, when it is
opened.
"""

from collections.abc import Iterator

from drgn import Program

from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.faults import TYPE_ERRORS
from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo
from rdmadiag.vmcore.walk import WalkError, list_entries

__all__ = ("check_tasks", "filter_hint")

MAX_TASKS = 1 << 22
"""``PID_MAX_LIMIT``."""


def check_tasks(prog: Program) -> Iterator[Problem]:
    """Walk ``init_task.tasks`` and say if the walk does not come back to its start."""
    count = 0
    try:
        head = prog["init_task"].tasks
        for _ in list_entries("struct task_struct", head, "tasks", limit=MAX_TASKS):
            count += 1
    except TYPE_ERRORS:
        yield Problem("the task list was not found", "init_task")
    except WalkError as error:
        what = f"the task list breaks off after {count} processes: {error.problem.what}"
        yield Problem(what, error.problem.where)


_DL_EXCLUDE_USER = 8


def filter_hint(dump_level: int, info: VmcoreInfo) -> Problem | None:
    """
    Return what may have thrown kernel memory away, for a dump in which some is missing.

    Since Linux kernel commit 46df8e73a4a3 ("mm: free up PG_slab") (in v6.10) slab pages are told by their page
    type; a makedumpfile that does not know takes them for pages of processes, if it is to leave these out.
    """
    if dump_level & _DL_EXCLUDE_USER and info.number("PAGE_SLAB_MAPCOUNT_VALUE") is not None:
        what = (
            f"kernel memory is missing: the dump was filtered at level {dump_level}, and a makedumpfile "
            "older than this kernel leaves slab pages out then; take the dump again at level 17"
        )
        return Problem(what)
    return None
