"""
Wait queues and completions
---------------------------

Who sleeps on a wait queue, a simple wait queue or a completion.
"""

from collections.abc import Iterator

from drgn import Object, cast

from rdmadiag.vmcore.walk import list_entries

__all__ = (
    "completion_for_each_task",
    "completion_is_set_up",
    "mutex_for_each_waiter",
    "swait_for_each_task",
    "task_blocker",
    "waitqueue_for_each_task",
)


def waitqueue_for_each_task(head: Object) -> Iterator[Object]:
    """
    Iterate over the tasks that sleep on a wait queue.

    An entry with a wake function of its own (epoll, bit waits) may hold something other than a task.

    :param head: ``wait_queue_head_t``
    :return: Iterator of ``struct task_struct *`` objects.
    """
    prog = head.prog_
    # Since Linux kernel commit 2055da97389a ("sched/wait: Disambiguate wq_entry->task_list and
    # wq_head->task_list naming") (in v4.13), the members are head and entry; since ac6424b981bc
    # ("sched/wait: Rename wait_queue_t => wait_queue_entry_t") of the same series the type is named so.
    try:
        entries, type_, member = head.head, prog.type("struct wait_queue_entry"), "entry"
    except AttributeError:
        entries, type_, member = head.task_list, prog.type("struct __wait_queue"), "task_list"
    task_type = prog.type("struct task_struct *")
    for entry in list_entries(type_, entries, member):
        yield cast(task_type, entry.private.read_())


def swait_for_each_task(head: Object) -> Iterator[Object]:
    """
    Iterate over the tasks that sleep on a simple wait queue.

    :param head: ``struct swait_queue_head``
    :return: Iterator of ``struct task_struct *`` objects.
    """
    for entry in list_entries("struct swait_queue", head.task_list, "task_list"):
        yield entry.task.read_()


def mutex_for_each_waiter(lock: Object) -> Iterator[Object]:
    """
    Iterate over the tasks that wait for a mutex.

    :param lock: ``struct mutex``
    :return: Iterator of ``struct task_struct *`` objects.
    """
    # Later than v6.12 the waiters' list has no head: the lock points to the first of them.
    try:
        waiters = lock.wait_list
    except AttributeError:
        first = lock.first_waiter.read_()
        if not first:
            return
        yield first.task.read_()
        waiters = first.list
    for waiter in list_entries("struct mutex_waiter", waiters, "list"):
        yield waiter.task.read_()


_BLOCKERS = ("struct mutex", "struct semaphore", "struct rw_semaphore", "struct rw_semaphore")
"""By ``BLOCKER_TYPE_*`` of ``include/linux/hung_task.h``, which no type information has."""


def task_blocker(task: Object) -> tuple[str, int] | None:
    """
    Return type and address of the lock that a task says it waits for, ``None`` when it waits for none or cannot tell.

    :param task: ``struct task_struct *``
    """
    # Since v6.16 or so with CONFIG_DETECT_HUNG_TASK_BLOCKER.
    try:
        blocker = int(task.blocker.value_())
    except AttributeError:
        return None
    return (_BLOCKERS[blocker & 3], blocker & ~3) if blocker else None


def completion_for_each_task(completion: Object) -> Iterator[Object]:
    """
    Iterate over the tasks that wait for a completion.

    :param completion: ``struct completion``
    :return: Iterator of ``struct task_struct *`` objects.
    """
    # Since Linux kernel commit a5c6234e1028 ("completion: Use simple wait queues") (in v5.7), the wait
    # queue is a simple one.
    if completion.wait.type_.type_name() == "struct swait_queue_head":
        return swait_for_each_task(completion.wait)
    return waitqueue_for_each_task(completion.wait)


def completion_is_set_up(completion: Object) -> bool:
    """
    Return whether a completion was ever made ready (``init_completion()``): zeroed memory is none yet.

    :param completion: ``struct completion``
    """
    wait = completion.wait
    # Wait queues since v4.13 have a head; those before that, and simple ones, a task_list.
    try:
        sleepers = wait.head
    except AttributeError:
        sleepers = wait.task_list
    return bool(sleepers.next)
