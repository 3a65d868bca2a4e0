"""Ground truth of NFS over RDMA, SRP, iSER and the NVMe target: read with drgn and DWARF, like ``truth.py``."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from drgn import Object, Program, cast, container_of
from drgn.helpers.linux.list import list_for_each_entry
from drgn.helpers.linux.xarray import xa_for_each, xa_load

from .values import enum_name, hex_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Rows = list[dict[str, Any]]
XPRT = ("LOCKED", "CONNECTED", "CONNECTING", "", "BOUND", "BINDING", "CLOSING", "OFFLINE", "REMOVE")


def _ip4(address: Object) -> str:
    return socket.inet_ntoa(address.prog_.read(address.address_ + 4, 4))


def _per_net(prog: Program, ident: str, source: str, type_: str) -> Object:
    number = int(prog.object(ident, filename=source))
    return cast(f"{type_} *", prog["init_net"].gen.ptr[number])


# ---- NFS over RDMA ------------------------------------------------------------------------------


def _rdma_xprts(prog: Program) -> dict[int, Object]:
    found = {}
    net = _per_net(prog, "sunrpc_net_id", "net/sunrpc/sunrpc_syms.c", "struct sunrpc_net")
    for clnt in list_for_each_entry("struct rpc_clnt", net.all_clients.address_of_(), "cl_clients"):
        xprt = clnt.cl_xprt.read_()
        # RPC_DISPLAY_PROTO
        if text_of(xprt.address_strings[2]) == "rdma":
            found[int(xprt)] = xprt
    return found


def _xprt(xprt: Object) -> dict[str, Any]:
    rdma = container_of(xprt, "struct rpcrdma_xprt", "rx_xprt")
    state = int(xprt.state)
    return {
        "address": hex_of(rdma),
        "server": _ip4(xprt.addr),
        "state": hex(state),
        "state_names": [name for bit, name in enumerate(XPRT) if state >> bit & 1],
        "connect_status": int(rdma.rx_ep.re_connect_status) if rdma.rx_ep else None,
        "credits": int(rdma.rx_buf.rb_credits),
        "pending": int(xprt.pending.qlen),
        "sending": int(xprt.sending.qlen),
        "backlog": int(xprt.backlog.qlen),
        "connects": int(xprt.stat.connect_count),
        "connect_timer": bool(rdma.rx_connect_worker.timer.entry.pprev),
    }


def _rpc_tasks(prog: Program) -> Rows:
    net = _per_net(prog, "sunrpc_net_id", "net/sunrpc/sunrpc_syms.c", "struct sunrpc_net")
    clients = list_for_each_entry("struct rpc_clnt", net.all_clients.address_of_(), "cl_clients")
    return [
        _rpc_task(clnt, task)
        for clnt in clients
        for task in list_for_each_entry("struct rpc_task", clnt.cl_tasks.address_of_(), "tk_task")
    ]


def _rpc_task(clnt: Object, task: Object) -> dict[str, Any]:
    return {
        "address": hex_of(task),
        "xprt": hex_of(task.tk_xprt),
        "owner": int(task.tk_owner),
        "program": text_of(clnt.cl_program.name),
        "procedure": text_of(task.tk_msg.rpc_proc.p_name) if task.tk_msg.rpc_proc else None,
    }


def _svc_xprts(prog: Program) -> Iterator[Object]:
    net = _per_net(prog, "nfsd_net_id", "fs/nfsd/nfsctl.c", "struct nfsd_net")
    try:
        serv = net.nfsd_info.serv
    except AttributeError:
        serv = net.nfsd_serv
    if serv:
        for head in (serv.sv_permsocks, serv.sv_tempsocks):
            yield from list_for_each_entry("struct svc_xprt", head.address_of_(), "xpt_list")


def _svc(xprt: Object) -> dict[str, Any]:
    rdma = container_of(xprt, "struct svcxprt_rdma", "sc_xprt")
    flags = int(xprt.xpt_flags)
    return {
        "address": hex_of(rdma),
        "remote": _ip4(xprt.xpt_remote),
        "flags": hex(flags),
        "listener": not int(xprt.xpt_remotelen),
        "sq_avail": int(rdma.sc_sq_avail.counter),
        "sq_depth": int(rdma.sc_sq_depth),
    }


# ---- SRP ----------------------------------------------------------------------------------------


def _ib_devices(prog: Program) -> Iterator[Object]:
    devices = prog.object("devices", filename="drivers/infiniband/core/device.c")
    for _, device in xa_for_each(devices.address_of_()):
        yield cast("struct ib_device *", device)


def _srp_targets(prog: Program) -> Iterator[Object]:
    client = prog.object("srp_client", filename="drivers/infiniband/ulp/srp/ib_srp.c")
    for device in _ib_devices(prog):
        data = xa_load(device.client_data.address_of_(), int(client.client_id))
        srp = cast("struct srp_device *", data)
        if not srp:
            continue
        for host in list_for_each_entry("struct srp_host", srp.dev_list.address_of_(), "list"):
            yield from list_for_each_entry(
                "struct srp_target_port", host.target_list.address_of_(), "list"
            )


def _srp(target: Object) -> dict[str, Any]:
    return {
        "address": hex_of(target),
        "state": enum_name(target.state, "SRP_TARGET_"),
        "rport_state": enum_name(target.rport.state, "SRP_RPORT_"),
        "failed_reconnects": int(target.rport.failed_reconnects),
        "target": _ip4(target.rdma_cm.dst.ss),
        "qp_in_error": bool(target.qp_in_error),
        "channels": [
            {
                "address": hex_of(target.ch + i),
                "connected": bool(target.ch[i].connected),
                "req_lim": int(target.ch[i].req_lim),
                "qp_num": int(target.ch[i].qp.qp_num) if target.ch[i].qp else None,
            }
            for i in range(int(target.ch_count))
        ],
    }


def _srpt_channels(prog: Program) -> Iterator[Object]:
    head = prog.object("srpt_dev_list", filename="drivers/infiniband/ulp/srpt/ib_srpt.c")
    for device in list_for_each_entry("struct srpt_device", head.address_of_(), "list"):
        for port in range(int(device.device.phys_port_cnt)):
            nexuses = device.port[port].nexus_list.address_of_()
            for nexus in list_for_each_entry("struct srpt_nexus", nexuses, "entry"):
                yield from list_for_each_entry(
                    "struct srpt_rdma_ch", nexus.ch_list.address_of_(), "list"
                )


def _srpt(ch: Object) -> dict[str, Any]:
    return {
        "address": hex_of(ch),
        "state": enum_name(ch.state, "CH_"),
        "session": text_of(ch.sess_name),
        "sq_wr_avail": int(ch.sq_wr_avail.counter),
        "qp_num": int(ch.qp.qp_num),
    }


# ---- NVMe target --------------------------------------------------------------------------------


def _nvmet(queue: Object) -> dict[str, Any]:
    ctrl = queue.nvme_sq.ctrl
    return {
        "address": hex_of(queue),
        "index": int(queue.idx),
        "host_queue": int(queue.host_qid),
        "state": enum_name(queue.state, "NVMET_RDMA_Q_"),
        "sq_wr_avail": int(queue.sq_wr_avail.counter),
        "recv_queue_size": int(queue.recv_queue_size),
        "qp_num": int(queue.qp.qp_num) if queue.qp else None,
        "hostnqn": text_of(ctrl.hostnqn) if ctrl else None,
        "subsystem": text_of(ctrl.subsys.subsysnqn) if ctrl else None,
        "controller": int(ctrl.cntlid) if ctrl else None,
    }


# ---- iSER ---------------------------------------------------------------------------------------


def _iser(conn: Object) -> dict[str, Any]:
    return {
        "address": hex_of(conn),
        "state": enum_name(conn.state, "ISER_CONN_"),
        "name": text_of(conn.name),
        "qp_num": int(conn.ib_conn.qp.qp_num) if conn.ib_conn.qp else None,
    }


def read(prog: Program, modules: list[str]) -> dict[str, Rows]:
    """What there is of each of these in a dump."""
    found: dict[str, Rows] = {}
    if "rpcrdma" in modules:
        found["xprts"] = [_xprt(x) for x in _rdma_xprts(prog).values()]
        found["rpc_tasks"] = _rpc_tasks(prog)
    if "rpcrdma" in modules and "nfsd" in modules:
        found["svc_xprts"] = [
            _svc(x) for x in _svc_xprts(prog) if text_of(x.xpt_class.xcl_name) == "rdma"
        ]
    if "ib_srp" in modules:
        found["srp_targets"] = [_srp(t) for t in _srp_targets(prog)]
    if "ib_srpt" in modules:
        found["srpt_channels"] = [_srpt(c) for c in _srpt_channels(prog)]
    if "nvmet_rdma" in modules:
        head = prog.object("nvmet_rdma_queue_list", filename="drivers/nvme/target/rdma.c")
        found["nvmet_queues"] = [
            _nvmet(q)
            for q in list_for_each_entry(
                "struct nvmet_rdma_queue", head.address_of_(), "queue_list"
            )
        ]
    if "ib_iser" in modules:
        conns = prog["ig"].connlist.address_of_()
        found["iser_conns"] = [
            _iser(c) for c in list_for_each_entry("struct iser_conn", conns, "conn_list")
        ]
    return found


def counts(found: dict[str, Rows]) -> dict[str, int]:
    """How many there are of each, for ``reached``."""
    channels = [c for t in found.get("srp_targets", ()) for c in t["channels"]]
    return {
        "xprt_rdma": len(found.get("xprts", ())),
        "xprt_connected": sum("CONNECTED" in x["state_names"] for x in found.get("xprts", ())),
        "xprt_waiting": sum(x["pending"] + x["sending"] for x in found.get("xprts", ())),
        "rpc_tasks": len(found.get("rpc_tasks", ())),
        "svc_rdma": sum(not x["listener"] for x in found.get("svc_xprts", ())),
        "srp_channels": len(channels),
        "srp_connected": sum(c["connected"] for c in channels),
        "srpt_channels": len(found.get("srpt_channels", ())),
        "srpt_live": sum(c["state"] == "LIVE" for c in found.get("srpt_channels", ())),
        "nvmet_queues": len(found.get("nvmet_queues", ())),
        "nvmet_live": sum(q["state"] == "LIVE" for q in found.get("nvmet_queues", ())),
        "nvmet_disconnecting": sum(
            q["state"] == "DISCONNECTING" for q in found.get("nvmet_queues", ())
        ),
        "iser_conns": len(found.get("iser_conns", ())),
    }
