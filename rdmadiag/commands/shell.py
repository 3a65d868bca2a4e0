"""``rdmadiag shell``, and ``%rdmadiag`` inside any drgn session: the findings and the helpers at a prompt."""

import importlib
import pkgutil
import sys
from code import InteractiveInterpreter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from drgn import Program, set_default_prog
from drgn.cli import default_globals, run_interactive

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


class Script(msgspec.Struct, frozen=True):
    """What to run in place of a prompt: *code* of the command line, else the file *path*, else what standard input holds."""

    code: str | None = None
    path: Path | None = None
    arguments: Sequence[str] = ()

    def read(self) -> tuple[str | bytes, str]:
        """
        Return the program and its name.

        :raises UserError: If the file cannot be read.
        """
        if self.code is not None:
            return self.code, "<string>"
        if self.path is None:
            return sys.stdin.read(), "<stdin>"
        try:
            return self.path.read_bytes(), str(self.path)
        except OSError as error:
            raise UserError(f"{self.path}: {error.strerror}") from error


def shell(
    vmcore: str,
    rules: Sequence[Path] = (),
    debuginfo: Sequence[Path] = (),
    script: Script | None = None,
) -> int:
    """
    Open a drgn session on *vmcore*, or run a script in one.

    Its globals are drgn's usual ones, all helpers of :mod:`rdmadiag.vmcore.helpers`, ``dump`` and ``report``.

    :returns: The exit status: 1 when the script ended with an exception.
    :raises UserError: If the dump or the script cannot be read.
    """
    program = script.read() if script is not None else None
    dump = open_dump(vmcore, debuginfo)
    dump.prog.config[_OURS] = dump  # %rdmadiag must not lay its types over ours a second time
    report = examine(dump, rules)

    def names(given: dict[str, Any]) -> dict[str, Any]:
        return {**given, **helpers(), "dump": dump, "report": report}

    if script is not None and program is not None:
        return _run_script(dump.prog, *program, script, names(default_globals(dump.prog)))

    run_interactive(dump.prog, banner_func=partial(_banner, report), globals_func=names)
    return 0


def _banner(report: Report, given: str) -> str:
    return (
        f"{given}\n>>> from rdmadiag.vmcore.helpers import *  # every module of it\n"
        f"# dump: the opened dump; report: the findings, also by %rdmadiag\n{summary(report)}"
    )


class _Runner(InteractiveInterpreter):
    """Runs a program as Python runs one: a traceback when it fails, and then a status that tells."""

    failed = False

    def showtraceback(self) -> None:
        """Show what went wrong."""
        self.failed = True
        super().showtraceback()

    def showsyntaxerror(self, filename: str | None = None, **more: Any) -> None:
        """Show where it is no Python."""
        self.failed = True
        super().showsyntaxerror(filename, **more)


def _run_script(
    prog: Program, text: str | bytes, name: str, script: Script, names: dict[str, Any]
) -> int:
    set_default_prog(prog)
    sys.argv = [name if script.path else "-c" if script.code is not None else "", *script.arguments]
    sys.path.insert(0, str(script.path.absolute().parent) if script.path else "")
    runner = _Runner({**names, "__name__": "__main__", "__file__": name})
    try:
        program = compile(text, name, "exec")
    except (SyntaxError, ValueError, OverflowError):
        runner.showsyntaxerror(name)
        return 1
    runner.runcode(program)
    sys.stdout.flush()
    return int(runner.failed)


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
