"""Channels of the SRP target."""

from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.rows import Row, each_object
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.waits import pids_of, work_state
from rdmadiag.vmcore.helpers.ib_device import ib_device_name, ib_qp_state
from rdmadiag.vmcore.helpers.srp import for_each_srpt_channel, srpt_channel_state
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.helpers.wait import completion_for_each_task
from rdmadiag.vmcore.walk import list_entries

KINDS = ("srpt.channel",)
ON_DEMAND = True
_KIND = KINDS[0]


def collect(view: View) -> Collected:
    """Return a ``srpt.channel`` fact for each channel to an initiator."""
    if coverage := view.not_here(_KIND, "ib_srpt", "srpt_dev_list", "struct srpt_rdma_ch"):
        return Collected(coverage=[coverage])
    return each_object(
        view, _KIND, for_each_srpt_channel(view.prog), partial(_fact, view), "the channels"
    )


def _fact(view: View, ch: Object) -> Fact:
    row, address = Row(), int(ch.value_())
    row.fields["address"] = hex(address)
    row.read("device", lambda: ib_device_name(ch.sport.sdev.device))
    row.read("session", lambda: c_string(ch.sess_name))
    row.read("state", lambda: srpt_channel_state(ch))
    row.read("free_sends", lambda: int(ch.sq_wr_avail.counter.value_()))
    row.read("request_limit", lambda: int(ch.req_lim.counter.value_()))
    row.read("commands_waiting", lambda: _waiting(ch))
    row.read("release_work", lambda: work_state(view, ch.release_work))
    row.read("closed_waiters", lambda: _closers(view, ch))
    row.fields |= {"qp_num": None, "qp_state": None}
    if row.value("qp", lambda: bool(ch.qp)):
        row.read("qp_num", lambda: int(ch.qp.qp_num.value_()))
        row.read("qp_state", lambda: ib_qp_state(ch.qp.read_()))
    row.fields["problems"] = row.problems
    text = f"SRP target channel of {row.fields['session']} {row.fields['state']}"
    return view.fact(_KIND, row.fields, "struct srpt_rdma_ch", address, text)


def _waiting(ch: Object) -> int:
    """Return how many requests wait until the channel is live."""
    return sum(1 for _ in list_entries("struct srpt_recv_ioctx", ch.cmd_wait_list, "wait_list"))


def _closers(view: View, ch: Object) -> list[int]:
    """Return the pids of those who wait until the channel is closed."""
    closed = ch.closed.read_()
    return pids_of(view, completion_for_each_task(closed)) if closed else []
