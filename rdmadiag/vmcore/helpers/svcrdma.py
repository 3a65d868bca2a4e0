"""
NFS over RDMA, server
---------------------

Transports of ``include/linux/sunrpc/svc_rdma.h``, as ``nfsd`` lists them.
"""

from collections.abc import Iterator

from drgn import Object, Program, container_of

from rdmadiag.vmcore.helpers.enums import enum_names, flag_names
from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.helpers.net import for_each_net, net_generic
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.walk import list_entries

__all__ = ("for_each_nfsd_xprt", "for_each_svcxprt_rdma", "svc_xprt_flag_names")

# Before v6.5 or so the flags were macros of include/linux/sunrpc/svc_xprt.h.
_FLAGS = {
    0: "BUSY",
    1: "CONN",
    2: "CLOSE",
    3: "DATA",
    4: "TEMP",
    6: "DEAD",
    7: "CHNGBUF",
    8: "DEFERRED",
    9: "OLD",
    10: "LISTENER",
    11: "CACHE_AUTH",
    12: "LOCAL",
    13: "KILL_TEMP",
    14: "CONG_CTRL",
}


def for_each_nfsd_xprt(prog: Program) -> Iterator[Object]:
    """
    Iterate over the transports of the NFS servers of all network namespaces, listeners first.

    :return: Iterator of ``struct svc_xprt *`` objects.
    """
    yield from nested(nested(for_each_net(prog), _heads), _xprts)


def _heads(net: Object) -> Iterator[Object]:
    nfsd = net_generic(net, "struct nfsd_net", "nfsd_net_id")
    if nfsd and (serv := _serv(nfsd)):
        yield from (serv.sv_permsocks, serv.sv_tempsocks)


def _xprts(head: Object) -> Iterator[Object]:
    return list_entries("struct svc_xprt", head, "xpt_list")


def _serv(nfsd: Object) -> Object:
    # Since v6.10 or so the server is in a structure of its own.
    try:
        return nfsd.nfsd_info.serv.read_()
    except AttributeError:
        return nfsd.nfsd_serv.read_()


def for_each_svcxprt_rdma(prog: Program) -> Iterator[Object]:
    """
    Iterate over the RDMA transports of the NFS servers.

    :return: Iterator of ``struct svcxprt_rdma *`` objects.
    """
    for xprt in for_each_nfsd_xprt(prog):
        if c_string(xprt.xpt_class.xcl_name) == "rdma":
            yield container_of(xprt, "struct svcxprt_rdma", "sc_xprt")


def svc_xprt_flag_names(xprt: Object) -> list[str]:
    """
    Return the names of a transport's flags without ``XPT_``: ``CLOSE``, ``LISTENER`` ...

    :param xprt: ``struct svc_xprt``
    """
    try:
        bits = {
            bit: name.removeprefix("XPT_")
            for bit, name in enum_names(xprt.prog_, "XPT_BUSY").items()
        }
    except LookupError:
        bits = _FLAGS
    return flag_names(int(xprt.xpt_flags.value_()), bits)
