"""
How long a controller that is blocked by a pending connect can still be blocked.

Since the queues are set up one after the other and an attempt ends at the first that fails, and since the
controllers' works run side by side, it is what is left of the driver's own limit for this connect, and for
each attempt after it the reconnect delay and one such limit.
"""

from drgn import Object

from rdmadiag.facts.model import Fields
from rdmadiag.vmcore.collect.driver_limit import Remaining, connect_remaining
from rdmadiag.vmcore.collect.nvme_queues import Blocked
from rdmadiag.vmcore.collect.rows import Row
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.timekeeping import jiffies_to_seconds

__all__ = ("add_bound",)

_NAMES = (
    "attempt_seconds",
    "driver_connect_limit_seconds",
    "driver_remaining_seconds",
    "bound_seconds",
    "bound_total_seconds",
    "bound_arithmetic",
)
_CONNECTING = {"CONNECTING", "RECONNECTING"}


def add_bound(view: View, reconnect: Object | None, blocked: Blocked | None, row: Row) -> None:
    """
    Add the bound and its arithmetic.

    :param reconnect: ``struct delayed_work`` that reconnects, where it is known
    """
    row.fields |= dict.fromkeys(_NAMES)
    if row.fields["reconnect_task"] and reconnect is not None:
        # The timer of the running reconnect work fired when the attempt began.
        row.read("attempt_seconds", lambda: _since_due(view, reconnect))
    if blocked is None or blocked.iw_cm_id is None:
        return
    iw_cm_id = blocked.iw_cm_id
    remaining = row.value("driver's timer", lambda: connect_remaining(view, iw_cm_id))
    if remaining is None:
        row.fields["bound_arithmetic"] = _unknown(row.fields)
    else:
        _add_sum(row.fields, remaining)


def _attempts_left(fields: Fields) -> int | None:
    """Return how many attempts may follow the present one; ``None`` when there is no limit."""
    if fields["state"] not in _CONNECTING:
        return 0
    most, done = fields["max_reconnects"], fields["reconnects"]
    return None if most is None or done is None or most < 0 else max(most - done, 0)


def _unknown(fields: Fields) -> str:
    """Return what can be said when the driver's limit is not in the dump."""
    text = "The dump does not show how long the driver lets a connect pend: this wait ends when the driver gives up."
    left = _attempts_left(fields)
    if left == 0:
        return f"{text} No attempt follows it ({fields['state']})."
    times = "without a limit of attempts" if left is None else f"{left} times at most"
    return f"{text} Then {fields['reconnect_delay_seconds']} s and that limit again, {times}."


def _since_due(view: View, dwork: Object) -> float:
    return round(jiffies_to_seconds(view.prog, int(dwork.timer.expires.value_())), 3)


def _add_sum(fields: Fields, limit_left: Remaining) -> None:
    remaining = limit_left.seconds
    fields["driver_remaining_seconds"] = fields["bound_seconds"] = remaining
    text = f"The driver gives this connect up in {remaining:.1f} s"
    if not limit_left.own:
        text = f"The latest of the driver's connect timers fires in {remaining:.1f} s"
    left = _attempts_left(fields)
    if left == 0:
        fields["bound_total_seconds"] = remaining
        fields["bound_arithmetic"] = f"{text}; no attempt follows it ({fields['state']})."
        return
    began, delay = fields["attempt_seconds"], fields["reconnect_delay_seconds"]
    if began is None or delay is None:
        fields["bound_arithmetic"] = f"{text}."
        return
    limit = fields["driver_connect_limit_seconds"] = round(began + remaining, 1)
    text += f" (the attempt began {began:.1f} s ago, so it costs {limit:.1f} s)"
    if left is None:
        fields["bound_arithmetic"] = (
            f"{text}; then {delay} s + {limit:.1f} s again and again, without a limit of attempts."
        )
        return
    total = fields["bound_total_seconds"] = round(remaining + left * (delay + limit), 1)
    fields["bound_arithmetic"] = (
        f"{text}; {left} attempts are left: {remaining:.1f} s + {left} x ({delay} s delay + {limit:.1f} s) = {total:.0f} s."
    )
