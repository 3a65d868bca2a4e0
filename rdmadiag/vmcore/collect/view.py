"""What the collectors share: an opened dump, and what is read of it once, on first use."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Literal, TypeVar, cast

from drgn import Object, Program

from rdmadiag.facts.model import Coverage, Fact, Fields, Moment, Where
from rdmadiag.vmcore.collect.stacks import Stacks
from rdmadiag.vmcore.collect.tasktable import TaskRow, TaskTable, is_running
from rdmadiag.vmcore.collect.worktable import WorkTable
from rdmadiag.vmcore.dump import Dump
from rdmadiag.vmcore.helpers.errors import READ_ERRORS
from rdmadiag.vmcore.helpers.sched import (
    scheduler_clock,
    task_last_arrival,
    task_sleeps_with_timeout,
)
from rdmadiag.vmcore.helpers.timekeeping import jiffies_to_seconds, real_seconds, uptime_seconds
from rdmadiag.vmcore.walk import OUT_OF_STEPS, is_out_of_steps, take_steps

__all__ = ("NO_WAIT", "View", "Wait")

Status = Literal["complete", "absent", "partial", "failed"]
T = TypeVar("T")
_REASONS = 5
_FACT_STEPS = 32
"""A fact takes up far more memory than a step takes time."""
Wait = tuple[float | None, str]
"""How many seconds (none for a task that never ran), and by which clock."""
NO_WAIT: Wait = None, ""
"""Of a wait that could not be read."""


class View:
    """
    An opened dump as the collectors see it.

    :ivar input: The dump's name in facts.
    :ivar marks: Marks to look up, see :mod:`rdmadiag.vmcore.collect.marks`.
    """

    def __init__(self, dump: Dump, name: str, marks: Sequence[str] = ()) -> None:
        self.dump = dump
        self.marks = marks
        self.input = name
        # A machine without a name calls itself "(none)".
        self.host = dump.nodename.partition(".")[0].lower().replace("(none)", "")
        self._made: dict[str, object] = {}

    @property
    def prog(self) -> Program:
        """The program that drgn opened."""
        return self.dump.prog

    @cached_property
    def time(self) -> Moment:
        """The moment of the dump."""
        return Moment(
            wall=_clock(real_seconds, self.prog), uptime=_clock(uptime_seconds, self.prog)
        )

    @cached_property
    def tasks(self) -> TaskTable:
        """All tasks."""
        return TaskTable(self.prog)

    @cached_property
    def stacks(self) -> Stacks:
        """Stacks of tasks."""
        return Stacks(self.dump)

    @cached_property
    def works(self) -> WorkTable:
        """Works and workers."""
        return WorkTable(self.prog, self.stacks.is_rdma_text, self.is_function)

    @cached_property
    def interesting(self) -> list[TaskRow]:
        """Tasks in D state, workers that run a work, and tasks with RDMA code on their stacks."""
        for worker in self.works.workers:
            self.tasks.named(worker.task)
        return [
            row
            for row in self.tasks
            if row.state == "D" or row.address in self.works.by_task or self._in_rdma_code(row)
        ]

    def _in_rdma_code(self, row: TaskRow) -> bool:
        if row.state in "XZ":
            return False
        # What a running task saved when it last slept says nothing of where it is.
        if row.state == "R" and is_running(row.task):
            return bool(self.stacks.of(row.task).rdma_function)
        return self.stacks.may_be_rdma(row.task)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """
        Return what *make* makes, the same object whenever it is asked for by this name.

        :raises Exception: what *make* raised of :data:`READ_ERRORS`, whenever it is asked for.
        """
        if name not in self._made:
            try:
                self._made[name] = make()
            except READ_ERRORS as error:
                self._made[name] = error
        made = self._made[name]
        if isinstance(made, READ_ERRORS):
            raise made.with_traceback(None)
        return cast(T, made)

    def is_function(self, address: int) -> bool:
        """Return whether a symbol begins at an address."""
        found = self.dump.symbolize(address)
        return bool(address) and found is not None and not found[1]

    def function_name(self, address: int) -> str:
        """Return a function's name, or its address where there is no symbol."""
        found = self.dump.symbolize(address)
        return found[0] if found else hex(address)

    def module_name(self, address: int) -> str:
        """Return the name of the module that an address is in, ``""`` for the kernel proper."""
        module = self.dump.modules.containing(address)
        return module.name if module else ""

    def wait(self, row: TaskRow) -> Wait:
        """
        Return how long a task has been waiting, and the clock that tells.

        A worker that sleeps with a timeout wakes and sleeps again, so the scheduler knows only of the last
        round; the worker knows when it was last idle, which was before the work began.

        :raises Exception: one of :data:`READ_ERRORS` when it cannot be read
        """
        worker = self.works.by_task.get(row.address)
        if worker and task_sleeps_with_timeout(row.task):
            return round(jiffies_to_seconds(self.prog, worker.last_active), 3), "worker.last_active"
        return self._since_arrival(row.task), "sched_info.last_arrival"

    def _since_arrival(self, task: Object) -> float | None:
        arrival = task_last_arrival(task)
        if arrival is None:
            return None
        now = self.once("scheduler clock", lambda: scheduler_clock(self.prog))
        return round(max(now - arrival, 0) / 1e9, 3)

    def fact(
        self, kind: str, fields: Fields, type_: str, address: int, text: str, member: str = ""
    ) -> Fact:
        """
        Return a fact that was read from an object.

        :raises WalkError: if the collector has made too many
        """
        take_steps(self.prog, _FACT_STEPS)
        where = Where(self.input, type=type_, address=address, member=member or None)
        return Fact(kind, fields, where, self.host, self.time, text)

    def coverage(self, kind: str, status: Status, reason: str = "") -> Coverage:
        """Return how far a kind of fact was looked for."""
        return Coverage(kind, self.input, status, reason, self.host)

    def covered(
        self, kind: str, problems: Iterable[str], facts: Sequence[Fact] = (), read: int = 0
    ) -> Coverage:
        """
        Return the coverage of a kind: partial when something went wrong on the way to its facts or in one.

        :param read: How many objects were read, where not each makes a fact.
        """
        found = [OUT_OF_STEPS] if is_out_of_steps(self.prog) else []
        found += problems
        for fact in facts:
            found += [
                f"{one} (of the {fact.where.type} at {fact.where.address:#x})"
                for one in fact.fields.get("problems", ())
            ]
        if not found:
            return self.coverage(kind, "complete")
        reason = "; ".join(dict.fromkeys(found[:_REASONS]))
        if len(found) > _REASONS:
            reason += f"; and {len(found) - _REASONS} more"
        return self.coverage(kind, "partial" if facts or read else "failed", reason)

    def not_here(self, kind: str, module: str, variable: str, type_: str = "") -> Coverage | None:
        """
        Return why a module's facts cannot be had, ``None`` when they can.

        A missing module is one that is neither in the module list, which was read to its end, nor built in.

        :param variable: A variable of the module, and *type_* a type of it, without which nothing can be read.
        """
        try:
            self.prog[variable]
            if type_ and not self.prog.type(type_).is_complete():
                return self._missing(kind, module, f"'{type_}' is declared, not defined")
        except LookupError as error:
            return self._missing(kind, module, str(error))
        return None

    def not_loaded(self, kind: str, module: str) -> Coverage | None:
        """Return that a module is not there, ``None`` when it may be; no name of it is sought but one function's."""
        if self.dump.presence(module) == "absent":
            return self.coverage(kind, "absent", f"module {module} is not loaded")
        return None

    def _missing(self, kind: str, module: str, error: str) -> Coverage:
        modules = self.dump.modules
        if self.dump.types == "none":
            return self.coverage(kind, "failed", "no types were found for this dump")
        if loaded := modules.named(module):
            reason = f"module {module} is loaded: {error}"
            if not loaded.has_types:
                reason = (
                    f"module {module} is loaded and has no types (BTF) in the dump; "
                    f"name its debug info with --debuginfo ({error})"
                )
            return self.coverage(kind, "failed", reason)
        if not modules.complete:
            return self.coverage(kind, "failed", f"{error}, and the module list is not complete")
        match self.dump.presence(module):
            case "absent":
                return self.coverage(kind, "absent", f"module {module} is not loaded")
            case "built-in":
                return self.coverage(kind, "failed", f"{module} is built into the kernel: {error}")
        reason = f"{error}, and for want of symbols it cannot be told whether {module} is built in"
        return self.coverage(kind, "failed", reason)


def _clock(read: Callable[[Program], float], prog: Program) -> float | None:
    try:
        return float(read(prog))
    except READ_ERRORS:
        return None
