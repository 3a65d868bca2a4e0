"""
Runs the collectors over a dump.

A collector is a module of this package with ``KINDS``, the kinds of facts it gives, and ``collect(view)``,
which returns them: a new one is found by being here.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType

import rdmadiag.vmcore.collect
from rdmadiag.facts.model import Collected, InputInfo
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.dump import Dump
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why

__all__ = ("collect_dump", "collectors")

Collector = Callable[[View], Collected]


def collectors() -> Iterator[ModuleType]:
    """Iterate over the collectors' modules, by name."""
    package = rdmadiag.vmcore.collect
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        if hasattr(module, "KINDS"):
            yield module


def collect_dump(dump: Dump, name: str = "", marks: Sequence[str] = ()) -> Collected:
    """
    Return all facts of a dump, with how far each kind was looked for.

    The kernel's log buffer is not among them: it is a log like any other.

    :param name: The dump's name in facts; default: its path.
    :param marks: Marks of fixes to look up (``member:struct rds_ib_connection.i_flags`` ...).
    """
    view = View(dump, name or str(dump.path), marks)
    found = Collected()
    for module in collectors():
        found.add(_run(view, module))
    found.inputs.append(_input_info(view))
    return found


def _run(view: View, module: ModuleType) -> Collected:
    collect: Collector = module.collect
    try:
        return collect(view)
    except READ_ERRORS as error:
        rows = [view.coverage(kind, "failed", why(error)) for kind in module.KINDS]
        return Collected(coverage=rows)


def _input_info(view: View) -> InputInfo:
    dump = view.dump
    return InputInfo(
        path=view.input,
        kind="vmcore",
        host=view.host,
        kernel_release=dump.release,
        bytes=dump.path.stat().st_size,
        types=dump.types,
        end=view.time,
        problems=list(dump.problems),
    )
