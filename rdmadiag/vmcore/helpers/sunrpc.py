"""
Sun RPC
-------

Clients, their transports and their calls, of ``include/linux/sunrpc/{clnt,xprt,sched}.h``.
"""

from collections.abc import Iterator

from drgn import Object, Program

from rdmadiag.vmcore.helpers.enums import flag_names
from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.helpers.net import for_each_net, net_generic
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.helpers.timekeeping import ktime_nanoseconds
from rdmadiag.vmcore.walk import list_entries

__all__ = (
    "for_each_rpc_clnt",
    "rpc_clnt_for_each_task",
    "rpc_clnt_for_each_xprt",
    "rpc_clnt_program",
    "rpc_task_procedure",
    "rpc_task_start",
    "xprt_protocol",
    "xprt_state_names",
)

# The bits of rpc_xprt.state are macros of include/linux/sunrpc/xprt.h, the same since v2.6.
_XPRT_BITS = {
    0: "LOCKED",
    1: "CONNECTED",
    2: "CONNECTING",
    3: "CLOSE_WAIT",
    4: "BOUND",
    5: "BINDING",
    6: "CLOSING",
}
# Other things were at these numbers in earlier kernels, which had no xprt_sysfs either (v5.14).
_LATER_BITS = {
    7: "OFFLINE",
    8: "REMOVE",
    9: "CONGESTED",
    10: "CWND_WAIT",
    11: "WRITE_SPACE",
    12: "SND_IS_COOKIE",
}

# Of enum rpc_display_format_t, the same since v2.6; BTF has no such type, as nothing is declared with it.
_RPC_DISPLAY_PROTO = 2


def for_each_rpc_clnt(prog: Program) -> Iterator[Object]:
    """
    Iterate over the RPC clients of all network namespaces.

    :return: Iterator of ``struct rpc_clnt *`` objects.
    """
    yield from nested(for_each_net(prog), _clients)


def _clients(net: Object) -> Iterator[Object]:
    if sunrpc := net_generic(net, "struct sunrpc_net", "sunrpc_net_id"):
        yield from list_entries("struct rpc_clnt", sunrpc.all_clients, "cl_clients")


def rpc_clnt_for_each_xprt(clnt: Object) -> Iterator[Object]:
    """
    Iterate over a client's transports. Clones of a client share them.

    :param clnt: ``struct rpc_clnt *``
    :return: Iterator of ``struct rpc_xprt *`` objects.
    """
    # Since v4.6 or so a client may have several. Before that, it had one.
    try:
        switch = clnt.cl_xpi.xpi_xpswitch.read_()
    except AttributeError:
        yield clnt.cl_xprt.read_()
        return
    if switch:
        yield from list_entries("struct rpc_xprt", switch.xps_xprt_list, "xprt_switch")


def rpc_clnt_for_each_task(clnt: Object) -> Iterator[Object]:
    """
    Iterate over a client's calls that are not done.

    :param clnt: ``struct rpc_clnt *``
    :return: Iterator of ``struct rpc_task *`` objects.
    """
    return list_entries("struct rpc_task", clnt.cl_tasks, "tk_task")


def rpc_clnt_program(clnt: Object) -> str:
    """
    Return the name of the program that a client calls, with its version: ``nfs 4``.

    :param clnt: ``struct rpc_clnt *``
    """
    return f"{c_string(clnt.cl_program.name)} {int(clnt.cl_vers.value_())}"


def rpc_task_procedure(task: Object) -> str:
    """
    Return the name of a call's procedure, ``""`` for one without a message.

    :param task: ``struct rpc_task *``
    """
    procedure = task.tk_msg.rpc_proc.read_()
    return c_string(procedure.p_name) if procedure and procedure.p_name else ""


def rpc_task_start(task: Object) -> int:
    """
    Return when a call was made, in nanoseconds of the monotonic clock.

    :param task: ``struct rpc_task *``
    """
    return ktime_nanoseconds(task.tk_start)


def xprt_protocol(xprt: Object) -> str:
    """
    Return a transport's protocol as ``/proc/mounts`` names it: ``tcp``, ``rdma``.

    :param xprt: ``struct rpc_xprt *``
    """
    return c_string(xprt.address_strings[_RPC_DISPLAY_PROTO])


def xprt_state_names(xprt: Object) -> list[str]:
    """
    Return the names of the set bits of a transport's state, without ``XPRT_``.

    :param xprt: ``struct rpc_xprt *``
    """
    later = hasattr(xprt, "xprt_sysfs")
    return flag_names(int(xprt.state.value_()), _XPRT_BITS | (_LATER_BITS if later else {}))
