"""All tasks of a dump, with what is read of every one."""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from drgn import Object, Program
from drgn.helpers.linux.pid import for_each_task
from drgn.helpers.linux.sched import task_on_cpu

from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
from rdmadiag.vmcore.helpers.sched import for_each_task_by_list, task_comm, task_state

__all__ = ("TaskRow", "TaskTable", "is_running")

_LIMIT = 1 << 22


class TaskRow(NamedTuple):
    """
    A task.

    :ivar task: ``struct task_struct *``
    """

    task: Object
    address: int
    pid: int
    comm: str
    state: str


def is_running(task: Object) -> bool:
    """
    Return whether a task was on a CPU.

    :param task: ``struct task_struct *``
    """
    try:
        return bool(task_on_cpu(task))
    except READ_ERRORS:
        return False


def _row(task: Object, address: int) -> TaskRow:
    pid = int(task.pid.value_())
    return TaskRow(task, address, pid, task_comm(task), task_state(task))


class TaskTable:
    """
    The tasks of a dump by address.

    :ivar problems: Why some may be missing; empty when the table is complete.
    """

    def __init__(self, prog: Program) -> None:
        self.problems: list[str] = []
        self._prog = prog
        self._rows: dict[int, TaskRow] = {}
        self._walk(for_each_task(prog))
        if self.problems:
            # The table of process numbers is broken: what hangs on the list of processes is found too.
            self._walk(for_each_task_by_list(prog))
        self._by_pid = {row.pid: row for row in self._rows.values()}

    def __iter__(self) -> Iterator[TaskRow]:
        return iter(self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)

    def at(self, address: int) -> TaskRow | None:
        """Return the task at an address."""
        return self._rows.get(address)

    def named(self, address: int) -> TaskRow | None:
        """
        Return the task that a worker or a waiter names.

        It is one even if the table lost it, as long as it reads like one.
        """
        if address and address not in self._rows and self.problems:
            task = Object(self._prog, "struct task_struct *", address)
            with suppress(*READ_ERRORS):
                row = _row(task, address)
                if 0 < row.pid <= _LIMIT and row.comm.isprintable():
                    self._rows[address] = self._by_pid[row.pid] = row
        return self._rows.get(address)

    def by_pid(self, pid: int | None) -> TaskRow | None:
        """Return the task with a number."""
        return None if pid is None else self._by_pid.get(pid)

    def _walk(self, tasks: Iterator[Object]) -> None:
        try:
            for count, task in enumerate(tasks):
                address = int(task.value_())
                if address not in self._rows:
                    self._add(task, address)
                if count > _LIMIT:
                    self.problems.append(f"more than {_LIMIT} tasks")
                    return
        except READ_ERRORS as error:
            self.problems.append(f"the tasks after {len(self)} were not found: {why(error)}")

    def _add(self, task: Object, address: int) -> None:
        try:
            self._rows[address] = _row(task, address)
        except READ_ERRORS as error:
            self.problems.append(f"a task at {address:#x} cannot be read: {why(error)}")
