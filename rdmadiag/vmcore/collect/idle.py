"""Which sleeping tasks merely wait for something to do."""

from collections.abc import Sequence
from itertools import dropwhile

__all__ = ("is_idle",)

_SCHEDULER = frozenset(
    (
        *("__schedule", "schedule", "__schedule_loop", "schedule_timeout", "schedule_hrtimeout"),
        *("schedule_hrtimeout_range", "schedule_hrtimeout_range_clock", "__switch_to"),
        *(
            "wait_woken",
            "schedule_timeout_interruptible",
            "schedule_timeout_idle",
            "kthread_worker_fn",
        ),
        *("do_wait_intr", "do_wait_intr_irq"),
    )
)
# Where a process waits until there is something to receive: a message, an event, a MAD.
_RECEIVERS = frozenset(
    (
        *("rds_recvmsg", "ucma_get_event", "ib_uverbs_event_read", "ib_uverbs_async_event_read"),
        *("ib_uverbs_comp_event_read", "ib_umad_read", "ib_ucm_event", "smc_rx_wait", "svc_recv"),
        # Threads of the iSER target: one waits for logins, one until its connection ends.
        *("isert_accept_np", "isert_get_rx_pdu"),
    )
)
# How the receivers wait, where it is not for a wait queue.
_WAITS = _SCHEDULER | {
    *("__down_common", "__down_interruptible", "down_interruptible"),
    *("do_wait_for_common", "__wait_for_common", "wait_for_common"),
    "wait_for_completion_interruptible",
}


def is_idle(state: str, functions: Sequence[str]) -> bool:
    """
    Return whether a task sleeps where it waits for something to do.

    A kernel thread does so right in its main function, and may be woken by signals or does not count as load;
    what it does, it does in functions that it calls.

    :param state: As ps prints it.
    :param functions: Its stack, innermost first.
    """
    if state not in ("S", "I"):
        return False
    if next(dropwhile(_WAITS.__contains__, functions), "") in _RECEIVERS:
        return True
    awake = list(dropwhile(_SCHEDULER.__contains__, functions))
    if not awake:
        return False
    return awake[1:2] == ["kthread"] or awake[0] == "kthread"
