"""
Tasks
-----

Tasks, their states and the clocks that tell how long they have been sleeping.
"""

from collections.abc import Iterator

from drgn import Object, Program, offsetof
from drgn.helpers.linux.cpumask import for_each_possible_cpu
from drgn.helpers.linux.percpu import per_cpu

from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.helpers.timekeeping import timer_pending
from rdmadiag.vmcore.walk import list_entries

__all__ = (
    "for_each_task_by_list",
    "scheduler_clock",
    "task_comm",
    "task_last_arrival",
    "task_sleeps_with_timeout",
    "task_stack_words",
    "task_state",
)

# include/linux/sched.h, TASK_REPORT: #defines that have not moved since 3.14.
_STATES = "RSDTtXZ"
_REPORTED = (1 << 6) - 1
_UNINTERRUPTIBLE = 0x2
_RTLOCK_WAIT = 0x1000
_NOLOAD = 0x400


def for_each_task_by_list(prog: Program) -> Iterator[Object]:
    """
    Iterate over all tasks but the idle ones, by the list of processes and each process's list of threads.

    :return: Iterator of ``struct task_struct *`` objects.
    """
    type_ = prog.type("struct task_struct")
    yield from nested(list_entries(type_, prog["init_task"].tasks, "tasks"), _with_threads)


def _with_threads(leader: Object) -> Iterator[Object]:
    yield leader
    for thread in list_entries(leader.type_.type, leader.signal.thread_head, "thread_node"):
        if thread != leader:
            yield thread


def task_state(task: Object) -> str:
    """
    Return a task's state as ps prints it: R, S, D, T, t, X, Z or I.

    :param task: ``struct task_struct *``
    """
    # Since Linux kernel commit 2f064a59a11f ("sched: Change task_struct::state") (in v5.14), the member
    # is named "__state". Before that, it is named "state".
    try:
        state = int(task.member_("__state").value_())
    except LookupError:
        state = int(task.state.value_())
    reported = (state | int(task.exit_state.value_())) & _REPORTED
    if reported == _UNINTERRUPTIBLE and state & _NOLOAD:
        return "I"
    if not reported and state & _RTLOCK_WAIT:
        return "D"
    return _STATES[reported.bit_length()]


def task_comm(task: Object) -> str:
    """
    Return a task's name.

    :param task: ``struct task_struct *``
    """
    return c_string(task.comm)


def task_last_arrival(task: Object) -> int | None:
    """
    Return when a task last got a CPU, by :func:`scheduler_clock`, in nanoseconds; ``None`` if it never ran.

    :param task: ``struct task_struct *``
    """
    # sched_info needs CONFIG_SCHED_INFO; the entity's own stamp is always there.
    try:
        arrival = int(task.sched_info.last_arrival.value_())
    except AttributeError:
        arrival = int(task.se.exec_start.value_())
    return arrival or None


def scheduler_clock(prog: Program) -> int:
    """
    Return the scheduler's clock in nanoseconds: the newest ``rq.clock`` of all CPUs.

    A CPU that idles without ticks has an old one, so one CPU's clock alone would make waits too short.
    """
    runqueues = prog["runqueues"]
    return max(int(per_cpu(runqueues, cpu).clock.value_()) for cpu in for_each_possible_cpu(prog))


def task_stack_words(task: Object) -> tuple[int, tuple[int, ...]]:
    """
    Return the part of a sleeping task's kernel stack that is in use: its lowest address and its words.

    :param task: ``struct task_struct *``
    :raises ValueError: if the saved stack pointer is not in the task's stack.
    """
    prog = task.prog_
    try:
        sp = int(task.thread.sp.value_())
    except AttributeError:  # arm64
        sp = int(task.thread.cpu_context.sp.value_())
    base = int(task.stack.value_())
    # The stack's size is a macro: 16 KiB on x86-64 since 3.15. thread_union is the stack where it is typed.
    try:
        size = prog.type("union thread_union").size or 0
    except LookupError:
        size = 16384
    if not base <= sp < base + size or sp % 8:
        raise ValueError(f"the saved stack pointer {sp:#x} is not in the stack at {base:#x}")
    data = prog.read(sp, base + size - sp)
    return sp, tuple(memoryview(data).cast("Q"))


def task_sleeps_with_timeout(task: Object) -> bool:
    """
    Return whether a task sleeps in schedule_timeout() with a timer that will wake it.

    The timer is a ``struct process_timer`` on the task's own stack.

    :param task: ``struct task_struct *``
    :raises ValueError: if the saved stack pointer is not in the task's stack.
    """
    prog = task.prog_
    function = prog.symbol("process_timeout").address
    sp, words = task_stack_words(task)
    # Before v4.15 the timer's data was the task; since then the structure says which task it is for.
    try:
        type_ = prog.type("struct process_timer")
    except LookupError:
        return function in words
    offset = offsetof(type_, "timer.function")
    for index, word in enumerate(words):
        if word == function:
            timer = Object(prog, type_, address=sp + 8 * index - offset)
            if timer.task == task and timer_pending(timer.timer):
                return True
    return False
