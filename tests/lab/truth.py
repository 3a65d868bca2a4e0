"""Ground truth of a dump: read with drgn and the full DWARF of the debug packages.

Nothing of the tool under test is used here, and nothing is judged: this is what the memory says.
"""

from __future__ import annotations

import re
import socket
import struct
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drgn import FaultError, MissingDebugInfoError, Object, Program, cast, container_of
from drgn.helpers.linux.idr import idr_for_each
from drgn.helpers.linux.list import hlist_for_each_entry, list_for_each_entry
from drgn.helpers.linux.module import for_each_module
from drgn.helpers.linux.pid import for_each_task
from drgn.helpers.linux.printk import get_dmesg
from drgn.helpers.linux.sched import task_state_to_char

from . import ulps
from .build import own_module
from .paths import LabError
from .values import enum_name, hex_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .debian import Kernel

DEBUG_MODULES = [
    "drivers/infiniband/core/ib_core",
    "drivers/infiniband/core/rdma_cm",
    "drivers/infiniband/core/iw_cm",
    "drivers/infiniband/core/ib_cm",
    "drivers/infiniband/sw/rxe/rdma_rxe",
    "net/rds/rds",
    "net/rds/rds_rdma",
    "net/rds/rds_tcp",
    "drivers/nvme/host/nvme-core",
    "drivers/nvme/host/nvme-fabrics",
    "drivers/nvme/host/nvme-rdma",
    "drivers/nvme/target/nvmet",
    "drivers/nvme/target/nvmet-rdma",
    "drivers/infiniband/ulp/srp/ib_srp",
    "drivers/infiniband/ulp/srpt/ib_srpt",
    "drivers/infiniband/ulp/iser/ib_iser",
    "drivers/infiniband/ulp/isert/ib_isert",
    "net/sunrpc/sunrpc",
    "net/sunrpc/xprtrdma/rpcrdma",
    "fs/nfs/nfs",
    "fs/nfs/nfsv4",
    "fs/nfsd/nfsd",
]
INTERESTING = re.compile(
    r"^(rds_|iw_|ib_|__ib_|rdma_|_destroy_id|destroy_cm_id|cm_|cma_|nvme|nvmf|siw_|rxe_|blk_mq_freeze|"
    r"rpc_|xprt_|rpcrdma_|svc_rdma_|nfs4?_|srpt?_|isert?_)"
)
BARE_WAITS = re.compile(r"^(__flush_work|flush_work|blk_mq_freeze_queue_wait|__cancel_work)")
LAST_FRAMES = ("entry_SYSCALL_64", "ret_from_fork", "ret_from_fork_asm")
IWCM_FLAGS = {1: "DROP_EVENTS", 2: "CONNECT_WAIT"}
RDS_STATES = ("DOWN", "CONNECTING", "DISCONNECTING", "UP", "RESETTING", "ERROR")
QP_STATES = ("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR")
RDS_FLAGS = {
    0: "LL_SEND_FULL",
    1: "RECONNECT_PENDING",
    2: "IN_XMIT",
    3: "RECV_REFILL",
    4: "DESTROY_PENDING",
}


class _Reader:
    """One dump, opened with everything there is to know about its types."""

    def __init__(self, core: Path, kernel: Kernel, flavours: list[str]) -> None:
        self.prog = Program()
        if core.is_socket():
            self.prog.set_qemu_qmp(str(core))
        else:
            self.prog.set_core_dump(core)
        self.problems: list[str] = []
        self._load([kernel.vmlinux])
        self.modules = [m.name.string_().decode() for m in for_each_module(self.prog)]
        base = kernel.debug / "lib/modules" / kernel.release / "kernel"
        ours = {f.split("-")[0] for f in flavours} | {
            "nvme-rdma" for f in flavours if "nvme-rdma" in f
        }
        stock = [m for m in DEBUG_MODULES if Path(m).name.replace("-", "_") in self.modules]
        self._load([base / f"{m}.ko" for m in stock if Path(m).name not in ours])
        self._load([own_module(kernel, f) for f in flavours])
        self.jiffies = int(self.prog["jiffies"])
        self.hz = 250

    def _load(self, files: list[Path]) -> None:
        absent = [str(f) for f in files if not f.exists()]
        if absent:
            raise LabError(f"no debug information: {', '.join(absent)}")
        try:
            self.prog.load_debug_info([str(f) for f in files])
        except MissingDebugInfoError as error:
            self.problems.append(str(error))

    def list_of(self, type_name: str, head: Object, member: str) -> Iterator[Object]:
        return list_for_each_entry(type_name, head, member)

    def symbol(self, address: int) -> str:
        with suppress(LookupError):
            return self.prog.symbol(address).name
        return hex(address)

    def static(self, name: str, module: str, source: str) -> Object | None:
        if module not in self.modules:
            return None
        with suppress(LookupError):
            return self.prog.object(name, filename=source)
        return None


def _sockaddr(reader: _Reader, value: Object) -> str | None:
    raw = reader.prog.read(value.address_, 28)
    (family,) = struct.unpack_from("=H", raw)
    if family == socket.AF_INET:
        return socket.inet_ntoa(raw[4:8])
    if family == socket.AF_INET6:
        return socket.inet_ntop(socket.AF_INET6, raw[8:24]).removeprefix("::ffff:")
    return None


# ---- tasks and workqueues -----------------------------------------------------------------------


def _stack(reader: _Reader, task: Object) -> list[str]:
    frames = []
    with suppress(ValueError, FaultError, LookupError):
        for frame in reader.prog.stack_trace(task):
            name = frame.name or hex(frame.pc)
            frames.append(name + (" (inline)" if frame.is_inline else ""))
            if name.startswith(LAST_FRAMES):
                break
    return frames


def _tasks(reader: _Reader) -> list[dict[str, Any]]:
    rows = []
    for task in for_each_task(reader.prog):
        state = task_state_to_char(task)
        frames = _stack(reader, task) if state in "DSRI" else []
        if state != "D" and not any(INTERESTING.match(f) or BARE_WAITS.match(f) for f in frames):
            continue
        comm, pid = text_of(task.comm), int(task.pid)
        rows.append(
            {"pid": pid, "comm": comm, "state": state, "task": hex_of(task), "stack": frames}
        )
    return rows


def _barrier(reader: _Reader, work: Object) -> dict[str, Any]:
    row: dict[str, Any] = {"func": reader.symbol(int(work.func))}
    if row["func"] == "wq_barrier_func":
        task = container_of(work, "struct wq_barrier", "work").task
        row["waiter"] = {"pid": int(task.pid), "comm": text_of(task.comm)}
    return row


def _running_works(reader: _Reader) -> list[dict[str, Any]]:
    rows = []
    for _, entry in idr_for_each(reader.prog["worker_pool_idr"].address_of_()):
        pool = cast("struct worker_pool *", entry)
        for worker in reader.list_of("struct worker", pool.workers.address_of_(), "node"):
            if not worker.current_work:
                continue
            behind = reader.list_of("struct work_struct", worker.scheduled.address_of_(), "entry")
            rows.append(
                {
                    "pid": int(worker.task.pid),
                    "comm": text_of(worker.task.comm),
                    "workqueue": text_of(worker.current_pwq.wq.name),
                    "func": reader.symbol(int(worker.current_func)),
                    "work": hex_of(worker.current_work),
                    "seconds": round((reader.jiffies - int(worker.last_active)) / reader.hz, 1),
                    "behind": [_barrier(reader, work) for work in behind],
                }
            )
    return rows


def _waiting_works(reader: _Reader) -> list[dict[str, str]]:
    """Works that a workqueue has, and that cannot start."""
    rows = []
    for wq in reader.list_of(
        "struct workqueue_struct", reader.prog["workqueues"].address_of_(), "list"
    ):
        for pwq in reader.list_of("struct pool_workqueue", wq.pwqs.address_of_(), "pwqs_node"):
            works = reader.list_of("struct work_struct", pwq.inactive_works.address_of_(), "entry")
            rows += [
                {
                    "workqueue": text_of(wq.name),
                    "work": hex_of(w),
                    "func": reader.symbol(int(w.func)),
                }
                for w in works
            ]
    return rows


# ---- RDS ----------------------------------------------------------------------------------------


def _ring(ring: Object) -> dict[str, int]:
    row = {
        "nr": int(ring.w_nr),
        "alloc_ptr": int(ring.w_alloc_ptr),
        "alloc_ctr": int(ring.w_alloc_ctr),
        "free_ptr": int(ring.w_free_ptr),
        "free_ctr": int(ring.w_free_ctr.counter),
    }
    return row | {"in_flight": (row["alloc_ctr"] - row["free_ctr"]) & 0xFFFFFFFF}


def _ib_part(reader: _Reader, ic: Object) -> dict[str, Any]:
    row = {
        "ic": hex_of(ic),
        "signaled_sends": int(ic.i_signaled_sends.counter),
        "fastreg_in_use": int(ic.i_fastreg_inuse_count.counter),
        "fastreg_wrs": int(ic.i_fastreg_wrs.counter),
        "send_ring": _ring(ic.i_send_ring),
        "recv_ring": _ring(ic.i_recv_ring),
        "send_cq": hex_of(ic.i_send_cq),
        "recv_cq": hex_of(ic.i_recv_cq),
    }
    if ic.i_cm_id:
        id_priv = container_of(ic.i_cm_id, "struct rdma_id_private", "id")
        row["cm_id"] = hex_of(ic.i_cm_id)
        row["cm_state"] = enum_name(id_priv.state, "RDMA_CM_")
        if qp := ic.i_cm_id.qp:
            row["qp_num"] = int(qp.qp_num)
            row["device"] = text_of(qp.device.name)
            if "rdma_rxe" in reader.modules:
                rxe = container_of(qp, "struct rxe_qp", "ibqp")
                row["qp_state"] = QP_STATES[int(rxe.attr.qp_state)]
    return row


def _queued(path: Object) -> tuple[int, int]:
    count = size = 0
    for message in list_for_each_entry(
        "struct rds_message", path.cp_send_queue.address_of_(), "m_conn_item"
    ):
        count += 1
        size += _be32(message.m_inc.i_hdr.h_len)
    return count, size


def _be32(value: Object) -> int:
    return int.from_bytes(int(value).to_bytes(4, "little"), "big")


def _connection(reader: _Reader, conn: Object, workers: list[dict[str, Any]]) -> dict[str, Any]:
    path = conn.c_path[0].address_of_()
    state = int(path.cp_state.counter)
    flags = int(path.cp_flags)
    messages, size = _queued(path)
    row = {
        "address": hex_of(conn),
        "laddr": socket.inet_ntop(socket.AF_INET6, conn.c_laddr.to_bytes_()).removeprefix(
            "::ffff:"
        ),
        "faddr": socket.inet_ntop(socket.AF_INET6, conn.c_faddr.to_bytes_()).removeprefix(
            "::ffff:"
        ),
        "tos": int(conn.c_tos),
        "transport": text_of(conn.c_trans.t_name) if conn.c_trans else None,
        "state": RDS_STATES[state] if state < len(RDS_STATES) else state,
        "flags": hex(flags),
        "flag_names": [name for bit, name in RDS_FLAGS.items() if flags >> bit & 1],
        "queued_messages": messages,
        "queued_bytes": size,
        "down_work_pending": bool(int(path.cp_down_w.data.counter) & 1),
        "conn_work_pending": bool(int(path.cp_conn_w.work.data.counter) & 1),
        "reconnect_jiffies": int(path.cp_reconnect_jiffies),
    }
    if row["transport"] == "infiniband" and path.cp_transport_data:
        row |= _ib_part(reader, cast("struct rds_ib_connection *", path.cp_transport_data))
    at_it = [w for w in workers if w["work"] == hex_of(path.cp_down_w.address_of_())]
    row["shutdown_task"] = {k: at_it[0][k] for k in ("pid", "comm", "seconds")} if at_it else None
    return row


def _rds(reader: _Reader, workers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    table = reader.static("rds_conn_hash", "rds", "net/rds/connection.c")
    return [
        _connection(reader, conn, workers)
        for slot in range(len(table) if table is not None else 0)
        for conn in hlist_for_each_entry(
            "struct rds_connection", table[slot].address_of_(), "c_hash_node"
        )
    ]


# ---- connection managers ------------------------------------------------------------------------


def _iw(reader: _Reader, iw: Object) -> dict[str, Any]:
    priv = container_of(iw, "struct iwcm_id_private", "id")
    flags = int(priv.flags)
    waiters = []
    for entry in reader.list_of(
        "struct wait_queue_entry", priv.connect_wait.head.address_of_(), "entry"
    ):
        task = cast("struct task_struct *", entry.private)
        waiters.append({"pid": int(task.pid), "comm": text_of(task.comm)})
    return {
        "address": hex_of(priv),
        "state": enum_name(priv.state, "IW_CM_STATE_"),
        "flags": hex(flags),
        "flag_names": [name for bit, name in IWCM_FLAGS.items() if flags >> bit & 1],
        "connect_wait": bool(flags >> 2 & 1),
        "refcount": int(priv.refcount.refs.counter),
        "waiters": waiters,
        "device": text_of(iw.device.name),
        "laddr": _sockaddr(reader, iw.local_addr),
        "raddr": _sockaddr(reader, iw.remote_addr),
    }


def _owner(reader: _Reader, id_priv: Object) -> dict[str, Any]:
    handler = reader.symbol(int(id_priv.id.event_handler)) if id_priv.id.event_handler else None
    row: dict[str, Any] = {"handler": handler}
    if handler == "nvme_rdma_cm_handler":
        queue = cast("struct nvme_rdma_queue *", id_priv.id.context)
        ctrl = queue.ctrl
        row["controller"] = f"nvme{int(ctrl.ctrl.instance)}"
        row["queue"] = int(queue - ctrl.queues)
        row["traddr"] = text_of(ctrl.ctrl.opts.traddr)
        row["nqn"] = text_of(ctrl.ctrl.opts.subsysnqn)
        row["state"] = enum_name(ctrl.ctrl.state, "NVME_CTRL_")
    return row


def _is_iwarp(id_priv: Object) -> bool:
    device = id_priv.id.device
    # RDMA_CORE_CAP_IW_CM of the port's core_cap_flags
    return bool(
        device and device.port_data and int(device.port_data[1].immutable.core_cap_flags) & 0x8
    )


def _cm_part(reader: _Reader, id_priv: Object) -> dict[str, Any]:
    if not id_priv.cm_id.ib:
        return {}
    if _is_iwarp(id_priv):
        return {"iw": _iw(reader, id_priv.cm_id.iw)} if "iw_cm" in reader.modules else {}
    ib = container_of(id_priv.cm_id.ib, "struct cm_id_private", "id")
    return {
        "ib": {
            "address": hex_of(ib),
            "state": enum_name(ib.id.state, "IB_CM_"),
            "refcount": int(ib.refcount.refs.counter),
        }
    }


def _rdma_id(reader: _Reader, id_priv: Object, found_by: str) -> dict[str, Any]:
    holder = int(id_priv.handler_mutex.owner.counter) & ~7 & (2**64 - 1)
    row = {
        "address": hex_of(id_priv),
        "found_by": found_by,
        "state": enum_name(id_priv.state, "RDMA_CM_"),
        "refcount": int(id_priv.refcount.refs.counter),
        "device": text_of(id_priv.id.device.name) if id_priv.id.device else None,
        "laddr": _sockaddr(reader, id_priv.id.route.addr.src_addr),
        "raddr": _sockaddr(reader, id_priv.id.route.addr.dst_addr),
        "handler_mutex_holder": int(Object(reader.prog, "struct task_struct *", holder).pid)
        if holder
        else None,
        "owner": _owner(reader, id_priv),
    }
    return row | _cm_part(reader, id_priv)


def _rdma_ids(reader: _Reader, tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    devices = reader.static("dev_list", "rdma_cm", "drivers/infiniband/core/cma.c")
    found: dict[int, dict[str, Any]] = {}
    if devices is None:
        return []
    # before v5.18 the member is "list"
    has_item = reader.prog.type("struct rdma_id_private").has_member("device_item")
    item = "device_item" if has_item else "list"
    for device in reader.list_of("struct cma_device", devices.address_of_(), "list"):
        for id_priv in reader.list_of("struct rdma_id_private", device.id_list.address_of_(), item):
            found[int(id_priv)] = _rdma_id(reader, id_priv, "device list")
    for id_priv, how in _ids_in_hand(reader, tasks):
        if int(id_priv) not in found and int(id_priv.refcount.refs.counter) > 0:
            found[int(id_priv)] = _rdma_id(reader, id_priv, how)
    return list(found.values())


def _ids_in_hand(reader: _Reader, tasks: list[dict[str, Any]]) -> Iterator[tuple[Object, str]]:
    """Ids that a task is working on: one that is being destroyed has left its device's list."""
    for row in tasks:
        if not any(
            f.startswith(("nvme_rdma_alloc_queue", "rds_ib_conn_path_shutdown"))
            for f in row["stack"]
        ):
            continue
        for frame in reader.prog.stack_trace(
            Object(reader.prog, "struct task_struct *", int(row["task"], 16))
        ):
            id_ = None
            with suppress(LookupError, AttributeError, FaultError):
                if frame.name == "nvme_rdma_alloc_queue":
                    id_ = frame["queue"].cm_id.read_()
                elif frame.name == "rds_ib_conn_path_shutdown":
                    id_ = frame["ic"].i_cm_id.read_()
                if id_ is not None and id_:
                    yield container_of(id_, "struct rdma_id_private", "id"), f"task {row['pid']}"


# ---- NVMe ---------------------------------------------------------------------------------------


def _controllers(reader: _Reader) -> list[dict[str, Any]]:
    ctrls = reader.static("nvme_rdma_ctrl_list", "nvme_rdma", "rdma.c")
    if ctrls is None:
        return []
    rows = []
    for rdma in reader.list_of("struct nvme_rdma_ctrl", ctrls.address_of_(), "list"):
        ctrl = rdma.ctrl
        reconnect = rdma.reconnect_work
        rows.append(
            {
                "controller": f"nvme{int(ctrl.instance)}",
                "address": hex_of(rdma),
                "traddr": text_of(ctrl.opts.traddr),
                "nqn": text_of(ctrl.opts.subsysnqn),
                "state": enum_name(ctrl.state, "NVME_CTRL_"),
                "queue_count": int(ctrl.queue_count),
                "nr_reconnects": int(ctrl.nr_reconnects),
                "max_reconnects": int(ctrl.opts.max_reconnects),
                "reconnect_delay": int(ctrl.opts.reconnect_delay),
                "reconnect_timer_pending": bool(reconnect.timer.entry.pprev),
                "delete_work_pending": bool(int(ctrl.delete_work.data.counter) & 1),
                "queue_flags": [
                    hex(int(rdma.queues[i].flags)) for i in range(int(ctrl.queue_count))
                ],
            }
        )
    return rows


# ---- all of it ----------------------------------------------------------------------------------


def _in(rows: list[dict[str, Any]], *functions: str) -> int:
    """How many tasks have all these functions in their stack."""
    return sum(
        all(any(f.split(" ")[0] == want for f in r["stack"]) for want in functions) for r in rows
    )


def _counts(truth: dict[str, Any]) -> dict[str, int]:
    tasks, conns, ids, ctrls = (
        truth[k] for k in ("tasks", "rds_connections", "rdma_ids", "nvme_controllers")
    )
    iw = [i["iw"] for i in ids if "iw" in i]
    counts = {
        "d_tasks": sum(t["state"] == "D" for t in tasks),
        "rds_connections": len(conns),
        "shutdown_tasks": sum(bool(c["shutdown_task"]) for c in conns),
        "shutdown_wait": _in(tasks, "rds_ib_conn_path_shutdown"),
        "reconnect_lost": sum(
            "RECONNECT_PENDING" in c["flag_names"] and not c["conn_work_pending"] for c in conns
        ),
        "in_xmit": sum("IN_XMIT" in c["flag_names"] for c in conns),
        "recv_ring_empty": sum(
            c["state"] == "UP" and c.get("recv_ring", {}).get("in_flight") == 0 for c in conns
        ),
        "signaled_sends": sum(c.get("signaled_sends", 0) for c in conns),
        "queued": sum(c["queued_messages"] for c in conns),
        "connect_wait": sum(i["connect_wait"] for i in iw),
        "iw_ids": len(iw),
        "destroy_cm_id": _in(tasks, "destroy_cm_id"),
        "alloc_queue": _in(tasks, "nvme_rdma_alloc_queue"),
        "iwcm_flush": _in(tasks, "iw_destroy_cm_id", "__flush_workqueue"),
        "cm_destroy": _in(tasks, "cm_destroy_id"),
        "rdmacm_destroy": _in(tasks, "_destroy_id", "__wait_for_common")
        - _in(tasks, "cm_destroy_id")
        - _in(tasks, "iw_destroy_cm_id", "__wait_for_common"),
        "freeze_wait": _in(tasks, "blk_mq_freeze_queue_wait"),
        "drain": _in(tasks, "__ib_drain_sq") + _in(tasks, "__ib_drain_rq"),
        "flush_wait": _in(tasks, "__flush_work"),
        "hog": sum(w["func"] == "hog" for w in truth["running_works"]),
        "waiting_works": len(truth["waiting_works"]),
        "nvme_controllers": len(ctrls),
    }
    for state in RDS_STATES:
        counts[f"rds_{state.lower()}"] = sum(c["state"] == state for c in conns)
    for state in ("live", "connecting", "resetting", "deleting", "deleting_noio"):
        counts[f"nvme_{state}"] = sum(c["state"].lower() == state for c in ctrls)
    return counts


def read(core: Path, kernel: Kernel, flavours: list[str]) -> tuple[dict[str, Any], str]:
    """The ground truth of a core, and its kernel log.

    :param core: a dump, or the socket of a running guest's monitor
    :param flavours: modules of our own build that the guest had loaded
    """
    reader = _Reader(core, kernel, flavours)
    tasks = _tasks(reader)
    workers = _running_works(reader)
    truth: dict[str, Any] = {
        "kernel": text_of(reader.prog["init_uts_ns"].name.release),
        "read_with": "drgn, DWARF of the debug packages and of the modules built out of tree",
        "modules": sorted(reader.modules),
        "own_modules": flavours,
        "debug_info_problems": reader.problems,
        "tasks": tasks,
        "running_works": workers,
        "waiting_works": _waiting_works(reader),
        "rds_connections": _rds(reader, workers),
        "rdma_ids": _rdma_ids(reader, tasks),
        "nvme_controllers": _controllers(reader),
        **ulps.read(reader.prog, reader.modules),
    }
    truth["counts"] = _counts(truth) | ulps.counts(truth)
    return truth, get_dmesg(reader.prog).decode(errors="replace")
