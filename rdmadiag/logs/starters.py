"""Strings of which every line that can open a trace or report holds one: what the prefilter must find."""

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

FRAMES = ("+0x", " at ffff", "[inline]", "kernel/sched/core.c")
"""What frames hold, for stacks that have lost their header."""

STARTERS: tuple[str, ...] = tuple(dict.fromkeys((*FRAMES, *CONTEXT, CUT_HERE, *literals())))


def may_open(message: str) -> bool:
    """Tell whether the prefilter would have found *message* as the beginning of a trace."""
    return any(x in message for x in STARTERS)
