"""SRP: the initiator's target ports and the target's channels."""

from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact, Fields
from rdmadiag.vmcore.collect.rows import Row, each_object, hex_or_none
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.waits import pids_of
from rdmadiag.vmcore.helpers.ib_device import ib_device_name, ib_qp_state
from rdmadiag.vmcore.helpers.srp import (
    for_each_srp_target,
    srp_rport_state,
    srp_target_destination,
    srp_target_for_each_channel,
    srp_target_state,
)
from rdmadiag.vmcore.helpers.timekeeping import seconds_until
from rdmadiag.vmcore.helpers.wait import (
    completion_for_each_task,
    completion_is_set_up,
    mutex_for_each_waiter,
)

KINDS = ("srp.target",)
_KIND = KINDS[0]


def collect(view: View) -> Collected:
    """Return a ``srp.target`` fact for each target port that the initiator is logged in to."""
    coverage = view.not_loaded(_KIND, "ib_srp") or view.not_here(
        _KIND, "ib_srp", "srp_client", "struct srp_target_port"
    )
    if coverage:
        return Collected(coverage=[coverage])
    return each_object(
        view, _KIND, for_each_srp_target(view.prog), partial(_fact, view), "the target ports"
    )


def _fact(view: View, target: Object) -> Fact:
    row, address = Row(), int(target.value_())
    row.fields["address"] = hex(address)
    row.read("device", lambda: ib_device_name(target.srp_host.srp_dev.dev))
    row.read("target", lambda: srp_target_destination(target))
    row.read("scsi_host", lambda: int(target.scsi_host.host_no.value_()))
    row.read("state", lambda: srp_target_state(target))
    row.read("qp_in_error", lambda: bool(target.qp_in_error))
    row.read("port_state", lambda: srp_rport_state(target))
    row.fields |= dict.fromkeys(("failed_reconnects", *_TIMERS, "waiters"))
    if (rport := row.value("rport", target.rport.read_)) is not None and rport:
        row.read("failed_reconnects", lambda: int(rport.failed_reconnects.value_()))
        for name, work in _TIMERS.items():
            row.read(name, partial(_due, rport, work))
        row.read("waiters", lambda: pids_of(view, mutex_for_each_waiter(rport.mutex)))
    channels = row.read("channels", lambda: _channels(view, target))
    row.fields["channel_count"] = None if channels is None else len(channels)
    row.fields["connected"] = (
        None if channels is None else sum(one["connected"] for one in channels)
    )
    row.fields["problems"] = row.problems
    text = f"SRP target {row.fields['target']} {row.fields['port_state']}"
    return view.fact(_KIND, row.fields, "struct srp_target_port", address, text)


_TIMERS = {
    "reconnect_due_seconds": "reconnect_work",
    "fail_due_seconds": "fast_io_fail_work",
    "loss_due_seconds": "dev_loss_work",
}


def _due(rport: Object, work: str) -> float | None:
    return seconds_until(rport.member_(work).timer)


def _channels(view: View, target: Object) -> list[Fields]:
    return [_channel(view, channel) for channel in srp_target_for_each_channel(target)]


def _channel(view: View, ch: Object) -> Fields:
    """Return a channel's fields; ``waiters``: who waits for its connection or for a task management answer."""
    qp = ch.qp.read_()
    waiting = list(completion_for_each_task(ch.done))
    # Made ready when a task management request is first sent; never before.
    if completion_is_set_up(ch.tsk_mgmt_done):
        waiting += completion_for_each_task(ch.tsk_mgmt_done)
    return {
        "address": hex_or_none(ch.value_()),
        "connected": bool(ch.connected),
        "request_limit": int(ch.req_lim.value_()),
        "qp_num": int(qp.qp_num.value_()) if qp else None,
        "qp_state": ib_qp_state(qp) if qp else None,
        "waiters": pids_of(view, waiting),
    }
