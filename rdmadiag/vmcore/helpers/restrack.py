"""
Resources of RDMA devices
-------------------------

Who holds which queue pair, completion queue, protection domain, memory region and identifier:
``drivers/infiniband/core/restrack.c``, what ``rdma resource show`` prints.
"""

from collections.abc import Iterator
from typing import NamedTuple

from drgn import Object, Program, container_of

from rdmadiag.vmcore.helpers.enums import enumerators
from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.walk import xarray_entries

__all__ = ("RESTRACK_OBJECTS", "Resource", "for_each_resource", "resource_owner")

RESTRACK_OBJECTS = {
    "QP": "struct ib_qp",
    "CQ": "struct ib_cq",
    "PD": "struct ib_pd",
    "MR": "struct ib_mr",
    "SRQ": "struct ib_srq",
    "CTX": "struct ib_ucontext",
    "CM_ID": "struct rdma_id_private",
    "COUNTER": "struct rdma_counter",
}
"""Type of the object that each type of entry is in, always as ``res``."""


class Resource(NamedTuple):
    """
    A resource.

    :ivar type: ``QP``, ``CQ``, ``PD`` ...
    :ivar entry: ``struct rdma_restrack_entry *``
    """

    type: str
    entry: Object

    def object(self) -> Object:
        """
        Return the object: ``struct ib_qp *``, ``struct ib_cq *`` ...

        :raises LookupError: if the type is not known or not in the dump.
        """
        return container_of(self.entry, RESTRACK_OBJECTS[self.type], "res")


def _types(prog: Program) -> dict[int, str]:
    names = enumerators(prog.type("enum rdma_restrack_type"))
    known = {value: name.removeprefix("RDMA_RESTRACK_") for value, name in names.items()}
    return {value: name for value, name in known.items() if name != "MAX"}


def for_each_resource(device: Object) -> Iterator[Resource]:
    """
    Iterate over the resources of a device.

    :param device: ``struct ib_device *``
    :raises AttributeError: on kernels that keep them in a hash (v4.16 to v5.0) or not at all.
    """
    root = device.res.read_()

    def of_type(number_and_name: tuple[int, str]) -> Iterator[Resource]:
        number, name = number_and_name
        entries = xarray_entries("struct rdma_restrack_entry *", root[number].xa.address_of_())
        return (Resource(name, entry) for _, entry in entries)

    yield from nested(_types(device.prog_).items(), of_type)


def resource_owner(entry: Object) -> tuple[str, Object | None]:
    """
    Return who holds a resource: the name of a part of the kernel, or a task.

    :param entry: ``struct rdma_restrack_entry *``
    :return: (``"nvme_rdma"``, ``None``) or (``""``, ``struct task_struct *``)
    """
    if name := entry.kern_name.read_():
        return c_string(name), None
    return "", entry.task.read_() or None
