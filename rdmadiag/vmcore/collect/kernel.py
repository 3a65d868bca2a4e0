"""The kernel itself and its modules."""

import re

from rdmadiag.facts.model import Collected, Fact, Fields
from rdmadiag.vmcore.collect.marks import read_marks
from rdmadiag.vmcore.collect.rows import Row
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.enums import flag_names
from rdmadiag.vmcore.modules import Module

KINDS = ("kernel", "module")

# include/linux/panic.h: #defines whose bits never change; names as in the kernel's documentation.
_TAINTS = dict(
    enumerate(
        (
            "proprietary module",
            "forced module load",
            "CPU out of specification",
            "forced module unload",
            "machine check",
            "bad page",
            "user request",
            "oops or BUG before",
            "ACPI table overridden",
            "warning before",
            "staging driver",
            "firmware workaround",
            "out-of-tree module",
            "unsigned module",
            "soft lockup",
            "live patch",
            "auxiliary",
            "randomised struct",
            "in-kernel test",
            "fwctl",
        )
    )
)
_PANIC = (
    re.compile(r"Kernel panic - not syncing: (.*)"),
    re.compile(
        r"(kernel BUG at .*|(?:BUG|Oops|general protection fault)\b.*|sysrq: Trigger a crash)"
    ),
)
_NO_CPU = -1  # PANIC_CPU_INVALID


def collect(view: View) -> Collected:
    """Return one ``kernel`` fact and a ``module`` fact for each module."""
    found = Collected()
    row = _kernel(view)
    found.facts.append(
        view.fact("kernel", row.fields, "struct uts_namespace", 0, f"Linux {view.dump.release}")
    )
    found.coverage.append(view.covered("kernel", row.problems, read=1))
    found.facts += [_module(view, one) for one in view.dump.modules]
    problems = [problem.what for problem in view.dump.modules.problems]
    found.coverage.append(view.covered("module", problems, read=len(view.dump.modules)))
    return found


def _kernel(view: View) -> Row:
    dump, row = view.dump, Row()
    row.fields |= {
        "release": dump.release,
        "version": dump.version,
        "nodename": dump.nodename,
        "machine": dump.machine,
        "types": dump.types,
        "uptime_seconds": view.time.uptime,
    }
    row.read("taint", lambda: flag_names(int(view.prog["tainted_mask"].value_()), _TAINTS))
    row.read("panic", lambda: _panic_message(view))
    row.fields["marks"] = read_marks(view)
    return row


def _panic_message(view: View) -> str:
    """Return the message of a panic, ``""`` when no CPU has panicked."""
    if int(view.prog["panic_cpu"].counter.value_()) == _NO_CPU:
        return ""
    lines = [record.text for record in view.dump.dmesg()]
    for pattern in _PANIC:
        for line in reversed(lines):
            if match := pattern.search(line):
                return match[1]
    return "panic without a message in the log"


def _module(view: View, module: Module) -> Fact:
    row = Row()
    row.fields |= {"name": module.name, "size": module.size, "btf": module.has_btf}
    row.read("refcount", lambda: int(module.object.refcnt.counter.value_()) - 1)
    row.read("taints", lambda: flag_names(int(module.object.taints.value_()), _TAINTS))
    fields: Fields = row.fields
    return view.fact("module", fields, "struct module", int(module.object.value_()), module.name)
