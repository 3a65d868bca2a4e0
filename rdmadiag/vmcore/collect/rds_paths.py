"""The paths of all RDS connections; what is broken in one costs that one and a problem."""

from collections.abc import Iterator
from typing import NamedTuple

from drgn import Object

from rdmadiag.vmcore.collect.rows import until_broken
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.damage import object_damage
from rdmadiag.vmcore.helpers.rds import (
    for_each_rds_connection,
    rds_conn_for_each_path,
    rds_conn_transport,
)

__all__ = ("Path", "rds_paths")


class Path(NamedTuple):
    """
    A path.

    :ivar conn: ``struct rds_connection *``
    :ivar path: ``struct rds_conn_path *``, or the connection where there are no paths
    """

    conn: Object
    path: Object


def rds_paths(view: View, problems: list[str], transport: str = "") -> Iterator[Path]:
    """
    Iterate over the paths of all connections.

    :param transport: Only those over this one: ``infiniband``, ``tcp``.
    """
    conns = for_each_rds_connection(view.prog)
    for conn in until_broken(conns, problems, "a chain of the connection hash is broken"):
        what = f"the connection at {conn.value_():#x} cannot be read"
        yield from until_broken(_paths(conn, transport), problems, what)


def _paths(conn: Object, transport: str) -> Iterator[Path]:
    if damage := object_damage(conn):
        raise ValueError(damage)
    if transport in ("", rds_conn_transport(conn)):
        for cp in rds_conn_for_each_path(conn):
            yield Path(conn, cp)
