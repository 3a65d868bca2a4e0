"""The objects of the RDMA stack that tasks may sleep on."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from drgn import Object

from rdmadiag.vmcore.collect.ids import RdmaId, id_table
from rdmadiag.vmcore.collect.objects import ObjectIndex
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.addresses import ip_address, sockaddr_ip
from rdmadiag.vmcore.helpers.errors import READ_ERRORS
from rdmadiag.vmcore.helpers.ib_device import for_each_ib_device, ib_device_name
from rdmadiag.vmcore.helpers.iser import for_each_iser_conn, for_each_isert_conn
from rdmadiag.vmcore.helpers.iwcm import iw_cm_id_private
from rdmadiag.vmcore.helpers.nested import nested
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

__all__ = ("known_objects",)


Labelled = Iterator[tuple[Object, str]]
"""Pointers to structures, and what each is for."""


def known_objects(view: View) -> ObjectIndex:
    """Return an index of them; what cannot be read is not in it."""
    return view.once("objects", lambda: _index(view))


def _index(view: View) -> ObjectIndex:
    index = ObjectIndex()
    for reader in _READERS:
        # Of what is not there no names are sought.
        if reader.module and view.dump.presence(reader.module) == "absent":
            continue
        with suppress(*READ_ERRORS):  # the collector of that kind says so
            for pointer, label in nested(reader.walk(view), reader.labelled):
                index.add(pointer, label)
    return index


def _id(one: RdmaId) -> Labelled:
    yield one.object, "rdma_cm id"
    if iw_id := rdma_id_iw_cm_id(one.object):
        yield iw_cm_id_private(iw_id), "iw_cm id"


def _nvme(ctrl: Object) -> Labelled:
    name = nvme_ctrl_name(ctrl.ctrl)
    yield ctrl, name
    for number, queue in enumerate(nvme_rdma_ctrl_for_each_queue(ctrl)):
        yield queue, f"queue {number} of {name}"


def _rds(conn: Object) -> Labelled:
    ends = ip_address(conn.c_laddr), ip_address(conn.c_faddr), int(conn.c_tos.value_())
    label = "RDS <{},{},{}>".format(*ends)
    yield conn, label
    for cp in rds_conn_for_each_path(conn):
        if cp != conn:
            yield cp, label


def _device(device: Object) -> Labelled:
    yield device, ib_device_name(device)


def _rpcrdma(r_xprt: Object) -> Labelled:
    label = f"RDMA transport to {sockaddr_ip(r_xprt.rx_xprt.addr)}"
    yield r_xprt, label
    if (endpoint := rpcrdma_xprt_endpoint(r_xprt)) is not None:
        yield endpoint, label


def _svcrdma(rdma: Object) -> Labelled:
    yield rdma, f"server transport of {sockaddr_ip(rdma.sc_xprt.xpt_remote)}"


def _srp(target: Object) -> Labelled:
    host = int(target.scsi_host.host_no.value_())
    destination = srp_target_destination(target)
    label = f"SRP target {f'{destination} ' if destination else ''}of host {host}"
    yield target, label
    if rport := target.rport.read_():
        yield rport, label
    for number, channel in enumerate(srp_target_for_each_channel(target)):
        yield channel, f"channel {number} of {label}"


def _srpt(channel: Object) -> Labelled:
    yield channel, f"SRP channel of {c_string(channel.sess_name)}"


def _iser(conn: Object) -> Labelled:
    yield conn, "iSER connection"


def _isert(conn: Object) -> Labelled:
    yield conn, "iSER target connection"


def _nvmet(queue: Object) -> Labelled:
    yield queue, f"queue {int(queue.idx.value_())} of the NVMe target"


class _Reader(NamedTuple):
    """
    What knows objects.

    :ivar module: The module that has them; ``""`` where the walk itself tells.
    :ivar labelled: The objects at one step of the walk.
    """

    module: str
    walk: Callable[[View], Iterable[Any]]
    labelled: Callable[[Any], Labelled]


_READERS = (
    _Reader("", id_table, _id),
    _Reader("", lambda view: for_each_nvme_rdma_ctrl(view.prog), _nvme),
    _Reader("", lambda view: for_each_rds_connection(view.prog), _rds),
    _Reader("", lambda view: for_each_ib_device(view.prog), _device),
    _Reader("rpcrdma", lambda view: for_each_rpcrdma_xprt(view.prog), _rpcrdma),
    _Reader("nfsd", lambda view: for_each_svcxprt_rdma(view.prog), _svcrdma),
    _Reader("ib_srp", lambda view: for_each_srp_target(view.prog), _srp),
    _Reader("ib_srpt", lambda view: for_each_srpt_channel(view.prog), _srpt),
    _Reader("ib_iser", lambda view: for_each_iser_conn(view.prog), _iser),
    _Reader("ib_isert", lambda view: for_each_isert_conn(view.prog), _isert),
    _Reader("nvmet_rdma", lambda view: for_each_nvmet_rdma_queue(view.prog), _nvmet),
)
