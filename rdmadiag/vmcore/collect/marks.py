"""Marks: what of a kernel tells whether it has a certain fix."""

from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.errors import READ_ERRORS
from rdmadiag.vmcore.helpers.workqueue import workqueue_flag_names

__all__ = ("read_marks",)

_MAX_TEXT = 64 << 20


def read_marks(view: View) -> dict[str, bool]:
    """
    Look up the marks that the fixes ask for.

    A mark that the dump cannot decide (the module is not loaded, or has no types) is left out.
    """
    readers = {
        "member": _member,
        "no_member": lambda view, name: _not(_member(view, name)),
        "enumerator": _enumerator,
        "symbol": _symbol,
        "wq_flag": _wq_flag,
        "string": _string,
    }
    found: dict[str, bool] = {}
    for mark in view.marks:
        kind, _, name = mark.partition(":")
        try:
            seen = readers[kind](view, name)
        except READ_ERRORS:
            continue
        if seen is not None:
            found[mark] = seen
    return found


def _not(seen: bool | None) -> bool | None:
    return None if seen is None else not seen


def _member(view: View, name: str) -> bool | None:
    """Tell whether ``struct x`` of ``struct x.member`` has the member."""
    type_name, _, member = name.rpartition(".")
    return bool(view.prog.type(type_name).has_member(member))


def _enumerator(view: View, name: str) -> bool | None:
    """Tell whether there is an enumerator; where there is none it may be that of a module without types."""
    view.prog.constant(name)
    return True


def _symbol(view: View, name: str) -> bool | None:
    """Tell whether there is a symbol ``NAME`` or ``MODULE:NAME``; only the latter can be known to be missing."""
    module, _, symbol = name.rpartition(":")
    if view.dump.symbol(symbol, module or None):
        return True
    return False if module and view.dump.modules.named(module) else None


def _wq_flag(view: View, name: str) -> bool | None:
    """Tell whether a workqueue has a flag: ``QUEUE:FLAG``."""
    queue, _, flag = name.rpartition(":")
    for one in view.works.queues():
        if one.name == queue:
            return flag in workqueue_flag_names(one.object)
    return None


def _string(view: View, name: str) -> bool | None:
    """Tell whether a module's memory holds a text: ``MODULE:TEXT``."""
    module_name, _, text = name.partition(":")
    module = view.dump.modules.named(module_name)
    if not module or module.size > _MAX_TEXT:
        return None
    wanted = text.encode()
    return any(wanted in view.prog.read(start, end - start) for start, end in module.ranges)
