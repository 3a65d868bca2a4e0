"""Messages that RDS holds: to send, sent and not acknowledged, received and not read."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from drgn import Object

from rdmadiag.facts.model import Collected, Fact, Fields
from rdmadiag.vmcore.collect.rds_paths import rds_paths
from rdmadiag.vmcore.collect.rows import hex_or_none, isolated, until_broken
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.addresses import ip_address
from rdmadiag.vmcore.helpers.rds import path_for_each_queued
from rdmadiag.vmcore.helpers.rds_sock import (
    for_each_rds_sock,
    rds_sock_for_each_inc,
)

KINDS = ("rds.message",)
ON_DEMAND = True
_KIND = KINDS[0]


class Message(NamedTuple):
    """
    A message.

    :ivar object: ``struct rds_message *``, or ``struct rds_incoming *`` for one that was received.
    :ivar inc: ``struct rds_incoming``
    """

    queue: str
    object: Object
    inc: Object
    fields: Fields


def collect(view: View) -> Collected:
    """Return an ``rds.message`` fact for each message."""
    if coverage := view.not_here(_KIND, "rds", "rds_conn_hash", "struct rds_message"):
        return Collected(coverage=[coverage])
    problems: list[str] = []
    messages = [*_sent(view, problems), *_received(view, problems)]
    facts = isolated(
        messages, partial(_fact, view), problems, lambda one: f"{one.object.value_():#x}"
    )
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts)])


def _sent(view: View, problems: list[str]) -> Iterator[Message]:
    for path in rds_paths(view, problems):
        for queue in ("send_queue", "retrans"):
            what = f"the {queue} of the path at {path.path.value_():#x}"
            yield from until_broken(_queued(path.path, queue), problems, what)


def _queued(cp: Object, queue: str) -> Iterator[Message]:
    for one in path_for_each_queued(cp, queue):
        yield Message(queue, one, one.m_inc, {"socket": hex_or_none(one.m_rs.value_())})


def _received(view: View, problems: list[str]) -> Iterator[Message]:
    sockets = for_each_rds_sock(view.prog)
    for rs in until_broken(sockets, problems, "the sockets"):
        what = f"the receive queue of the socket at {rs.value_():#x}"
        for inc in until_broken(rds_sock_for_each_inc(rs), problems, what):
            yield Message("receive_queue", inc, inc, {"socket": hex(rs.value_())})


def _fact(view: View, one: Message) -> Fact:
    header, conn = one.inc.i_hdr, one.inc.i_conn
    numbers = {
        name: int.from_bytes(header.member_(f"h_{name}").to_bytes_(), "big")
        for name in ("sequence", "len", "sport", "dport")
    }
    if one.queue != "receive_queue":
        conn = _conn_of(one.object)
    ends = (ip_address(conn.c_laddr), ip_address(conn.c_faddr)) if conn else (None, None)
    fields = {
        "queue": one.queue,
        "laddr": ends[0],
        "faddr": ends[1],
        "sequence": numbers["sequence"],
        "bytes": numbers["len"],
        "sport": numbers["sport"],
        "dport": numbers["dport"],
        "address": hex(one.object.value_()),
        **one.fields,
        "problems": [],
    }
    text = f"RDS message {numbers['sequence']} of {numbers['len']} bytes in a {one.queue}"
    return view.fact(_KIND, fields, one.object.type_.type.type_name(), one.object.value_(), text)


def _conn_of(message: Object) -> Object | None:
    """
    Return the connection that a message is to be sent on.

    :param message: ``struct rds_message *``
    """
    return message.m_inc.i_conn.read_() or None
