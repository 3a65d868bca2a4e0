"""The objects of the RDMA stack that tasks may sleep on."""

from typing import TYPE_CHECKING

from rdmadiag.vmcore.collect.ids import id_table
from rdmadiag.vmcore.collect.objects import ObjectIndex
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.addresses import ip_address
from rdmadiag.vmcore.helpers.errors import READ_ERRORS
from rdmadiag.vmcore.helpers.ib_device import for_each_ib_device, ib_device_name
from rdmadiag.vmcore.helpers.iwcm import iw_cm_id_private
from rdmadiag.vmcore.helpers.nvme import nvme_ctrl_name
from rdmadiag.vmcore.helpers.nvme_rdma import (
    for_each_nvme_rdma_ctrl,
    nvme_rdma_ctrl_for_each_queue,
)
from rdmadiag.vmcore.helpers.rdma_cm import rdma_id_iw_cm_id
from rdmadiag.vmcore.helpers.rds import for_each_rds_connection, rds_conn_for_each_path

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("known_objects",)


def known_objects(view: View) -> ObjectIndex:
    """Return an index of them; what cannot be read is not in it."""
    return view.once("objects", lambda: _index(view))


def _index(view: View) -> ObjectIndex:
    index = ObjectIndex()
    readers: tuple[Callable[[View, ObjectIndex], None], ...] = (_ids, _nvme, _rds, _devices)
    for read in readers:
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
