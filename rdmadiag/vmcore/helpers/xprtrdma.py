"""
NFS over RDMA, client
---------------------

Transports of ``net/sunrpc/xprtrdma/xprt_rdma.h``.
"""

from collections.abc import Iterator

from drgn import Object, Program, TypeKind, container_of

from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.helpers.sunrpc import (
    for_each_rpc_clnt,
    rpc_clnt_for_each_xprt,
    xprt_protocol,
)

__all__ = (
    "for_each_rpcrdma_xprt",
    "rpcrdma_xprt",
    "rpcrdma_xprt_cm_id",
    "rpcrdma_xprt_connect_status",
    "rpcrdma_xprt_endpoint",
)


def for_each_rpcrdma_xprt(prog: Program) -> Iterator[Object]:
    """
    Iterate over the RDMA transports of all RPC clients, each once.

    :return: Iterator of ``struct rpcrdma_xprt *`` objects.
    """
    seen = set[int]()
    for xprt in nested(for_each_rpc_clnt(prog), rpc_clnt_for_each_xprt):
        address = int(xprt.value_())
        if address not in seen and xprt_protocol(xprt) == "rdma":
            seen.add(address)
            yield rpcrdma_xprt(xprt)


def rpcrdma_xprt(xprt: Object) -> Object:
    """
    Return the RDMA transport that an RPC transport is.

    :param xprt: ``struct rpc_xprt *``
    :return: ``struct rpcrdma_xprt *``
    """
    return container_of(xprt, "struct rpcrdma_xprt", "rx_xprt")


def rpcrdma_xprt_endpoint(r_xprt: Object) -> Object | None:
    """
    Return a transport's endpoint, ``None`` when there is none, or it is a part of the transport.

    :param r_xprt: ``struct rpcrdma_xprt *``
    :return: ``struct rpcrdma_ep *``
    """
    return (r_xprt.rx_ep.read_() or None) if _endpoint_is_apart(r_xprt) else None


def rpcrdma_xprt_connect_status(r_xprt: Object) -> int | None:
    """
    Return what became of the last attempt to connect: 1 connected, 0 under way, else an error number.

    :param r_xprt: ``struct rpcrdma_xprt *``
    :return: ``None`` between two attempts, when there is nothing that could be connected.
    """
    if not _endpoint_is_apart(r_xprt):
        return int(r_xprt.rx_ep.rep_connected.value_())
    ep = rpcrdma_xprt_endpoint(r_xprt)
    return int(ep.re_connect_status.value_()) if ep is not None else None


def _endpoint_is_apart(r_xprt: Object) -> bool:
    # Since v5.8 or so the endpoint is made anew for each attempt. Before that, it was part of the transport.
    return bool(r_xprt.rx_ep.type_.unaliased_kind() == TypeKind.POINTER)


def rpcrdma_xprt_cm_id(r_xprt: Object) -> Object | None:
    """
    Return the identifier of a transport's connection, ``None`` when there is none.

    :param r_xprt: ``struct rpcrdma_xprt *``
    :return: ``struct rdma_cm_id *``
    """
    if not _endpoint_is_apart(r_xprt):
        return r_xprt.rx_ia.ri_id.read_() or None
    ep = rpcrdma_xprt_endpoint(r_xprt)
    return (ep.re_id.read_() or None) if ep is not None else None
