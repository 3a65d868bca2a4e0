"""
SRP initiator and target
------------------------

Target ports and channels of ``drivers/infiniband/ulp/srp/ib_srp.h`` and channels of
``drivers/infiniband/ulp/srpt/ib_srpt.h``.
"""

from collections.abc import Iterator

from drgn import Object, Program, cast

from rdmadiag.vmcore.helpers.addresses import sockaddr_ip, sockaddr_port
from rdmadiag.vmcore.helpers.enums import enum_value_name
from rdmadiag.vmcore.helpers.ib_client import for_each_ib_client_data
from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.walk import list_entries, take_steps

__all__ = (
    "for_each_srp_target",
    "for_each_srpt_channel",
    "srp_rport_state",
    "srp_target_destination",
    "srp_target_for_each_channel",
    "srp_target_state",
    "srpt_channel_state",
)

_MAX_CHANNELS = 65536
_MAX_PORTS = 256


def for_each_srp_target(prog: Program) -> Iterator[Object]:
    """
    Iterate over the target ports that the initiator is logged in to.

    :return: Iterator of ``struct srp_target_port *`` objects.
    """
    yield from nested(nested(for_each_ib_client_data(prog, "srp_client"), _hosts), _targets)


def _hosts(device_and_data: tuple[Object, Object]) -> Iterator[Object]:
    hosts = cast("struct srp_device *", device_and_data[1]).dev_list
    return list_entries("struct srp_host", hosts, "list")


def _targets(host: Object) -> Iterator[Object]:
    return list_entries("struct srp_target_port", host.target_list, "list")


def srp_target_state(target: Object) -> str:
    """
    Return a target port's state without ``SRP_TARGET_``.

    :param target: ``struct srp_target_port *``
    """
    return enum_value_name(target.state, "SRP_TARGET_")


def srp_rport_state(target: Object) -> str | None:
    """
    Return what the SCSI transport takes the connection for, without ``SRP_RPORT_``.

    :param target: ``struct srp_target_port *``
    :return: ``None`` before the target port is known to the SCSI transport.
    """
    rport = target.rport.read_()
    return enum_value_name(rport.state, "SRP_RPORT_") if rport else None


def srp_target_destination(target: Object) -> str | None:
    """
    Return the address and port of a target port, ``None`` when it is reached by the IB CM.

    :param target: ``struct srp_target_port *``
    """
    # Since Linux kernel commit 19f313438c77 ("IB/srp: Add RDMA/CM support") (in v4.16).
    try:
        if not target.using_rdma_cm:
            return None
    except AttributeError:
        return None
    address = target.rdma_cm.dst.ss
    return f"{sockaddr_ip(address)}:{sockaddr_port(address)}"


def srp_target_for_each_channel(target: Object) -> Iterator[Object]:
    """
    Iterate over a target port's channels.

    :param target: ``struct srp_target_port *``
    :return: Iterator of ``struct srp_rdma_ch *`` objects.
    """
    channels, count = target.ch.read_(), int(target.ch_count.value_())
    if count > _MAX_CHANNELS:
        raise ValueError(f"a target port with {count} channels")
    for index in range(count if channels else 0):
        take_steps(target.prog_)
        yield channels + index


def for_each_srpt_channel(prog: Program) -> Iterator[Object]:
    """
    Iterate over the target's channels to all initiators.

    :return: Iterator of ``struct srpt_rdma_ch *`` objects.
    """
    devices = list_entries("struct srpt_device", prog["srpt_dev_list"], "list")
    yield from nested(devices, _device_channels)


def _device_channels(sdev: Object) -> Iterator[Object]:
    # Since v4.16 or so channels are listed by port and initiator. Before that, by device.
    if sdev.type_.type.has_member("rch_list"):
        return list_entries("struct srpt_rdma_ch", sdev.rch_list, "list")
    ports = int(sdev.device.phys_port_cnt.value_())
    if ports > _MAX_PORTS:
        raise ValueError(f"a device with {ports} ports")
    return nested(nested((sdev.port[index] for index in range(ports)), _nexuses), _nexus_channels)


def _nexuses(port: Object) -> Iterator[Object]:
    return list_entries("struct srpt_nexus", port.nexus_list, "entry")


def _nexus_channels(nexus: Object) -> Iterator[Object]:
    return list_entries("struct srpt_rdma_ch", nexus.ch_list, "list")


def srpt_channel_state(ch: Object) -> str:
    """
    Return a channel's state without ``CH_``.

    :param ch: ``struct srpt_rdma_ch *``
    """
    return enum_value_name(ch.state, "CH_")
