"""
What a task sleeps on
---------------------

A task that sleeps is on some list by a small structure on its own stack: an entry of a wait queue, of a
simple wait queue (completions), or of a lock. It names the task, so it is found without knowing the frames,
and the list it is on leads to the object.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from drgn import FaultError, Object, Program, TypeKind, offsetof

from rdmadiag.vmcore.helpers.sched import task_stack_words
from rdmadiag.vmcore.walk import take_steps

__all__ = ("StackWait", "task_for_each_wait")

_MAX_WAITERS = 65536


class StackWait(NamedTuple):
    """
    A list that a task is on.

    :ivar kind: Type of the entry: ``struct wait_queue_entry``, ``struct swait_queue``, ``struct mutex_waiter`` ...
    :ivar head: Address of the ``struct list_head`` that the entries hang on.
    :ivar entry: Address of the entry on the task's stack.
    """

    kind: str
    head: int
    entry: int


class _Layout(NamedTuple):
    """Where in an entry its task, its list node and (wait queues) its function are."""

    kind: str
    task: int
    node: int
    function: int | None


# Entry types with their members; the newest names first.
_ENTRIES = (
    ("struct wait_queue_entry", "private", "entry", "func"),
    ("struct __wait_queue", "private", "task_list", "func"),
    ("struct swait_queue", "task", "task_list", None),
)


def _layouts(prog: Program, lock: str) -> list[_Layout]:
    found = []
    for name, task, node, function in (*_ENTRIES, (lock, "task", "list", None)):
        try:
            type_ = prog.type(name)
        except LookupError:
            continue
        if type_.kind == TypeKind.STRUCT and type_.members is not None:
            at = offsetof(type_, function) if function else None
            found.append(_Layout(name, offsetof(type_, task), offsetof(type_, node), at))
    return found


def _is_wake_function(prog: Program, address: int) -> bool:
    try:
        symbol = prog.symbol(address)
    except LookupError:
        return False
    return symbol.address == address and "wake" in symbol.name


def task_for_each_wait(
    task: Object, is_task: Callable[[int], bool], lock: str = "struct mutex_waiter"
) -> Iterator[StackWait]:
    """
    Iterate over the lists that a sleeping task is on, innermost frame first.

    What earlier calls left on the stack is told apart by the list: its neighbours must point back.

    :param task: ``struct task_struct *``
    :param is_task: Tells whether an address is that of a task.
    :param lock: Type of the entry that waiters of a lock have: ``struct mutex_waiter``,
        ``struct rwsem_waiter`` or ``struct semaphore_waiter``, which cannot be told apart by their contents.
    :raises ValueError: if the saved stack pointer is not in the task's stack.
    """
    prog, address = task.prog_, int(task.value_())
    sp, words = task_stack_words(task)
    layouts = _layouts(prog, lock)
    for index, word in enumerate(words):
        if word != address:
            continue
        for layout in layouts:
            entry = sp + 8 * index - layout.task
            try:
                head = _head(prog, layout, entry, is_task)
            except FaultError:
                continue
            if head:
                yield StackWait(layout.kind, head, entry)
                break


def _head(prog: Program, layout: _Layout, entry: int, is_task: Callable[[int], bool]) -> int:
    """Return the head of the list that an entry is on, 0 when it is on none."""
    node = entry + layout.node
    following, before = prog.read_word(node), prog.read_word(node + 8)
    if following == node or prog.read_word(following + 8) != node or prog.read_word(before) != node:
        return 0
    if layout.function is not None and not _is_entry(prog, layout, node, is_task):
        return 0
    for _ in range(_MAX_WAITERS):
        if following == node:
            return 0
        if not _is_entry(prog, layout, following, is_task):
            return int(following)
        take_steps(prog)
        following = prog.read_word(following)
    return 0


def _is_entry(prog: Program, layout: _Layout, node: int, is_task: Callable[[int], bool]) -> bool:
    """Tell whether a list node is in an entry, or else the head."""
    entry = node - layout.node
    if layout.function is not None:
        return _is_wake_function(prog, prog.read_word(entry + layout.function))
    return is_task(prog.read_word(entry + layout.task))
