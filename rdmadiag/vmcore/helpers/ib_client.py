"""
Clients of the RDMA core
------------------------

What users of the RDMA core keep for each device, of ``include/rdma/ib_verbs.h``.
"""

from collections.abc import Iterator

from drgn import Object, Program

from rdmadiag.vmcore.helpers.ib_device import for_each_ib_device
from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.walk import list_entries, xarray_entries

__all__ = ("for_each_ib_client_data", "ib_client_data")


def ib_client_data(device: Object, client: Object) -> Object | None:
    """
    Return what a client keeps for a device, ``None`` when it keeps nothing.

    :param device: ``struct ib_device *``
    :param client: ``struct ib_client``
    :return: ``void *``
    """
    # Since Linux kernel commit 0df91bb67334 ("RDMA/devices: Use xarray to store the client_data") (in v5.1),
    # it is in an xarray. Before that, it is on a list.
    try:
        number, data = int(client.client_id.value_()), device.client_data
    except AttributeError:
        for one in list_entries("struct ib_client_data", device.client_data_list, "list"):
            if one.client.value_() == client.address_:
                return one.data.read_()
        return None
    return next((kept for index, kept in xarray_entries("void *", data) if index == number), None)


def for_each_ib_client_data(prog: Program, name: str) -> Iterator[tuple[Object, Object]]:
    """
    Iterate over the devices that a client uses.

    :param name: Name of the client's ``struct ib_client``: ``srp_client``.
    :return: Iterator of (``struct ib_device *``, ``void *``)
    """
    client = prog[name]

    def of_device(device: Object) -> Iterator[tuple[Object, Object]]:
        data = ib_client_data(device, client)
        if data is not None and data:
            yield device, data

    yield from nested(for_each_ib_device(prog), of_device)
