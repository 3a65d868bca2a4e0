"""Timers that are queued, and what they will start."""

from functools import partial

from drgn import Object, container_of

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.rows import Row, isolated, until_broken
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.timekeeping import seconds_until
from rdmadiag.vmcore.helpers.timer import for_each_timer
from rdmadiag.vmcore.helpers.workqueue import workqueue_name

KINDS = ("timer",)
ON_DEMAND = True
_KIND = KINDS[0]


def collect(view: View) -> Collected:
    """Return a ``timer`` fact for each queued timer, the next first."""
    problems: list[str] = []
    found = until_broken(for_each_timer(view.prog), problems, "the timers")
    facts = isolated(found, partial(_fact, view), problems, lambda one: f"{one.value_():#x}")
    facts.sort(key=lambda fact: fact.fields["due_seconds"] or 0)
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts)])


def _fact(view: View, timer: Object) -> Fact:
    row, address = Row(), int(timer.value_())
    function = row.value("function", lambda: int(timer.function.value_()))
    row.fields |= {
        "address": hex(address),
        "function": view.function_name(function) if function else None,
        "module": view.module_name(function) if function else None,
        "work_function": None,
        "workqueue": None,
        "pid": None,
    }
    row.read("due_seconds", lambda: seconds_until(timer))
    if row.fields["function"] == "delayed_work_timer_fn":
        _add_work(view, container_of(timer, "struct delayed_work", "timer"), row)
    elif row.fields["function"] == "process_timeout":
        row.read("pid", lambda: _sleeper(view, timer))
    row.fields["problems"] = row.problems
    text = (
        f"{row.fields['work_function'] or row.fields['function']} in {row.fields['due_seconds']} s"
    )
    return view.fact(_KIND, row.fields, "struct timer_list", address, text)


def _add_work(view: View, dwork: Object, row: Row) -> None:
    """Add the work that is queued when the timer fires."""
    if function := row.value("work function", lambda: int(dwork.work.func.value_())):
        row.fields["work_function"] = view.function_name(function)
        row.fields["module"] = view.module_name(function)
    row.read("workqueue", lambda: workqueue_name(dwork.wq))


def _sleeper(view: View, timer: Object) -> int | None:
    """Return the pid of the task that sleeps until a timer fires, or is woken before."""
    # Since v4.15 or so the timer is in a structure on the task's stack; before that, it has a data word.
    try:
        task = container_of(timer, "struct process_timer", "timer").task
    except LookupError:
        task = timer.data
    row = view.tasks.named(int(task.value_()))
    return row.pid if row else None
