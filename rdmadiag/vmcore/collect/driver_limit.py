"""What is left of the limit that a driver sets a pending connect."""

from typing import NamedTuple

from drgn import Object

from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.ib_device import ib_device_driver
from rdmadiag.vmcore.helpers.siw import siw_cep_remaining_seconds, siw_find_cep

__all__ = ("Remaining", "connect_remaining")

# Drivers that time a connect by a delayed work, and that work's function.
_TIMER_WORKS = {"siw": "siw_cm_work_handler"}


class Remaining(NamedTuple):
    """
    What is left.

    :ivar own: Whether the timer is that of this very connect, not the latest of all the driver's connects.
    """

    seconds: float
    own: bool


def connect_remaining(view: View, iw_cm_id: Object) -> Remaining | None:
    """
    Return how long the driver still lets a connect pend, where the dump tells.

    :param iw_cm_id: ``struct iw_cm_id *``
    """
    driver = ib_device_driver(iw_cm_id.device)
    if driver == "siw":
        try:
            cep = siw_find_cep(iw_cm_id)
            seconds = siw_cep_remaining_seconds(cep) if cep else None
            return None if seconds is None else Remaining(round(seconds, 3), own=True)
        except LookupError:
            pass  # the driver's types are not in the dump
    function = _TIMER_WORKS.get(driver)
    if function is None:
        return None
    return view.once(f"latest {function}", lambda: _latest_timer(view, function))


def _latest_timer(view: View, function: str) -> Remaining | None:
    """Return the latest of the driver's connect timers: no pending connect lasts longer."""
    due = [
        work.due_seconds
        for work in view.works.queued
        if work.due_seconds is not None and view.function_name(work.function) == function
    ]
    return Remaining(round(max(due), 3), own=False) if due else None
