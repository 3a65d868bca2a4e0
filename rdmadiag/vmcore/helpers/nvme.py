"""
NVMe host
---------

Controllers of ``drivers/nvme/host/core.c``, whatever their transport.
"""

from collections.abc import Iterator

from drgn import Object, Program

from rdmadiag.vmcore.helpers.enums import enum_value_name
from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.walk import list_entries

__all__ = (
    "for_each_nvme_ctrl",
    "nvme_ctrl_for_each_ns",
    "nvme_ctrl_name",
    "nvme_ctrl_refcount",
    "nvme_ctrl_state",
    "nvme_ctrl_transport",
    "nvme_ns_disk_name",
)


def for_each_nvme_ctrl(prog: Program) -> Iterator[Object]:
    """
    Iterate over the controllers of all subsystems; one that has never been live is not among them.

    :return: Iterator of ``struct nvme_ctrl *`` objects.
    """
    yield from nested(
        list_entries("struct nvme_subsystem", prog["nvme_subsystems"], "entry"),
        lambda subsys: list_entries("struct nvme_ctrl", subsys.ctrls, "subsys_entry"),
    )


def nvme_ctrl_transport(ctrl: Object) -> str:
    """
    Return the name of a controller's transport: ``rdma``, ``tcp``, ``pcie``.

    :param ctrl: ``struct nvme_ctrl *``
    """
    return c_string(ctrl.ops.name)


def nvme_ctrl_name(ctrl: Object) -> str:
    """
    Return a controller's name: ``nvme3``.

    :param ctrl: ``struct nvme_ctrl``
    """
    return f"nvme{int(ctrl.instance.value_())}"


def nvme_ctrl_state(ctrl: Object) -> str:
    """
    Return a controller's state without ``NVME_CTRL_``.

    :param ctrl: ``struct nvme_ctrl``
    """
    return enum_value_name(ctrl.state, "NVME_CTRL_")


def nvme_ctrl_refcount(ctrl: Object) -> int:
    """
    Return the reference count of a controller's device.

    :param ctrl: ``struct nvme_ctrl``
    """
    kref = ctrl.device.kobj.kref
    # refcount_t since v4.11, atomic_t before.
    try:
        return int(kref.refcount.refs.counter.value_())
    except AttributeError:
        return int(kref.refcount.counter.value_())


def nvme_ctrl_for_each_ns(ctrl: Object) -> Iterator[Object]:
    """
    Iterate over a controller's namespaces.

    :param ctrl: ``struct nvme_ctrl``
    :return: Iterator of ``struct nvme_ns *`` objects.
    """
    return list_entries("struct nvme_ns", ctrl.namespaces, "list")


def nvme_ns_disk_name(ns: Object) -> str:
    """
    Return the name of the disk that a namespace is used by: the shared one where there are several paths.

    :param ns: ``struct nvme_ns *``
    """
    # Since Linux kernel commit 32acab3181c7 ("nvme: implement multipath access to nvme subsystems") (in
    # v4.15), with CONFIG_NVME_MULTIPATH.
    try:
        shared = ns.head.disk.read_()
    except AttributeError:
        shared = None
    return c_string((shared or ns.disk).disk_name)
