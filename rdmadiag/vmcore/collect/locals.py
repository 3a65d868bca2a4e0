"""Local variables of stacks, which only debug info knows: a second opinion on what a task works on."""

from drgn import Object

from rdmadiag.vmcore.collect.rows import Row
from rdmadiag.vmcore.collect.tasktable import TaskRow
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.errors import READ_ERRORS

__all__ = ("check_local",)


def check_local(
    view: View, row: Row, name: str, task: TaskRow, variables: dict[str, str], pointer: Object
) -> None:
    """
    Add whether a variable of a task's stack is a certain pointer: *name* is ``None`` where there is no telling.

    :param variables: The variable to look at, by name of its function.
    """
    row.fields[name] = None
    found = _local(view, task, variables)
    if found is None:
        return
    row.fields[name] = found == pointer.value_()
    if found != pointer.value_():
        row.problems.append(
            f"{name}: the stack of pid {task.pid} says {found:#x}, not {pointer.value_():#x}"
        )


def _local(view: View, task: TaskRow, variables: dict[str, str]) -> int | None:
    if view.dump.types != "dwarf":
        return None
    try:
        for frame in view.prog.stack_trace(task.task):
            if variable := variables.get(frame.name or ""):
                return int(frame[variable].value_())
    except READ_ERRORS:
        return None  # the compiler kept it nowhere, or the frame cannot be read
    return None
