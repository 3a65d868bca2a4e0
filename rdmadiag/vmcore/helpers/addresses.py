"""
Network addresses
-----------------

IP addresses of kernel objects as Python's ``ipaddress`` prints them, mapped IPv4 as IPv4.
"""

from ipaddress import IPv4Address, IPv6Address
from typing import Literal

from drgn import Object, PlatformFlags, Program

__all__ = ("ip_address", "sockaddr_ip", "sockaddr_port")

# include/linux/socket.h; the user interface, so they never change.
_AF_INET = 2
_AF_INET6 = 10


def _text(raw: bytes) -> str:
    if len(raw) == 4:
        return str(IPv4Address(raw))
    address = IPv6Address(raw)
    return str(address.ipv4_mapped or address)


def ip_address(value: Object) -> str:
    """
    Return an address as text.

    :param value: ``struct in6_addr`` or ``__be32``
    :raises ValueError: if it is neither 4 nor 16 bytes long.
    """
    raw = bytes(value.to_bytes_())
    if len(raw) not in {4, 16}:
        raise ValueError(f"{value.type_.type_name()} is no IP address")
    return _text(raw)


def _byte_order(prog: Program) -> Literal["little", "big"]:
    platform = prog.platform
    little = platform is None or PlatformFlags.IS_LITTLE_ENDIAN in platform.flags
    return "little" if little else "big"


def _sockaddr(value: Object) -> tuple[int, bytes]:
    raw = value.prog_.read(value.address_ or 0, 28)
    return int.from_bytes(raw[:2], _byte_order(value.prog_)), raw


def sockaddr_ip(value: Object) -> str | None:
    """
    Return the IP address in a socket address, ``None`` when it is of no IP family.

    :param value: ``struct sockaddr_storage`` or another socket address
    """
    family, raw = _sockaddr(value)
    if family == _AF_INET:
        return _text(raw[4:8])
    return _text(raw[8:24]) if family == _AF_INET6 else None


def sockaddr_port(value: Object) -> int | None:
    """
    Return the port in a socket address, ``None`` when it is of no IP family.

    :param value: ``struct sockaddr_storage`` or another socket address
    """
    family, raw = _sockaddr(value)
    return int.from_bytes(raw[2:4], "big") if family in {_AF_INET, _AF_INET6} else None
