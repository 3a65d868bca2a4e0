"""
Keep
----

What a capsule keeps besides the pages that a diagnosis reads, so that later questions at a prompt have answers: the
kernel's variables, all symbols, every task with its stack, and what drgn's own helpers ask for.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from drgn import FaultError, Object
from drgn.helpers import ValidationError
from drgn.helpers.linux.cpumask import for_each_possible_cpu
from drgn.helpers.linux.panic import tainted
from drgn.helpers.linux.percpu import per_cpu
from drgn.helpers.linux.pid import for_each_task
from drgn.helpers.linux.sched import idle_task, task_state_to_char

from rdmadiag.vmcore.dump import Dump
from rdmadiag.vmcore.kdump_writer import PAGE

__all__ = ("read_for_later",)

_DATA = (
    ("_sdata", "_edata"),
    ("__bss_start", "__bss_stop"),
    ("__start_ro_after_init", "__end_ro_after_init"),
)
_MAX_DATA = 256 << 20
_MAX_TASKS = 65_536
_GONE = (FaultError, LookupError, ValidationError, ValueError)
"""What reading a damaged dump raises: then there is nothing to keep."""


def read_for_later(dump: Dump) -> None:
    """Read all that a capsule is to keep besides what the diagnosis has read; what cannot be read is left out."""
    for places in _tables(dump):
        for place in range(places.start & -PAGE, places.stop, PAGE):
            with suppress(FaultError):
                dump.prog.read(place, 1)
    for module in dump.modules:
        dump.symbol("", module.name)  # reads the module's whole table
    with suppress(*_GONE):
        tainted(dump.prog)
        for cpu in for_each_possible_cpu(dump.prog):
            per_cpu(dump.prog["runqueues"], cpu).read_()
    with suppress(*_GONE):
        _read_tasks(dump)


def _tables(dump: Dump) -> Iterator[range]:
    """Iterate over the kernel's variables (most of them zeros) and its symbol tables; crash --minimal wants them, too."""
    for names in _DATA:
        start, end = (dump.symbol(name, "") for name in names)
        if start and end and 0 < end.address - start.address <= _MAX_DATA:
            yield range(start.address, end.address)
    if dump.symbols.kallsyms:
        yield from dump.symbols.kallsyms.ranges()


def _read_tasks(dump: Dump) -> None:
    """Read every task and its stack; the idle ones are on no list."""
    for task in islice(_tasks(dump), _MAX_TASKS):
        with suppress(*_GONE):
            dump.prog.read(task.value_(), task.type_.type.size)
            task_state_to_char(task)
            dump.stack(task)


def _tasks(dump: Dump) -> Iterator[Object]:
    yield from for_each_task(dump.prog)
    for cpu in for_each_possible_cpu(dump.prog):
        yield idle_task(dump.prog, cpu)
