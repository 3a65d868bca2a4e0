"""The objects of the RDMA stack that tasks may sleep on."""

from typing import TYPE_CHECKING

from rdmadiag.vmcore.collect.ids import id_table
from rdmadiag.vmcore.collect.objects import ObjectIndex
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.addresses import ip_address, sockaddr_ip
from rdmadiag.vmcore.helpers.errors import READ_ERRORS
from rdmadiag.vmcore.helpers.ib_device import for_each_ib_device, ib_device_name
from rdmadiag.vmcore.helpers.iser import for_each_iser_conn, for_each_isert_conn
from rdmadiag.vmcore.helpers.iwcm import iw_cm_id_private
from rdmadiag.vmcore.helpers.nvme import nvme_ctrl_name
from rdmadiag.vmcore.helpers.nvme_rdma import (
    for_each_nvme_rdma_ctrl,
    nvme_rdma_ctrl_for_each_queue,
)
from rdmadiag.vmcore.helpers.nvmet_rdma import for_each_nvmet_rdma_queue
from rdmadiag.vmcore.helpers.rdma_cm import rdma_id_iw_cm_id
from rdmadiag.vmcore.helpers.rds import for_each_rds_connection, rds_conn_for_each_path
from rdmadiag.vmcore.helpers.srp import (
    for_each_srp_target,
    for_each_srpt_channel,
    srp_target_destination,
    srp_target_for_each_channel,
)
from rdmadiag.vmcore.helpers.svcrdma import for_each_svcxprt_rdma
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.helpers.xprtrdma import for_each_rpcrdma_xprt, rpcrdma_xprt_endpoint

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("known_objects",)


def known_objects(view: View) -> ObjectIndex:
    """Return an index of them; what cannot be read is not in it."""
    return view.once("objects", lambda: _index(view))


def _index(view: View) -> ObjectIndex:
    index = ObjectIndex()
    readers: dict[Callable[[View, ObjectIndex], None], str] = {
        _ids: "", _nvme: "", _rds: "", _devices: "", _rpcrdma: "rpcrdma", _svcrdma: "nfsd", _srp: "ib_srp",
        _srpt: "ib_srpt", _iser: "ib_iser", _isert: "ib_isert", _nvmet: "nvmet_rdma",
    }  # fmt: skip
    for read, module in readers.items():
        # Of what is not loaded not even the names are sought.
        if module and not view.dump.modules.named(module):
            continue
        try:
            read(view, index)
        except READ_ERRORS:
            continue  # the collector of that kind says so
    return index


def _ids(view: View, index: ObjectIndex) -> None:
    for one in id_table(view):
        index.add(one.object, "rdma_cm id")
        if iw_id := rdma_id_iw_cm_id(one.object):
            index.add(iw_cm_id_private(iw_id), "iw_cm id")


def _nvme(view: View, index: ObjectIndex) -> None:
    for ctrl in for_each_nvme_rdma_ctrl(view.prog):
        name = nvme_ctrl_name(ctrl.ctrl)
        index.add(ctrl, name)
        for number, queue in enumerate(nvme_rdma_ctrl_for_each_queue(ctrl)):
            index.add(queue, f"queue {number} of {name}")


def _rds(view: View, index: ObjectIndex) -> None:
    for conn in for_each_rds_connection(view.prog):
        ends = ip_address(conn.c_laddr), ip_address(conn.c_faddr), int(conn.c_tos.value_())
        label = "RDS <{},{},{}>".format(*ends)
        index.add(conn, label)
        for cp in rds_conn_for_each_path(conn):
            if cp != conn:
                index.add(cp, label)


def _devices(view: View, index: ObjectIndex) -> None:
    for device in for_each_ib_device(view.prog):
        index.add(device, ib_device_name(device))


def _rpcrdma(view: View, index: ObjectIndex) -> None:
    for r_xprt in for_each_rpcrdma_xprt(view.prog):
        label = f"RDMA transport to {sockaddr_ip(r_xprt.rx_xprt.addr)}"
        index.add(r_xprt, label)
        if (endpoint := rpcrdma_xprt_endpoint(r_xprt)) is not None:
            index.add(endpoint, label)


def _svcrdma(view: View, index: ObjectIndex) -> None:
    for rdma in for_each_svcxprt_rdma(view.prog):
        index.add(rdma, f"server transport of {sockaddr_ip(rdma.sc_xprt.xpt_remote)}")


def _srp(view: View, index: ObjectIndex) -> None:
    for target in for_each_srp_target(view.prog):
        host = int(target.scsi_host.host_no.value_())
        destination = srp_target_destination(target)
        label = f"SRP target {f'{destination} ' if destination else ''}of host {host}"
        index.add(target, label)
        if rport := target.rport.read_():
            index.add(rport, label)
        for number, channel in enumerate(srp_target_for_each_channel(target)):
            index.add(channel, f"channel {number} of {label}")


def _srpt(view: View, index: ObjectIndex) -> None:
    for channel in for_each_srpt_channel(view.prog):
        index.add(channel, f"SRP channel of {c_string(channel.sess_name)}")


def _iser(view: View, index: ObjectIndex) -> None:
    for conn in for_each_iser_conn(view.prog):
        index.add(conn, "iSER connection")


def _isert(view: View, index: ObjectIndex) -> None:
    for conn in for_each_isert_conn(view.prog):
        index.add(conn, "iSER target connection")


def _nvmet(view: View, index: ObjectIndex) -> None:
    for queue in for_each_nvmet_rdma_queue(view.prog):
        index.add(queue, f"queue {int(queue.idx.value_())} of the NVMe target")
