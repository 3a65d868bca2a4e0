"""
iSER initiator and target
-------------------------

Connections of ``drivers/infiniband/ulp/iser/iscsi_iser.h`` and ``drivers/infiniband/ulp/isert/ib_isert.h``.
"""

from collections.abc import Iterator
from functools import partial

from drgn import Object, Program, cast

from rdmadiag.vmcore.helpers.enums import enum_value_name
from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.helpers.rdma_cm import cma_device_for_each_id, for_each_cma_device
from rdmadiag.vmcore.walk import list_entries

__all__ = ("for_each_iser_conn", "for_each_isert_conn", "iser_conn_state")


def for_each_iser_conn(prog: Program) -> Iterator[Object]:
    """
    Iterate over the initiator's connections.

    :return: Iterator of ``struct iser_conn *`` objects.
    """
    return list_entries("struct iser_conn", prog["ig"].connlist, "conn_list")


def for_each_isert_conn(prog: Program) -> Iterator[Object]:
    """
    Iterate over the target's connections that still have an identifier of the RDMA CM.

    The target keeps no list of them; the identifiers know their queue pairs, and those their connections.

    :return: Iterator of ``struct isert_conn *`` objects.
    :raises ValueError: after all others, if a queue pair's connection has another one
    """
    handler = prog.symbol("isert_cma_handler").address
    ids = nested(for_each_cma_device(prog), cma_device_for_each_id)
    yield from nested(ids, partial(_isert_conn, handler))


def _isert_conn(handler: int, id_priv: Object) -> Iterator[Object]:
    qp = id_priv.id.qp.read_()
    if id_priv.id.event_handler.value_() != handler or not qp:
        return
    conn = cast("struct isert_conn *", qp.qp_context)
    # Since v4.2 or so the member is named qp; before that, conn_qp.
    own = conn.qp if conn.type_.type.has_member("qp") else conn.conn_qp
    if own != qp:
        raise ValueError(f"the queue pair at {qp.value_():#x} is not that of its connection")
    yield conn


def iser_conn_state(conn: Object) -> str:
    """
    Return a connection's state without ``ISER_CONN_``.

    :param conn: ``struct iser_conn *`` or ``struct isert_conn *``
    """
    return enum_value_name(conn.state, "ISER_CONN_")
