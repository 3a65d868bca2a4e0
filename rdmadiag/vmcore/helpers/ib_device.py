"""
RDMA devices
------------

Devices, ports and queue pairs; the state of a queue pair is in the driver's own structure.
"""

from collections.abc import Iterator

from drgn import FindObjectFlags, Object, Program, container_of

from rdmadiag.vmcore.helpers.enums import enum_names, enum_value_name
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.walk import list_entries, take_steps, xarray_entries

__all__ = (
    "driver_member",
    "for_each_ib_device",
    "ib_device_driver",
    "ib_device_name",
    "ib_port_states",
    "ib_qp_state",
)

_DEVICE_C = "drivers/infiniband/core/device.c"
_MAX_PORTS = 256

# Driver's structure around a struct ib_qp, the member that is the ib_qp, and the member with the state.
_QP_OF_DRIVER = {
    "rdma_rxe": ("struct rxe_qp", "ibqp", "attr.qp_state"),
    "siw": ("struct siw_qp", "base_qp", "attrs.state"),
    "mlx4_ib": ("struct mlx4_ib_qp", "ibqp", "state"),
    "mlx5_ib": ("struct mlx5_ib_qp", "ibqp", "state"),
    "iw_cxgb4": ("struct c4iw_qp", "ibqp", "attr.state"),
    "irdma": ("struct irdma_qp", "ibqp", "ibqp_state"),
    "bnxt_re": ("struct bnxt_re_qp", "ib_qp", "qplib_qp.state"),
    "hns_roce": ("struct hns_roce_qp", "ibqp", "state"),
    "qedr": ("struct qedr_qp", "ibqp", "state"),
}
_STATE_PREFIXES = ("IB_QPS_", "SIW_QP_STATE_", "C4IW_QP_STATE_", "QED_ROCE_QP_STATE_")


def for_each_ib_device(prog: Program) -> Iterator[Object]:
    """
    Iterate over all RDMA devices.

    :return: Iterator of ``struct ib_device *`` objects.
    """
    # Since Linux kernel commit 0df91bb67334 ("RDMA/devices: Use xarray to store the client_data") and its
    # series (in v5.1), devices are in an xarray. Before that, they are on a list.
    try:
        devices = prog.object("devices", FindObjectFlags.VARIABLE, _DEVICE_C)
    except LookupError:
        head = prog.object("device_list", FindObjectFlags.VARIABLE, _DEVICE_C)
        yield from list_entries("struct ib_device", head, "core_list")
        return
    for _, device in xarray_entries("struct ib_device *", devices.address_of_()):
        yield device


def ib_device_name(device: Object) -> str:
    """
    Return a device's name: ``mlx5_0``.

    :param device: ``struct ib_device *``
    """
    return c_string(device.name)


def ib_device_driver(device: Object) -> str:
    """
    Return the name of the module that drives a device.

    :param device: ``struct ib_device *``
    :raises LookupError: if the driver is built in and the kernel does not number its drivers.
    """
    # Since v5.2 or so the owner is in the operations.
    try:
        owner = device.ops.owner.read_()
    except AttributeError:
        owner = device.owner.read_()
    if owner:
        return c_string(owner.name)
    number = int(device.ops.driver_id.value_())
    return enum_names(device.prog_, "RDMA_DRIVER_MLX4")[number].removeprefix("RDMA_DRIVER_").lower()


def ib_port_states(device: Object) -> list[tuple[int, str, str | None]]:
    """
    Return each port's number, cached state without ``IB_PORT_``, and network interface.

    :param device: ``struct ib_device *``
    """
    count = min(int(device.phys_port_cnt.value_()), _MAX_PORTS)
    take_steps(device.prog_, count)
    ports = []
    for port in range(1, count + 1):
        data = device.port_data[port]
        netdev = data.netdev.read_()
        name = c_string(netdev.name) if netdev else None
        ports.append((port, enum_value_name(data.cache.port_state, "IB_PORT_"), name))
    return ports


def driver_member(value: Object, table: dict[str, tuple[str, str, str]]) -> Object:
    """
    Return a member of the driver's structure around an object of the core.

    :param value: ``struct ib_qp *``, ``struct ib_cq *`` ...: what has a ``device``
    :param table: Module of the driver -> its structure, the embedded object's member, the dotted member wanted.
    :raises LookupError: if the driver is not in *table* or its types are not in the dump.
    """
    type_name, embedded, path = table[ib_device_driver(value.device)]
    found = container_of(value, type_name, embedded)
    for name in path.split("."):
        found = found.member_(name)
    return found


def ib_qp_state(qp: Object) -> str:
    """
    Return the state of a queue pair that its driver keeps, without ``IB_QPS_`` (or the driver's own prefix).

    :param qp: ``struct ib_qp *``
    :raises LookupError: if the driver is not known or its types are not in the dump.
    """
    state = driver_member(qp, _QP_OF_DRIVER)
    try:
        name = enum_value_name(state, "")
    except TypeError:  # a number in the driver's structure
        number = int(state.value_())
        name = enum_names(qp.prog_, "IB_QPS_RTS").get(number, str(number))
    for prefix in _STATE_PREFIXES:
        name = name.removeprefix(prefix)
    return name
