"""Tasks that sleep where an engineer would look: uninterruptibly, in a work, or in RDMA code."""

from collections import Counter
from functools import partial

from drgn.helpers.linux.sched import task_cpu

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.behind import chain_of
from rdmadiag.vmcore.collect.idle import is_idle
from rdmadiag.vmcore.collect.rows import Row, hex_or_none, isolated
from rdmadiag.vmcore.collect.stacks import subsystem_of
from rdmadiag.vmcore.collect.tasktable import TaskRow
from rdmadiag.vmcore.collect.view import NO_WAIT, View
from rdmadiag.vmcore.collect.waits import waits_on

KINDS = ("task",)


def collect(view: View) -> Collected:
    """Return a ``task`` fact for each task in D state, running a work, or with RDMA code on its stack."""
    problems: list[str] = []
    facts = isolated(
        view.interesting, partial(_fact, view), problems, lambda row: f"the task {row.pid}"
    )
    problems += [*view.tasks.problems, *view.stacks.problems]
    return Collected(facts=facts, coverage=[view.covered("task", problems, facts, len(view.tasks))])


def _fact(view: View, task: TaskRow) -> Fact:
    row = Row()
    stack = view.stacks.of(task.task)
    seconds, clock = row.value("wait_seconds", lambda: view.wait(task)) or NO_WAIT
    row.fields |= {
        "pid": task.pid,
        "comm": task.comm,
        "state": task.state,
        "address": hex(task.address),
        "wait_seconds": seconds,
        "wait_clock": clock,
        "frames": stack.frames,
        "functions": stack.functions,
        "modules": stack.modules,
    }
    row.problems += [f"stack: {stack.problem}"] if stack.problem else []
    row.read("cpu", lambda: task_cpu(task.task))
    _add_waits(view, task, row)
    counts = Counter(stack.functions)
    row.fields |= {
        "idle": is_idle(task.state, stack.functions),
        "duplicate_functions": [name for name, count in counts.items() if count > 1],
    }
    module = _work(view, task, row)
    row.fields["problems"] = row.problems
    row.fields["subsystem"] = subsystem_of(stack.rdma_module or module)
    text = f"{task.comm} (pid {task.pid}, {task.state})"
    if stack.functions:
        text += " in " + " <- ".join(stack.functions[:8])
    return view.fact("task", row.fields, "struct task_struct", task.address, text)


def _add_waits(view: View, task: TaskRow, row: Row) -> None:
    """Add what a task waits on, and the chain of waits from there."""
    row.read("waits_on", lambda: waits_on(view, task))
    chain = row.value("chain", lambda: chain_of(view, task))
    row.fields |= {
        "chain": chain.links if chain else [],
        "deadlock": chain.cycle if chain else [],
    }


def _work(view: View, task: TaskRow, row: Row) -> str:
    """Add the work that a worker runs; return the RDMA module of its function."""
    worker = view.works.by_task.get(task.address)
    row.fields |= {
        "work_function": view.function_name(worker.function) if worker else None,
        "work": hex_or_none(worker.work) if worker else None,
        "workqueue": worker.queue.name if worker and worker.queue else None,
    }
    if not worker or not view.stacks.is_rdma_text(worker.function):
        return ""
    return view.module_name(worker.function)
