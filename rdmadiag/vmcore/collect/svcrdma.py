"""Transports of NFS over RDMA on the server."""

from functools import partial

from drgn import Object

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.rows import Row, each_object
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.waits import pids_of
from rdmadiag.vmcore.helpers.addresses import sockaddr_ip, sockaddr_port
from rdmadiag.vmcore.helpers.ib_device import ib_qp_state
from rdmadiag.vmcore.helpers.rdma_cm import rdma_id_private, rdma_id_state
from rdmadiag.vmcore.helpers.svcrdma import for_each_svcxprt_rdma, svc_xprt_flag_names
from rdmadiag.vmcore.helpers.wait import waitqueue_for_each_task

KINDS = ("svcrdma.transport",)
ON_DEMAND = True
_KIND = KINDS[0]


def collect(view: View) -> Collected:
    """Return a ``svcrdma.transport`` fact for each RDMA transport of an NFS server, listeners too."""
    coverage = view.not_here(
        _KIND, "rpcrdma", "net_namespace_list", "struct svcxprt_rdma"
    ) or view.not_here(_KIND, "nfsd", "nfsd_net_id", "struct nfsd_net")
    if coverage:
        return Collected(coverage=[coverage])
    return each_object(
        view,
        _KIND,
        for_each_svcxprt_rdma(view.prog),
        partial(_fact, view),
        "the transports of nfsd",
    )


def _fact(view: View, rdma: Object) -> Fact:
    row, address, xprt = Row(), int(rdma.value_()), rdma.sc_xprt
    row.fields["address"] = hex(address)
    row.read("remote", lambda: sockaddr_ip(xprt.xpt_remote))
    row.read("port", lambda: sockaddr_port(xprt.xpt_remote))
    row.read("flags", lambda: svc_xprt_flag_names(xprt))
    row.read("sq_avail", lambda: int(rdma.sc_sq_avail.counter.value_()))
    row.read("sq_depth", lambda: int(rdma.sc_sq_depth.value_()))
    row.read("pending_recvs", lambda: int(rdma.sc_pending_recvs.value_()))
    row.read("requests", lambda: int(xprt.xpt_nr_rqsts.counter.value_()))
    row.read("waiting_to_send", lambda: pids_of(view, waitqueue_for_each_task(rdma.sc_send_wait)))
    row.read("cm_state", lambda: rdma_id_state(rdma_id_private(rdma.sc_cm_id)))
    row.fields |= {"qp_num": None, "qp_state": None}
    if row.value("qp", lambda: bool(rdma.sc_qp)):
        row.read("qp_num", lambda: int(rdma.sc_qp.qp_num.value_()))
        row.read("qp_state", lambda: ib_qp_state(rdma.sc_qp.read_()))
    row.fields["problems"] = row.problems
    remote = row.fields["remote"]
    text = f"server transport of {remote}" if remote else "listener of the NFS server"
    return view.fact(_KIND, row.fields, "struct svcxprt_rdma", address, text)
