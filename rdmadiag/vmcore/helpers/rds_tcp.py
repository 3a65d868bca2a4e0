"""
RDS over TCP
------------

``struct rds_tcp_connection`` of ``net/rds/tcp.h``.
"""

from drgn import Object, cast

from rdmadiag.vmcore.helpers.enums import enum_names
from rdmadiag.vmcore.helpers.rds import path_member

__all__ = ("path_tcp_connection", "tcp_sock_state")


def path_tcp_connection(cp: Object) -> Object:
    """
    Return the TCP part of a path.

    :param cp: ``struct rds_conn_path *``
    :return: ``struct rds_tcp_connection *``
    """
    return cast("struct rds_tcp_connection *", path_member(cp, "transport_data").read_())


def tcp_sock_state(sk: Object) -> str:
    """
    Return a TCP socket's state without ``TCP_``.

    :param sk: ``struct sock *``
    """
    number = int(sk.member_("__sk_common").skc_state.value_())
    return enum_names(sk.prog_, "TCP_ESTABLISHED").get(number, str(number)).removeprefix("TCP_")
