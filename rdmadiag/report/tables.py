"""Facts of a kind as a table: for the terminal, as JSON or as CSV."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from rdmadiag.facts.model import Fact
from rdmadiag.facts.store import value_of
from rdmadiag.report.escape import visible

Columns = dict[str, str]
"""Heading -> dotted name of the field."""

TABLES: dict[str, tuple[str, Columns]] = {
    "rds": (
        "rds.ib_connection",
        {
            "local": "laddr",
            "peer": "faddr",
            "tos": "tos",
            "state": "state",
            "flags": "flags",
            "device": "device",
            "qp": "qp_num",
            "qp state": "qp_state",
            "cm": "cm_state",
            "queued": "queued_messages",
            "bytes": "queued_bytes",
            "shutdown pid": "shutdown_task",
            "for": "shutdown_wait_seconds",
            "behind": "behind_task",
        },
    ),
    "rings": (
        "rds.ib_connection",
        {
            "local": "laddr",
            "peer": "faddr",
            "tos": "tos",
            "state": "state",
            "recv nr": "recv_ring.nr",
            "alloc": "recv_ring.alloc_ptr",
            "free": "recv_ring.free_ptr",
            "in flight": "recv_ring.in_flight",
            "send nr": "send_ring.nr",
            "send in flight": "send_ring.in_flight",
            "signaled": "signaled_sends",
            "fastreg": "fastreg_wrs",
            "fastreg in use": "fastreg_in_use",
            "cq error": "cq_error_flag",
            "corrupt": "corrupt",
        },
    ),
    "cm": (
        "rdma_cm.id",
        {
            "address": "address",
            "state": "state",
            "refs": "refcount",
            "local": "laddr",
            "remote": "raddr",
            "device": "device",
            "owner": "owner",
            "destroyed by": "destroy_task",
            "for": "destroy_wait_seconds",
        },
    ),
    "iwcm": (
        "iwcm.cm_id",
        {
            "address": "address",
            "state": "state",
            "flags": "flag_names",
            "refs": "refcount",
            "local": "laddr",
            "remote": "raddr",
            "owner": "owner",
            "destroyed by": "destroy_task",
            "set up by": "setup_task",
            "waiters": "waiters",
        },
    ),
    "nvme": (
        "nvme.rdma_controller",
        {
            "controller": "controller",
            "state": "state",
            "traddr": "traddr",
            "nqn": "nqn",
            "queues": "queue_count",
            "live": "queues_live",
            "reconnect": "reconnect_work",
            "attempts": "reconnects",
            "delete": "delete_work",
            "blocked pid": "blocked_task",
            "in": "blocked_in",
            "for": "blocked_wait_seconds",
        },
    ),
    "tasks": (
        "task",
        {
            "pid": "pid",
            "comm": "comm",
            "state": "state",
            "waits": "wait_seconds",
            "workqueue": "workqueue",
            "work": "work_function",
            "part": "subsystem",
            "stack": "functions",
        },
    ),
    "workqueues": (
        "workqueue.work",
        {
            "workqueue": "workqueue",
            "function": "function",
            "state": "state",
            "worker": "worker_pid",
            "behind": "behind",
            "due": "due_seconds",
            "flushers": "flushers",
        },
    ),
    "modules": (
        "module",
        {"name": "name", "size": "size", "refs": "refcount", "taints": "taints", "btf": "btf"},
    ),
    "devices": (
        "ib.device",
        {"name": "name", "driver": "driver", "ports": "ports", "address": "address"},
    ),
    "waits": (
        "task",
        {
            "pid": "pid",
            "comm": "comm",
            "state": "state",
            "for": "wait_seconds",
            "waits on": "waits_on.what",
            "type": "waits_on.type",
            "who acts first": "waits_on.pids",
            "deadlock": "deadlock",
        },
    ),
    "rds-sockets": (
        "rds.socket",
        {
            "local": "laddr",
            "port": "lport",
            "peer": "faddr",
            "peer port": "fport",
            "transport": "transport",
            "sending": "send_bytes",
            "of": "send_buffer",
            "received": "receive_bytes",
            "limit": "receive_buffer",
            "congested": "congested",
            "processes": "processes",
        },
    ),
    "rds-devices": (
        "rds.ib_device",
        {
            "device": "device",
            "addresses": "addresses",
            "connections": "connections",
            "max wrs": "max_wrs",
            "pools": "pools",
        },
    ),
    "rds-counters": ("rds.counter", {"set": "set", "counter": "counter", "value": "value"}),
    "rds-messages": (
        "rds.message",
        {
            "queue": "queue",
            "local": "laddr",
            "peer": "faddr",
            "sequence": "sequence",
            "bytes": "bytes",
            "from port": "sport",
            "to port": "dport",
            "socket": "socket",
        },
    ),
    "rds-congestion": (
        "rds.congestion_map",
        {"address": "addr", "congested ports": "congested_ports", "waiters": "waiters"},
    ),
    "rds-tcp": (
        "rds.tcp_connection",
        {
            "local": "laddr",
            "peer": "faddr",
            "tos": "tos",
            "state": "state",
            "flags": "flags",
            "next tx": "next_tx_seq",
            "next rx": "next_rx_seq",
            "queued": "queued_messages",
            "bytes": "queued_bytes",
            "socket": "socket_state",
        },
    ),
    "resources": (
        "rdma.resource",
        {
            "device": "device",
            "type": "type",
            "id": "id",
            "kernel": "kernel",
            "pid": "pid",
            "comm": "comm",
            "details": "details",
        },
    ),
    "nvmet": (
        "nvmet.rdma_queue",
        {
            "queue": "index",
            "host queue": "host_queue",
            "state": "state",
            "qp": "qp_num",
            "qp state": "qp_state",
            "cm": "cm_state",
            "free sends": "free_sends",
            "release": "release_work",
        },
    ),
    "kernel": (
        "kernel",
        {
            "release": "release",
            "version": "version",
            "node": "nodename",
            "uptime": "uptime_seconds",
            "panic": "panic",
            "taint": "taint",
            "types": "types",
        },
    ),
}


def render(name: str, facts: Iterable[Fact], form: str, width: int = 0) -> str:
    """
    Return a table.

    :param name: One of :data:`TABLES`.
    :param form: ``text``, ``json`` (all fields) or ``csv`` (the columns).
    :param width: Columns of the terminal; 0: as wide as the rows are.
    """
    _, columns = TABLES[name]
    rows = list(facts)
    if form == "json":
        return (
            msgspec.json.format(msgspec.json.encode([f.fields for f in rows]), indent=1).decode()
            + "\n"
        )
    cells = [[_cell(value_of(f, path)) for path in columns.values()] for f in rows]
    return _csv(list(columns), cells) if form == "csv" else _text(list(columns), cells, width)


def log_table(facts: Iterable[Fact], form: str) -> str:
    """Return what the inputs' logs say about RDMA, one line a fact."""
    rows = [f for f in facts if f.where.line is not None]
    if form == "json":
        body = [
            {"kind": f.kind, "line": f.where.line, "fields": f.fields, "text": f.text} for f in rows
        ]
        return msgspec.json.format(msgspec.json.encode(body), indent=1).decode() + "\n"
    cells = [[f.kind, str(f.where.line), f.text] for f in rows]
    return (
        _csv(["kind", "line", "text"], cells)
        if form == "csv"
        else "".join(f"{visible(c[2])}\n" for c in cells)
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, dict):
        return " ".join(str(v) for v in value.values() if v is not None)
    if isinstance(value, tuple | list):
        return ", ".join(_cell(v) for v in value)
    return str(value)


def _csv(headings: list[str], cells: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    # A cell that begins like a formula would be run by a spreadsheet.
    writer.writerows(
        [["'" + c if c[:1] in "=+-@" and not _number(c) else c for c in row] for row in cells]
    )
    return out.getvalue()


def _number(text: str) -> bool:
    return text.lstrip("+-").replace(".", "", 1).isdigit()


def _text(headings: list[str], cells: Sequence[Sequence[str]], width: int) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*headings, box=None, pad_edge=False)
    for row in cells:
        table.add_row(*(Text(visible(c)) for c in row))
    natural = max(
        80, sum(max(map(len, column)) + 2 for column in zip(headings, *cells, strict=True))
    )
    out = io.StringIO()
    Console(file=out, width=min(width or natural, natural), color_system=None).print(table)
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())
