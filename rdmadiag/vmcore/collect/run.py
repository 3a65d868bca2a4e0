"""
Runs the collectors over a dump.

A collector is a module of this package with ``KINDS``, the kinds of facts it gives, and ``collect(view)``,
which returns them: a new one is found by being here. One with ``ON_DEMAND`` gives what no rule asks for, and
runs only when its kinds are asked for by name.
"""

import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterator, Sequence
from types import ModuleType

import rdmadiag.vmcore.collect
from rdmadiag.facts.model import Collected, InputInfo
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.dump import Dump
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
from rdmadiag.vmcore.walk import MAX_STEPS, limited_steps

__all__ = ("collect_dump", "collectors", "kinds_on_demand")

Collector = Callable[[View], Collected]


def collectors() -> Iterator[ModuleType]:
    """Iterate over the collectors' modules, by name."""
    package = rdmadiag.vmcore.collect
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        if hasattr(module, "KINDS"):
            yield module


def collect_dump(
    dump: Dump, name: str = "", marks: Sequence[str] = (), kinds: Collection[str] = ()
) -> Collected:
    """
    Return all facts of a dump that rules ask for, with how far each kind was looked for.

    The kernel's log buffer is not among them: it is a log like any other.

    :param name: The dump's name in facts; default: its path.
    :param marks: Marks of fixes to look up (``member:struct rds_ib_connection.i_flags`` ...).
    :param kinds: Return facts of these kinds instead.
    """
    view = View(dump, name or str(dump.path), marks)
    found = Collected()
    for module in collectors():
        if _wanted(module, kinds):
            found.add(_run(view, module))
    found.inputs.append(_input_info(view))
    return found


def kinds_on_demand() -> set[str]:
    """Return the kinds of facts that are only collected when they are asked for."""
    return {kind for one in collectors() if hasattr(one, "ON_DEMAND") for kind in one.KINDS}


def _wanted(module: ModuleType, kinds: Collection[str]) -> bool:
    if kinds:
        return bool(set(kinds) & set(module.KINDS))
    return not hasattr(module, "ON_DEMAND")


def _run(view: View, module: ModuleType) -> Collected:
    collect: Collector = module.collect
    try:
        with limited_steps(view.prog, MAX_STEPS):
            return collect(view)
    except READ_ERRORS as error:
        rows = [view.coverage(kind, "failed", why(error)) for kind in module.KINDS]
        return Collected(coverage=rows)


def _input_info(view: View) -> InputInfo:
    dump = view.dump
    return InputInfo(
        path=view.input,
        kind="live" if dump.core.is_running else "vmcore",
        host=view.host,
        kernel_release=dump.release,
        bytes=dump.core.size,
        types=dump.types,
        end=view.time,
        problems=list(dump.problems),
    )
