"""
RDS sockets
-----------

``struct rds_sock`` of ``net/rds/rds.h``, what is queued on them, and the congestion maps of peers.
"""

from collections.abc import Iterator

from drgn import Object, Program

from rdmadiag.vmcore.helpers.addresses import ip_address
from rdmadiag.vmcore.walk import list_entries, rbtree_entries

__all__ = (
    "cong_map_ports",
    "for_each_rds_cong_map",
    "for_each_rds_sock",
    "rds_sock_bound",
    "rds_sock_connected",
    "rds_sock_for_each_inc",
)

_PORT_BITS = 65536


def for_each_rds_sock(prog: Program) -> Iterator[Object]:
    """
    Iterate over all RDS sockets.

    :return: Iterator of ``struct rds_sock *`` objects.
    """
    return list_entries("struct rds_sock", prog["rds_sock_list"], "rs_item")


def _big_endian(value: Object) -> int:
    return int.from_bytes(value.to_bytes_(), "big")


def rds_sock_bound(rs: Object) -> tuple[str, int]:
    """
    Return the address and port that a socket is bound to.

    :param rs: ``struct rds_sock *``
    """
    # Since Linux kernel commit eee2fa6ab322 ("rds: Changing IP address internal representation to struct
    # in6_addr") (in v4.19); two members of their own before that.
    try:
        return ip_address(rs.rs_bound_sin6.sin6_addr), _big_endian(rs.rs_bound_sin6.sin6_port)
    except AttributeError:
        return ip_address(rs.rs_bound_addr), _big_endian(rs.rs_bound_port)


def rds_sock_connected(rs: Object) -> tuple[str, int]:
    """
    Return the address and port that a socket sends to by default.

    :param rs: ``struct rds_sock *``
    """
    return ip_address(rs.rs_conn_addr), _big_endian(rs.rs_conn_port)


def rds_sock_for_each_inc(rs: Object) -> Iterator[Object]:
    """
    Iterate over the messages that were received and not yet read.

    :param rs: ``struct rds_sock *``
    :return: Iterator of ``struct rds_incoming *`` objects.
    """
    return list_entries("struct rds_incoming", rs.rs_recv_queue, "i_item")


def for_each_rds_cong_map(prog: Program) -> Iterator[Object]:
    """
    Iterate over the congestion maps: one for each local and each peer's address.

    :return: Iterator of ``struct rds_cong_map *`` objects.
    """
    return rbtree_entries("struct rds_cong_map", prog["rds_cong_tree"], "m_rb_node")


def cong_map_ports(cong_map: Object) -> list[int]:
    """
    Return the ports of an address that take no messages at present.

    :param cong_map: ``struct rds_cong_map *``
    """
    pages = [int(page.value_()) for page in cong_map.m_page_addrs]
    size = _PORT_BITS // 8 // len(pages)
    # The bits are little-endian on all machines: the map goes over the wire.
    word = int.from_bytes(b"".join(cong_map.prog_.read(page, size) for page in pages), "little")
    ports = []
    while word:
        ports.append((word & -word).bit_length() - 1)
        word &= word - 1
    return ports
