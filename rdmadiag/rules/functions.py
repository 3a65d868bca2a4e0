"""What conditions and texts of rules may call, besides Jinja2's own filters and tests."""

import ipaddress
import itertools
import re
from collections.abc import Sequence
from typing import Any


def in_stack(functions: Any, *wanted: str) -> bool:
    """
    Tell whether *wanted* occur in *functions* in this order, gaps allowed.

    :param functions: Function names, innermost first (a fact's ``functions``).
    :param wanted: Names; ``a|b`` takes either.
    """
    if not isinstance(functions, Sequence) or isinstance(functions, str):
        return False
    rest = iter(functions)
    return all(any(f in names.split("|") for f in rest) for names in wanted)


def callee(functions: Any, names: str) -> str:
    """
    Return the function that the outermost of *names* on the stack has called.

    :param names: Names; ``a|b`` takes either.
    :returns: ``""`` when it is the innermost frame (``/proc/PID/stack`` leaves the scheduler's out), ``"?"`` when
        it is not on the stack.
    """
    if not isinstance(functions, Sequence) or isinstance(functions, str):
        return "?"
    at = max((i for i, f in enumerate(functions) if f in names.split("|")), default=-1)
    if at <= 0:
        return "" if at == 0 else "?"
    return str(functions[at - 1])


SCHEDULER = frozenset(
    (
        *("__schedule", "schedule", "__schedule_loop", "schedule_timeout", "__switch_to"),
        *("context_switch", "schedule_preempt_disabled", "preempt_schedule_common"),
    )
)
"""Functions that every sleeping stack begins with."""


def sleeps_in(functions: Any, count: int = 4) -> str:
    """Return the innermost *count* functions of a sleeping stack that are not the scheduler's, as a text."""
    if not isinstance(functions, Sequence) or isinstance(functions, str):
        return ""
    awake = list(itertools.dropwhile(SCHEDULER.__contains__, functions))
    return " <- ".join((awake or list(functions))[:count])


MEMORY = re.compile(
    r"_*(k[vz]?m?alloc|k[vz]?free|kmem_|kasan|slab|save_stack|set_track|poison|stack_)"
)
"""Functions that hand memory out, take it back, or note who did."""


def memory_user(functions: Any) -> str:
    """Return who had memory allocated or freed, from the stack of that moment; ``""`` when it is not on it."""
    if not isinstance(functions, Sequence) or isinstance(functions, str):
        return ""
    return next((f for f in functions if not MEMORY.match(f) and f not in SCHEDULER), "")


def duration(seconds: Any) -> str:
    """Render seconds as people say them: ``32 us``, ``2 ms``, ``0.24 s``, ``41.7 s``, ``12 min``, ``3.2 h``, ``2 days``."""
    if not isinstance(seconds, int | float):
        return "an unknown time"
    size = abs(seconds)
    if size == 0:  # two records in one second of a clock that has no finer steps
        return "less than 1 s"
    for limit, unit, text in (
        (0.001, 1e-6, "{:.0f} us"),
        (0.01, 1e-3, "{:.0f} ms"),
        (1, 1, "{:.2f} s"),
        (120, 1, "{:.1f} s"),
        (7200, 60, "{:.0f} min"),
        (172800, 3600, "{:.1f} h"),
    ):
        if size < limit:
            return text.format(seconds / unit)
    return f"{seconds / 86400:.1f} days"


def who(pid: Any, name: Any = None) -> str:
    """Name a task as well as it is known."""
    label = f"pid {pid}" if pid else ""
    return (f"{label} ({name})" if label and name else label or str(name or "")) or "a task"


def release_at_least(release: Any, *first: str) -> bool:
    """
    Tell whether a kernel is one of the releases that *first* begin, or a later one of the same series.

    ``4.14.35-1902.300.11.el7uek.x86_64`` is later than ``4.14.35-1844.2.1``; of another series nothing is said.
    """
    base, _, build = str(release or "").partition("-")
    numbers = [int(n) for n in re.split(r"[.-]", re.split(r"[.-][a-z]", build)[0]) if n.isdigit()]
    series = dict(f.split("-", 1) for f in first)
    return base in series and numbers >= [int(n) for n in series[base].split(".")]


def same_subnet(left: Any, right: Any, bits: int = 24) -> bool:
    """Tell whether two IPv4 addresses share their first *bits* bits."""
    try:
        network = ipaddress.ip_network(f"{left}/{bits}", strict=False)
        return ipaddress.ip_address(str(right)) in network
    except ValueError:
        return False
