"""
RDMA CM
-------

Connection identifiers of ``drivers/infiniband/core/cma.c``.
"""

from collections.abc import Iterator

from drgn import FindObjectFlags, Object, Program, container_of

from rdmadiag.vmcore.helpers.enums import enum_value_name
from rdmadiag.vmcore.walk import list_entries

__all__ = (
    "cma_device_for_each_id",
    "for_each_cma_device",
    "rdma_id_is_iwarp",
    "rdma_id_iw_cm_id",
    "rdma_id_private",
    "rdma_id_refcount",
    "rdma_id_state",
)


def for_each_cma_device(prog: Program) -> Iterator[Object]:
    """
    Iterate over the devices that the RDMA CM knows.

    :return: Iterator of ``struct cma_device *`` objects.
    """
    # Other files of the kernel have a dev_list too.
    head = prog.object("dev_list", FindObjectFlags.VARIABLE, "drivers/infiniband/core/cma.c")
    return list_entries("struct cma_device", head, "list")


def cma_device_for_each_id(cma_dev: Object) -> Iterator[Object]:
    """
    Iterate over the identifiers that are bound to a device.

    :param cma_dev: ``struct cma_device *``
    :return: Iterator of ``struct rdma_id_private *`` objects.
    """
    type_ = cma_dev.prog_.type("struct rdma_id_private")
    # Since v5.18 or so the member is named device_item; before that, it is named list.
    member = "device_item" if type_.has_member("device_item") else "list"
    return list_entries(type_, cma_dev.id_list, member)


def rdma_id_private(cm_id: Object) -> Object:
    """
    Return the RDMA CM's own part of an identifier.

    :param cm_id: ``struct rdma_cm_id *``
    :return: ``struct rdma_id_private *``
    """
    return container_of(cm_id, "struct rdma_id_private", "id")


def rdma_id_state(id_priv: Object) -> str:
    """
    Return an identifier's state without ``RDMA_CM_``.

    :param id_priv: ``struct rdma_id_private *``
    """
    return enum_value_name(id_priv.state, "RDMA_CM_")


def rdma_id_refcount(id_priv: Object) -> int:
    """
    Return an identifier's reference count.

    :param id_priv: ``struct rdma_id_private *``
    """
    # refcount_t since v5.8 or so, atomic_t before.
    try:
        return int(id_priv.refcount.refs.counter.value_())
    except AttributeError:
        return int(id_priv.refcount.counter.value_())


def rdma_id_is_iwarp(id_priv: Object) -> bool:
    """
    Return whether an identifier is on an iWARP device.

    :param id_priv: ``struct rdma_id_private *``
    """
    device = id_priv.id.device.read_()
    if not device:
        return False
    rnic = int(id_priv.prog_.constant("RDMA_NODE_RNIC").value_())
    return int(device.node_type.value_()) == rnic


def rdma_id_iw_cm_id(id_priv: Object) -> Object | None:
    """
    Return the iWARP CM's identifier of an identifier; ``None`` when it has none (yet, or any more).

    :param id_priv: ``struct rdma_id_private *``
    :return: ``struct iw_cm_id *``
    """
    if not rdma_id_is_iwarp(id_priv):
        return None
    return id_priv.cm_id.iw.read_() or None
