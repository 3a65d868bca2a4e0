"""``rdmadiag shell``, and ``%rdmadiag`` inside any drgn session: the findings and the helpers at a prompt."""

import importlib
import pkgutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drgn import Program

import rdmadiag.vmcore.helpers
from rdmadiag.commands.diagnose import Clock, conclude
from rdmadiag.errors import UserError
from rdmadiag.facts.merge import merge
from rdmadiag.gather import Gatherer
from rdmadiag.report.model import Report
from rdmadiag.rules.load import load_diagnoses, rule_dirs
from rdmadiag.vmcore.corefile import read_core_file
from rdmadiag.vmcore.dump import Dump, open_dump

_OURS = "rdmadiag.dump"
"""Where a program keeps what we made of it."""


def shell(vmcore: str, rules: Sequence[Path] = (), debuginfo: Sequence[Path] = ()) -> int:
    """
    Open a drgn session on *vmcore*.

    Its globals are drgn's usual ones, all helpers of :mod:`rdmadiag.vmcore.helpers`, ``dump`` and ``report``.

    :raises UserError: If the dump cannot be read.
    """
    from drgn.cli import run_interactive

    dump = open_dump(vmcore, debuginfo)
    dump.prog.config[_OURS] = dump  # %rdmadiag must not lay its types over ours a second time
    report = examine(dump, rules)

    def names(given: dict[str, Any]) -> dict[str, Any]:
        return {**given, **helpers(), "dump": dump, "report": report}

    def banner(given: str) -> str:
        return (
            f"{given}\n>>> from rdmadiag.vmcore.helpers import *  # every module of it\n"
            f"# dump: the opened dump; report: the findings, also by %rdmadiag\n{summary(report)}"
        )

    run_interactive(dump.prog, banner_func=banner, globals_func=names)
    return 0


def examine(dump: Dump, rules: Sequence[Path] = ()) -> Report:
    """Return the report on an opened dump."""
    clock = Clock()
    collected = Gatherer(rules).read_dump(dump)
    merge(collected)
    return conclude(collected, load_diagnoses(rule_dirs(rules)), rules, clock)


def examine_program(prog: Program, rules: Sequence[Path] = ()) -> Report:
    """
    Return the report on the dump that a drgn program has open; its types and symbols are used where it has some.

    :raises UserError: If the program has no dump open.
    """
    dump = prog.config.get(_OURS)
    if not isinstance(dump, Dump):
        path = prog.core_dump_path
        if path is None:
            raise UserError("this program has no dump open")
        dump = prog.config[_OURS] = Dump(read_core_file(path), prog)
    return examine(dump, rules)


def helpers() -> dict[str, Any]:
    """Return all public helpers by name."""
    package = rdmadiag.vmcore.helpers
    found: dict[str, Any] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        found |= {name: getattr(module, name) for name in module.__all__}
    return found


def summary(report: Report) -> str:
    """Return the findings, one a line, as comments of a session."""
    lines = [f"# {f.severity}, {f.verdict}: {f.summary}" for f in report.findings]
    lines += [
        f"# could not run: {c.id}: {c.reason}"
        for c in report.checks
        if c.outcome == "could-not-run"
    ]
    return "\n".join(lines or ["# no finding"])
