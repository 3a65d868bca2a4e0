"""Strings of which every line that can open a trace or report holds one: what the prefilter must find."""

from rdmadiag.logs.alike import Shapes, needle
from rdmadiag.logs.headers import CUT_HERE, literals

CONTEXT = (
    *(
        "Call Trace",
        "Call trace",
        "Workqueue: ",
        "Comm: ",
        ", comm: ",
        "RIP: 0010:",
        "RIP: e030:",
        "pc : ",
    ),
    *("llocated by task", "reed by task", "exception RIP"),
)
"""Lines that stand before or between the stacks of a report."""

FRAMES = (
    *("+0x", " at ffff", "[inline]", "kernel/sched/core.c"),
    *(" (kernel/", " (net/", " (drivers/", " (fs/", " (arch/"),
)
"""What frames hold, for stacks that have lost their header."""

STARTERS: tuple[str, ...] = tuple(dict.fromkeys((*FRAMES, *CONTEXT, CUT_HERE, *literals())))


def may_open(message: str) -> bool:
    """Tell whether the prefilter would have found *message* as the beginning of a trace."""
    if _OPENERS.of(message):
        return any(map(message.__contains__, STARTERS))
    return any(map(message.__contains__, _WEAK))


_WEAK = [x for x in STARTERS if len(needle(x)) < 4]
"""Those of which a shape keeps too little."""
_NEEDLES = [x for x in map(needle, STARTERS) if len(x) >= 4]
_OPENERS = Shapes(lambda shape: any(x in shape for x in _NEEDLES))
