"""
RDS
---

Connections and paths of ``net/rds/rds.h``.

Since Linux kernel commit 0cb43965d42a ("RDS: split out connection specific state from rds_connection to
rds_conn_path") (in v4.8), what belongs to one path is in ``struct rds_conn_path`` with names in ``cp_``.
Before that (UEK4), it is in ``struct rds_connection`` with names in ``c_``, and the connection is its own
path here.
"""

from collections.abc import Iterator
from functools import partial

from drgn import Object, Program

from rdmadiag.vmcore.helpers.enums import enum_names, flag_names
from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.walk import hlist_entries, list_entries

__all__ = (
    "RDS_FLAG_BITS",
    "for_each_rds_connection",
    "path_connect_work",
    "path_down_wait_work",
    "path_drop_reason",
    "path_flag_names",
    "path_for_each_message",
    "path_for_each_queued",
    "path_member",
    "path_reconnect_start",
    "path_reconnect_work",
    "path_shutdown_work",
    "path_state",
    "path_workqueue",
    "rds_conn_for_each_path",
    "rds_conn_hash_chain",
    "rds_conn_hash_heads",
    "rds_conn_transport",
    "rds_message_bytes",
)

# net/rds/rds.h, "Bits for c_flags": #defines. Bits 0 to 4 are the same in all kernels; 5 and 6 came with
# UEK5, 7 and higher with later ones (7 also with Linux kernel commit "net/rds: Queue RDS shutdown work once").
RDS_FLAG_BITS = {
    0: "RDS_LL_SEND_FULL",
    1: "RDS_RECONNECT_PENDING",
    2: "RDS_IN_XMIT",
    3: "RDS_RECV_REFILL",
    4: "RDS_DESTROY_PENDING",
    5: "RDS_SEND_WORK_QUEUED",
    6: "RDS_RECV_WORK_QUEUED",
    7: "RDS_SHUTDOWN_WORK_QUEUED",
    8: "RDS_SHUTDOWN_WAITING",
    9: "RDS_SHUTDOWN_WAIT1_DONE",
    10: "RDS_SHUTDOWN_PREPARE_DONE",
    11: "RDS_USER_RESET",
}
_MAX_PATHS = 8  # RDS_MPATH_WORKERS


def rds_conn_hash_heads(prog: Program) -> Iterator[Object]:
    """
    Iterate over the chains of the connection hash that are not empty.

    :return: Iterator of ``struct hlist_head`` objects.
    """
    table = prog["rds_conn_hash"]
    size = prog.type("struct hlist_head").size or 8
    raw = prog.read(table.address_ or 0, size * len(table))
    empty = bytes(size)
    for index in range(len(table)):
        if raw[index * size : (index + 1) * size] != empty:
            yield table[index]


def rds_conn_hash_chain(head: Object) -> Iterator[Object]:
    """
    Iterate over the connections of one chain.

    The second connection of a loopback pair (``c_passive``) is not in the hash; it comes after its first.

    :param head: ``struct hlist_head``
    :return: Iterator of ``struct rds_connection *`` objects.
    """
    for conn in hlist_entries("struct rds_connection", head, "c_hash_node"):
        yield conn
        if passive := conn.c_passive.read_():
            yield passive


def for_each_rds_connection(prog: Program) -> Iterator[Object]:
    """
    Iterate over all RDS connections, of all transports and network namespaces.

    :return: Iterator of ``struct rds_connection *`` objects.
    """
    yield from nested(rds_conn_hash_heads(prog), rds_conn_hash_chain)


def rds_conn_transport(conn: Object) -> str:
    """
    Return the name of a connection's transport: ``infiniband``, ``tcp``, ``loopback``.

    :param conn: ``struct rds_connection *``
    """
    return c_string(conn.c_trans.t_name)


def rds_conn_for_each_path(conn: Object) -> Iterator[Object]:
    """
    Iterate over a connection's paths that are in use.

    :param conn: ``struct rds_connection *``
    :return: Iterator of ``struct rds_conn_path *`` objects, or *conn* itself where there are no paths.
    :raises ValueError: if the number of paths cannot be.
    """
    try:
        paths = conn.c_path.read_()
    except AttributeError:
        yield conn
        return
    # c_npaths is 0 until the peer has told how many it can do.
    count = max(int(conn.c_npaths.value_()), 1)
    if count > _MAX_PATHS:
        raise ValueError(f"a connection with {count} paths")
    for index in range(count):
        yield paths + index


def path_member(cp: Object, name: str) -> Object:
    """
    Return a member of a path by its name without ``cp_`` or ``c_``.

    :param cp: ``struct rds_conn_path *``, or ``struct rds_connection *`` where there are no paths
    :raises AttributeError: if this kernel has no such member.
    """
    try:
        return cp.member_("cp_" + name)
    except LookupError:
        pass
    try:
        return cp.member_("c_" + name)
    except LookupError:
        raise AttributeError(f"{cp.type_.type.type_name()} has no cp_{name}") from None


def path_state(cp: Object) -> str:
    """
    Return a path's state without ``RDS_CONN_``: DOWN, CONNECTING, DISCONNECTING, UP, RESETTING or ERROR.

    :param cp: ``struct rds_conn_path *``
    :raises ValueError: if the dump's enum has no such value.
    """
    state = int(path_member(cp, "state").counter.value_())
    names = enum_names(cp.prog_, "RDS_CONN_UP")
    if state not in names:
        raise ValueError(f"no connection state {state}")
    return names[state].removeprefix("RDS_CONN_")


def path_flag_names(cp: Object) -> list[str]:
    """
    Return the names of a path's flags.

    :param cp: ``struct rds_conn_path *``
    """
    return flag_names(int(path_member(cp, "flags").value_()), RDS_FLAG_BITS)


def path_drop_reason(cp: Object) -> str | None:
    """
    Return the text of why a path was last dropped, as the kernel prints it; ``None`` where it keeps none.

    :param cp: ``struct rds_conn_path *``
    """
    prog = cp.prog_
    try:
        reason = int(path_member(cp, "drop_source").value_())
    except AttributeError:
        return None
    # The numbers differ between kernels, so only this dump's own texts and enumerators can tell.
    try:
        texts = prog["conn_drop_reasons"]
        if reason < len(texts) and (text := texts[reason].read_()):
            return c_string(text)
    except LookupError:
        pass
    try:
        return _words(enum_names(prog, "DR_IB_QP_EVENT").get(reason, f"reason {reason}"))
    except LookupError:
        return f"reason {reason}"


def _words(enumerator: str) -> str:
    name = enumerator.removeprefix("DR_").removeprefix("IB_")
    return name.lower().replace("_", " ")


def path_shutdown_work(cp: Object) -> Object:
    """
    Return the work that shuts a path down.

    :param cp: ``struct rds_conn_path *``
    :return: ``struct work_struct``
    """
    try:
        return path_member(cp, "down_w")
    except AttributeError:
        # The newest UEK has one delayed work for up and down.
        return path_member(cp, "up_or_down_w").work


def path_down_wait_work(cp: Object) -> Object | None:
    """
    Return the delayed work by which the newest UEK waits for empty rings; ``None`` in other kernels.

    :param cp: ``struct rds_conn_path *``
    :return: ``struct delayed_work``
    """
    try:
        return path_member(cp, "down_wait_w")
    except AttributeError:
        return None


def path_connect_work(cp: Object) -> Object:
    """
    Return the delayed work that connects a path.

    :param cp: ``struct rds_conn_path *``
    :return: ``struct delayed_work``
    """
    try:
        return path_member(cp, "conn_w")
    except AttributeError:
        return path_member(cp, "up_or_down_w")


def path_reconnect_work(cp: Object) -> Object | None:
    """
    Return the delayed work that ends a connect that takes too long (UEK4, UEK5); ``None`` in other kernels.

    :param cp: ``struct rds_conn_path *``
    :return: ``struct delayed_work``
    """
    try:
        return path_member(cp, "reconn_w")
    except AttributeError:
        return None


def path_reconnect_start(cp: Object) -> int | None:
    """
    Return when UEK last saw a path leave UP, in seconds since the epoch; ``None`` in other kernels.

    :param cp: ``struct rds_conn_path *``
    """
    try:
        return int(path_member(cp, "reconnect_start").value_())
    except AttributeError:
        return None


def path_workqueue(cp: Object) -> Object:
    """
    Return the workqueue of a path's works: its own in UEK, the one of all connections in mainline.

    :param cp: ``struct rds_conn_path *``
    :return: ``struct workqueue_struct *``
    """
    try:
        return path_member(cp, "wq").read_()
    except AttributeError:
        return cp.prog_["rds_wq"].read_()


def path_for_each_message(cp: Object) -> Iterator[Object]:
    """
    Iterate over the messages of a path that are not acknowledged: those to send and those sent.

    :param cp: ``struct rds_conn_path *``
    :return: Iterator of ``struct rds_message *`` objects.
    """
    yield from nested(("send_queue", "retrans"), partial(path_for_each_queued, cp))


def path_for_each_queued(cp: Object, queue: str) -> Iterator[Object]:
    """
    Iterate over the messages of one queue of a path.

    :param cp: ``struct rds_conn_path *``
    :param queue: ``send_queue`` (to send) or ``retrans`` (sent and not acknowledged).
    :return: Iterator of ``struct rds_message *`` objects.
    """
    return list_entries("struct rds_message", path_member(cp, queue), "m_conn_item")


def rds_message_bytes(message: Object) -> int:
    """
    Return how many bytes of data a message has.

    :param message: ``struct rds_message *``
    """
    return int.from_bytes(message.m_inc.i_hdr.h_len.to_bytes_(), "big")
