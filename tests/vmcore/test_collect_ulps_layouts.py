"""Collectors of the other users of RDMA on older layouts: Linux 4.1 to 4.20."""

from typing import Any

import drgn
import pytest

from rdmadiag.facts.kinds import KINDS
from rdmadiag.vmcore.collect import ipoib, iser, srp, srpt, svcrdma, xprtrdma
from rdmadiag.vmcore.collect import nvmet_queue as nvmet_queue_collector
from rdmadiag.vmcore.collect.rpc import rpc_table
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.waits import waits_on
from rdmadiag.vmcore.frames import Frame, Stack
from rdmadiag.vmcore.helpers.ipoib import ipoib_dev_outstanding
from rdmadiag.vmcore.helpers.srp import for_each_srpt_channel, srpt_channel_state
from rdmadiag.vmcore.helpers.svcrdma import svc_xprt_flag_names

from .rds_kernel import HZ, LAYOUTS, NOW, RdsKernel

AF_INET = (2).to_bytes(2, "little")
CONNECTED, CONNECTING, BOUND = 1 << 1, 1 << 2, 1 << 4
RPC_STACK = (
    "schedule",
    "rpc_wait_bit_killable",
    "__wait_on_bit",
    "out_of_line_wait_on_bit",
    "__rpc_execute",
)
DIRECT_STACK = (
    "schedule",
    "wait_for_completion_killable",
    "nfs_direct_wait",
    "nfs_file_direct_write",
)
PAGE_STACK = ("schedule", "io_schedule", "wait_on_page_bit_common", "nfs_updatepage")


class UlpKernel(RdsKernel):
    """A device, a queue pair, one network namespace."""

    def __init__(self, change: tuple[str, str] = ("", "")) -> None:
        super().__init__("rds_uek4", (LAYOUTS / "ulps_41.h").read_text().replace(*change))
        module = self.new("struct module", name="mlx4_ib")
        self.hca = self.new("struct ib_device", name="mlx4_1", owner=module, phys_port_cnt=2)
        self.list_init(self.variable("device_list", "struct list_head"), self.hca.core_list)
        self.list_init(self.hca.client_data_list)
        self.net = self.new("struct net", gen=self.new("struct net_generic", len=4))
        self.list_init(self.variable("net_namespace_list", "struct list_head"), self.net.list)
        self.list_init(self.variable("dev_list", "struct list_head"))
        self.variable("cma_wq", "struct workqueue_struct *")
        self.function("autoremove_wake_function")
        self.function("wake_bit_function")
        self.qp = self.new("struct mlx4_ib_qp", state=3)
        self.set(self.qp.ibqp.device, self.hca)
        self.set(self.qp.ibqp.qp_num, 99)
        self.stacks: dict[int, tuple[str, ...]] = {}

    def edit(self, text: str) -> str:
        """Return a layout without the structures that the users of RDMA need more of."""
        for line in (
            "struct ib_device { char name[64]; struct module *owner; u8 node_type; u8 phys_port_cnt; };",
            "struct timekeeper { u64 xtime_sec; };",
        ):
            text = text.replace(line, "")
        return text.replace(
            "struct ib_qp { struct ib_device *device; u32 qp_num; };",
            "struct ib_qp { struct ib_device *device; u32 qp_num; void *qp_context; };",
        )

    def per_net(self, ident: str, type_: str, number: int) -> drgn.Object:
        """Return a new object that a subsystem keeps for the namespace; before 4.10 numbers begin with 1."""
        self.set(self.variable(ident, "u32"), number)
        found = self.new(type_)
        self.set(self.net.gen.ptr[number - 1], found)
        return found

    def client(self, name: str, data: drgn.Object) -> None:
        """Make a client of the RDMA core that keeps *data* for the device."""
        client = self.variable(name, "struct ib_client")
        kept = self.new("struct ib_client_data", client=client, data=data)
        self.list_init(self.hca.client_data_list, kept.list)

    def address(self, member: drgn.Object, host: int, port: int) -> None:
        self.set(member, AF_INET + port.to_bytes(2, "big") + bytes((10, 0, 0, host)))

    def completions(self, *members: drgn.Object) -> None:
        for one in members:
            self.list_init(one.wait.task_list)

    def view(self, *modules: str) -> View:
        dump = self.dump(*modules)
        dump.modules.complete = True

        def stack(task: drgn.Object) -> Stack:
            names = self.stacks.get(int(task.value_()), ())
            return Stack(Frame(0, 0, name, 0x10, 0x100, "") for name in names)

        dump.stack = stack
        return View(dump, "dump")


def only(collected: Any) -> dict[str, Any]:
    (fact,) = collected.facts
    assert [one.status for one in collected.coverage] == ["complete"]
    assert set(fact.fields) == set(KINDS[fact.kind])
    assert fact.fields["problems"] == []
    return fact.fields


class Nfs(UlpKernel):
    """An NFS mount whose transport is being connected by a worker."""

    def __init__(self, state: int = CONNECTING | BOUND) -> None:
        super().__init__()
        sunrpc = self.per_net("sunrpc_net_id", "struct sunrpc_net", 2)
        keeper = self.variable("shadow_timekeeper", "struct timekeeper")
        self.set(keeper.tkr_mono.base.tv64, 500 * 10**9)
        self.set(keeper.tkr_mono.xtime_nsec, 1 << 20)
        self.set(keeper.tkr_mono.shift, 20)
        self.r_xprt = self.new("struct rpcrdma_xprt")
        self.xprt = self.r_xprt.rx_xprt
        self._xprt(state)
        program = self.new("struct rpc_program", name=self.text("nfs"))
        self.clnt = self.new("struct rpc_clnt", cl_vers=3, cl_program=program, cl_xprt=self.xprt)
        clone = self.new("struct rpc_clnt", cl_vers=3, cl_program=program, cl_xprt=self.xprt)
        self.list_init(clone.cl_tasks)
        self.list_init(sunrpc.all_clients, self.clnt.cl_clients, clone.cl_clients)
        self.call = self.new("struct rpc_task", tk_xprt=self.xprt)
        self.set(self.call.tk_start.tv64, 440 * 10**9)
        procedure = self.new("struct rpc_procinfo", p_name=self.text("GETATTR"))
        self.set(self.call.tk_msg.rpc_proc, procedure)
        self.list_init(self.clnt.cl_tasks, self.call.tk_task)
        self.worker_task = self.task(70, "kworker/0:1")
        self.run(self.r_xprt.rx_connect_worker.work, "rpcrdma_connect_worker", self.worker_task, 7)
        self.process = self.task(71, "stat")
        self._mount()

    def _mount(self) -> None:
        """Mount a file system of the server as the root."""
        self.mount = self.new("struct mount")
        self.set(self.mount.mnt_parent, self.mount)
        self.set(self.mount.mnt.mnt_sb, self.file().i_sb)
        space = self.new("struct mnt_namespace")
        self.list_init(space.list, self.mount.mnt_list)
        self.set(self.init_task.nsproxy, self.new("struct nsproxy", mnt_ns=space))

    def _xprt(self, state: int) -> None:
        self.set(self.xprt.state, state)
        self.address(self.xprt.addr, 2, 20049)
        self.set(self.xprt.address_strings[2], self.text("rdma"))
        self.set(self.xprt.pending.qlen, 3)
        self.set(self.xprt.stat.connect_count, 1)
        self.set(self.xprt.stat.connect_start, NOW - 5 * HZ)
        self.set(self.r_xprt.rx_ep.rep_connected, -103)
        self.set(self.r_xprt.rx_buf.rb_credits, 32)
        id_priv = self.new("struct rdma_id_private", state=5)
        self.set(id_priv.refcount.counter, 2)
        self.set(id_priv.id.device, self.hca)
        self.set(id_priv.id.qp, self.qp)
        self.set(self.r_xprt.rx_ia.ri_id, id_priv)

    def wait_on(self, head: drgn.Object, entry: drgn.Object, function: str) -> None:
        """Put an entry that is on the process's stack on a wait queue."""
        self.set(entry.private, self.process)
        self.set(entry.func, self.prog.symbol(function).address)
        self.list_init(head, entry.entry)

    def on_stack(self, type_: str) -> drgn.Object:
        return self.at(self.prog.type(type_), self.process.thread.sp.value_() + 256)

    def wait_for_call(self) -> None:
        """Make the process wait for a bit of its call's state."""
        self.stacks[self.process.address_] = RPC_STACK
        queue = self.on_stack("struct wait_bit_queue_entry")
        self.set(queue.key.flags, self.call.tk_runstate)
        self.wait_on(self.new("struct wait_queue_head").head, queue.wq_entry, "wake_bit_function")

    def file(self, type_name: str = "nfs") -> drgn.Object:
        """Return a file of a file system."""
        kind = self.new("struct file_system_type", name=self.text(type_name))
        server = self.new("struct nfs_server", client=self.clnt)
        return self.new(
            "struct inode", i_sb=self.new("struct super_block", s_type=kind, s_fs_info=server)
        )

    def wait_for_page(self, inode: drgn.Object) -> None:
        """Make the process wait for a page of a file."""
        self.stacks[self.process.address_] = PAGE_STACK
        queue = self.on_stack("struct wait_page_queue")
        self.set(
            queue.page,
            self.new("struct page", mapping=self.new("struct address_space", host=inode)),
        )
        self.wait_on(self.new("struct wait_queue_head").head, queue.wait, "wake_bit_function")

    def wait_for_direct_io(self, inode: drgn.Object) -> None:
        """Make the process wait for the end of direct I/O."""
        self.stacks[self.process.address_] = DIRECT_STACK
        request = self.new("struct nfs_direct_req", inode=inode)
        entry = self.on_stack("struct swait_queue")
        self.set(entry.task, self.process)
        self.list_init(request.completion.wait.task_list, entry.task_list)

    def collect(self) -> dict[str, Any]:
        return only(xprtrdma.collect(self.nfs_view()))

    def nfs_view(self) -> View:
        return self.view("sunrpc", "rpcrdma", "rdma_cm")


def test_transport() -> None:
    row = Nfs().collect()
    assert (row["server"], row["port"], row["programs"]) == ("10.0.0.2", 20049, ["nfs 3"])
    assert (row["state"], row["connected"]) == (["CONNECTING", "BOUND"], False)
    assert (row["connect_status"], row["credits"], row["pending"], row["sending"]) == (
        -103,
        32,
        3,
        0,
    )
    assert (row["connect_work"], row["connect_task"], row["attempt_seconds"]) == (
        "running",
        70,
        5.0,
    )
    assert (row["device"], row["cm_state"], row["qp_num"], row["qp_state"]) == (
        "mlx4_1", "CONNECT", 99, "RTS",
    )  # fmt: skip
    assert (row["calls"], row["procedures"]) == (1, ["nfs 3 GETATTR"])
    assert row["oldest_call_seconds"] == 60.0
    assert (row["callers"], row["mounts"]) == ([], ["/"])


def test_unknown_bits_of_the_state_are_not_named() -> None:
    row = Nfs(state=CONNECTED | 1 << 8).collect()
    assert (row["state"], row["connected"]) == (["CONNECTED", "bit 8"], True)


def test_process_waits_for_its_call() -> None:
    kernel = Nfs()
    kernel.wait_for_call()
    assert kernel.collect()["callers"] == [
        {"pid": 71, "comm": "stat", "what": "the call nfs 3 GETATTR"}
    ]
    view = kernel.nfs_view()
    found = waits_on(view, view.tasks.by_pid(71))
    assert found["type"] == "struct rpc_task"
    assert found["what"] == (
        "the call nfs 3 GETATTR over the rdma transport to 10.0.0.2 (not connected), run by pid 70"
    )
    assert found["pids"] == [70]


@pytest.mark.parametrize("how", ["wait_for_page", "wait_for_direct_io"])
def test_process_waits_for_a_file_behind_the_transport(how: str) -> None:
    kernel = Nfs()
    getattr(kernel, how)(kernel.file())
    (waiting,) = kernel.collect()["callers"]
    assert waiting["pid"] == 71
    assert "NFS file" in waiting["what"]


@pytest.mark.parametrize("how", ["wait_for_page", "wait_for_direct_io"])
def test_process_waits_for_a_file_of_another_kind(how: str) -> None:
    kernel = Nfs()
    getattr(kernel, how)(kernel.file("ext4"))
    assert kernel.collect()["callers"] == []


def test_file_behind_a_transport_that_no_client_has() -> None:
    kernel = Nfs()
    kernel.wait_for_page(kernel.file())
    other = kernel.new("struct rpcrdma_xprt").rx_xprt
    client = kernel.new("struct rpc_clnt", cl_xprt=other)
    inode = kernel.file()
    server = kernel.new("struct nfs_server", client=client)
    kernel.set(inode.i_sb.s_fs_info, server)
    kernel.wait_for_page(inode)
    assert kernel.collect()["callers"] == []


def partly(kernel: Nfs) -> tuple[dict[str, Any], str]:
    """Return the fields of the only transport, and what could not be read."""
    found = xprtrdma.collect(kernel.nfs_view())
    (fact,), (coverage,) = found.facts, found.coverage
    assert coverage.status == "partial"
    return fact.fields, coverage.reason


def test_mounts_that_cannot_be_read_are_unknown_and_it_is_said_why() -> None:
    kernel = Nfs()
    kernel.set(kernel.mount.mnt_list.next, kernel.mount.mnt_list)
    row, reason = partly(kernel)
    assert row["mounts"] is None
    assert "mounts: the list runs in a circle" in reason
    assert row["calls"] == 1


def test_age_of_calls_without_a_clock_is_unknown_and_it_is_said_why() -> None:
    kernel = Nfs()
    del kernel._objects["shadow_timekeeper"]
    row, reason = partly(kernel)
    assert (row["calls"], row["oldest_call_seconds"]) == (1, None)
    assert "how long ago calls were made: the kernel's timekeeper was not found" in reason


def test_a_call_that_cannot_be_read_costs_itself_only() -> None:
    kernel = Nfs()
    broken = kernel.new("struct rpc_task", tk_xprt=kernel.xprt)
    kernel.set(broken.tk_msg.rpc_proc, kernel.xprt.address_ + (1 << 40))
    kernel.list_init(kernel.clnt.cl_tasks, broken.tk_task, kernel.call.tk_task)
    row, reason = partly(kernel)
    assert (row["calls"], row["oldest_call_seconds"]) == (1, 60.0)
    assert f"the call at {broken.address_:#x}" in reason


@pytest.mark.parametrize("built_in", [True, False])
def test_a_kernel_with_rpc_built_in(built_in: bool) -> None:
    kernel = Nfs()
    if built_in:
        kernel.function("rpc_run_task")
    kernel.wait_for_call()
    view = kernel.view("rpcrdma", "rdma_cm")
    found = waits_on(view, view.tasks.by_pid(71))
    assert (found["type"] == "struct rpc_task") is built_in
    if not built_in:
        with pytest.raises(LookupError, match="module sunrpc is not loaded"):
            rpc_table(view)


def test_clients_in_a_circle_cost_what_is_behind_them() -> None:
    kernel = Nfs()
    kernel.set(kernel.clnt.cl_clients.next, kernel.clnt.cl_clients)
    found = xprtrdma.collect(kernel.nfs_view())
    assert len(found.facts) == 1
    assert found.coverage[0].status == "partial"
    assert "circle" in found.coverage[0].reason


def test_transport_whose_protocol_cannot_be_read_costs_itself_only() -> None:
    kernel = Nfs()
    broken = kernel.new("struct rpcrdma_xprt").rx_xprt
    kernel.set(broken.address_strings[2], kernel.xprt.address_ + (1 << 40))
    kernel.set(kernel.clnt.cl_xprt, broken)
    found = xprtrdma.collect(kernel.nfs_view())
    assert [fact.fields["address"] for fact in found.facts] == [hex(kernel.r_xprt.address_)]
    assert found.coverage[0].status == "partial"
    assert f"{broken.address_:#x} cannot be read" in found.coverage[0].reason


def test_number_of_a_subsystem_that_the_namespace_does_not_have() -> None:
    kernel = Nfs()
    kernel.set(kernel.prog["sunrpc_net_id"], 9)
    found = xprtrdma.collect(kernel.nfs_view())
    assert (found.facts, found.coverage[0].status) == ([], "failed")
    assert "sunrpc_net_id is 8" in found.coverage[0].reason


def test_no_nfs_over_rdma() -> None:
    found = xprtrdma.collect(Nfs().view("sunrpc"))
    assert (found.facts, found.coverage[0].status) == ([], "absent")


def test_server_transport() -> None:
    kernel = UlpKernel()
    nfsd = kernel.per_net("nfsd_net_id", "struct nfsd_net", 1)
    serv = kernel.new("struct svc_serv")
    kernel.set(nfsd.nfsd_serv, serv)
    id_priv = kernel.new("struct rdma_id_private", state=5)
    rdma = kernel.new("struct svcxprt_rdma", sc_cm_id=id_priv, sc_sq_depth=64, sc_pending_recvs=7)
    tcp = kernel.new("struct svc_xprt")
    for xprt, name in ((rdma.sc_xprt, "rdma"), (tcp, "tcp")):
        kernel.set(xprt.xpt_class, kernel.new("struct svc_xprt_class", xcl_name=kernel.text(name)))
    kernel.list_init(serv.sv_permsocks)
    kernel.list_init(serv.sv_tempsocks, tcp.xpt_list, rdma.sc_xprt.xpt_list)
    kernel.set(rdma.sc_sq_avail.counter, 0)
    kernel.set(rdma.sc_xprt.xpt_flags, 1 << 4 | 1 << 11)
    kernel.set(rdma.sc_qp, kernel.qp)
    kernel.address(rdma.sc_xprt.xpt_remote, 1, 700)
    waiter = kernel.task(80, "nfsd")
    entry = kernel.new("struct wait_queue_entry", private=waiter)
    kernel.list_init(rdma.sc_send_wait.head, entry.entry)
    row = only(svcrdma.collect(kernel.view("nfsd", "rpcrdma")))
    assert (row["remote"], row["port"], row["flags"]) == ("10.0.0.1", 700, ["TEMP", "CACHE_AUTH"])
    assert (row["sq_avail"], row["sq_depth"], row["waiting_to_send"]) == (0, 64, [80])
    assert (row["pending_recvs"], row["cm_state"], row["qp_state"]) == (7, "CONNECT", "RTS")


def test_flags_of_a_server_transport() -> None:
    """Once they were macros, so a bit without a name then keeps its number."""
    macros, enum = (
        UlpKernel(),
        UlpKernel(
            ("struct nfsd_net {", "enum { XPT_BUSY, XPT_HANDSHAKE = 15 }; struct nfsd_net {")
        ),
    )
    for kernel, names in ((macros, ["BUSY", "bit 15"]), (enum, ["BUSY", "HANDSHAKE"])):
        xprt = kernel.new("struct svc_xprt", xpt_flags=1 << 15 | 1)
        assert svc_xprt_flag_names(xprt) == names


def srp_kernel(change: tuple[str, str] = ("", "")) -> tuple[UlpKernel, drgn.Object]:
    kernel = UlpKernel(change)
    device, host = kernel.new("struct srp_device", dev=kernel.hca), kernel.new("struct srp_host")
    kernel.client("srp_client", device)
    kernel.list_init(device.dev_list, host.list)
    kernel.set(host.srp_dev, device)
    rport = kernel.new("struct srp_rport", state=1, failed_reconnects=4)
    kernel.list_init(rport.mutex.wait_list)
    kernel.set(rport.reconnect_work.timer.entry.next, rport)
    kernel.set(rport.reconnect_work.timer.expires, NOW + 8 * HZ)
    channels = kernel.new("struct srp_rdma_ch", 2)
    for channel in channels:
        kernel.completions(channel.done)
    kernel.set(channels[0].qp, kernel.qp)
    kernel.set(channels[0].connected, 1)
    target = kernel.new(
        "struct srp_target_port", ch=channels, ch_count=2, state=1, srp_host=host, rport=rport
    )
    kernel.set(target.scsi_host, kernel.new("struct Scsi_Host", host_no=6))
    kernel.list_init(host.target_list, target.list)
    return kernel, target


def test_srp_target() -> None:
    kernel, target = srp_kernel()
    sleeper = kernel.task(90, "multipathd")
    waiter = kernel.new("struct swait_queue", task=sleeper)
    kernel.list_init(target.ch[1].tsk_mgmt_done.wait.task_list, waiter.task_list)
    row = only(srp.collect(kernel.view("ib_srp")))
    assert (row["device"], row["scsi_host"], row["target"]) == ("mlx4_1", 6, None)
    assert (row["state"], row["port_state"], row["failed_reconnects"]) == ("LIVE", "BLOCKED", 4)
    assert (row["reconnect_due_seconds"], row["loss_due_seconds"]) == (8.0, None)
    assert (row["channel_count"], row["connected"]) == (2, 1)
    assert [one["connected"] for one in row["channels"]] == [True, False]
    assert [one["qp_state"] for one in row["channels"]] == ["RTS", None]
    assert [one["waiters"] for one in row["channels"]] == [[], [90]]


def test_srp_channels_of_kernels_whose_completions_have_wait_queues() -> None:
    head = "struct srp_rdma_ch {\n\tint req_lim; struct ib_qp *qp; struct completion done; struct "
    completion = "struct full_completion { u32 done; struct wait_queue_head wait; };\n"
    kernel, target = srp_kernel((f"{head}completion", f"{completion}{head}full_completion"))
    entry = kernel.new("struct wait_queue_entry", private=kernel.task(90, "multipathd"))
    kernel.list_init(target.ch[1].tsk_mgmt_done.wait.head, entry.entry)
    row = only(srp.collect(kernel.view("ib_srp")))
    assert [one["waiters"] for one in row["channels"]] == [[], [90]]


def test_srp_target_with_too_many_channels() -> None:
    kernel, target = srp_kernel()
    kernel.set(target.ch_count, 1 << 30)
    found = srp.collect(kernel.view("ib_srp"))
    assert found.facts[0].fields["channels"] is None
    assert found.coverage[0].status == "partial"
    assert "1073741824 channels" in found.coverage[0].reason


def test_srpt_channel() -> None:
    kernel = UlpKernel()
    ports = kernel.new("struct srpt_port", 2)
    device = kernel.new("struct srpt_device", device=kernel.hca, port=ports)
    kernel.list_init(kernel.variable("srpt_dev_list", "struct list_head"), device.list)
    nexus, ch = kernel.new("struct srpt_nexus"), kernel.new("struct srpt_rdma_ch", state=2)
    for port in ports:
        kernel.list_init(port.nexus_list)
        kernel.set(port.sdev, device)
    kernel.list_init(ports[1].nexus_list, nexus.entry)
    kernel.list_init(nexus.ch_list, ch.list)
    kernel.list_init(ch.cmd_wait_list, kernel.new("struct srpt_recv_ioctx").wait_list)
    closed, sleeper = kernel.new("struct completion"), kernel.task(91, "rmdir")
    kernel.list_init(
        closed.wait.task_list, kernel.new("struct swait_queue", task=sleeper).task_list
    )
    for name, value in (("sport", ports[1]), ("qp", kernel.qp), ("closed", closed)):
        kernel.set(ch.member_(name), value)
    kernel.set(ch.sess_name, "192.0.2.7")
    row = only(srpt.collect(kernel.view("ib_srpt")))
    assert (row["device"], row["session"], row["state"]) == ("mlx4_1", "192.0.2.7", "DISCONNECTING")
    assert (row["commands_waiting"], row["closed_waiters"], row["release_work"]) == (
        1,
        [91],
        "idle",
    )
    assert (row["qp_num"], row["qp_state"]) == (99, "RTS")


def test_srpt_channels_of_a_device() -> None:
    kernel = UlpKernel(("struct srpt_port *port; };", "struct list_head rch_list; };"))
    device = kernel.new("struct srpt_device", device=kernel.hca)
    kernel.list_init(kernel.variable("srpt_dev_list", "struct list_head"), device.list)
    channels = [kernel.new("struct srpt_rdma_ch", state=state) for state in (1, 4)]
    kernel.list_init(device.rch_list, *(ch.list for ch in channels))
    found = for_each_srpt_channel(kernel.prog)
    assert [srpt_channel_state(ch) for ch in found] == ["LIVE", "DISCONNECTED"]


def iser_id(kernel: UlpKernel, handler: str) -> drgn.Object:
    id_priv = kernel.new("struct rdma_id_private", state=5)
    kernel.set(id_priv.id.event_handler, kernel.function(handler))
    kernel.set(id_priv.id.qp, kernel.qp)
    cma = kernel.new("struct cma_device")
    kernel.list_init(cma.id_list, id_priv.list)
    kernel.list_init(kernel.prog["dev_list"], cma.list)
    return id_priv


def test_iser_initiator() -> None:
    kernel = UlpKernel()
    conn = kernel.new("struct iser_conn", state=3)
    device = kernel.new("struct iser_device", ib_device=kernel.hca)
    values = {"cma_id": iser_id(kernel, "iser_cma_handler"), "qp": kernel.qp, "device": device}
    for name, value in values.items():
        kernel.set(conn.ib_conn.member_(name), value)
    kernel.completions(conn.stop_completion, conn.up_completion)
    waiter = kernel.new("struct swait_queue", task=kernel.task(92, "iscsid"))
    kernel.list_init(conn.ib_completion.wait.task_list, waiter.task_list)
    kernel.list_init(kernel.variable("ig", "struct iser_global").connlist, conn.conn_list)
    row = only(iser.collect(kernel.view("ib_iser")))
    assert (row["side"], row["state"], row["device"]) == ("initiator", "TERMINATING", "mlx4_1")
    assert (row["cm_state"], row["qp_state"]) == ("CONNECT", "RTS")
    assert row["waiters"] == {"ib_completion": [92]}


def test_iser_target() -> None:
    kernel = UlpKernel()
    id_priv = iser_id(kernel, "isert_cma_handler")
    device = kernel.new("struct iser_device", ib_device=kernel.hca)
    conn = kernel.new("struct isert_conn", state=2, cm_id=id_priv, qp=kernel.qp, device=device)
    kernel.set(kernel.qp.ibqp.qp_context, conn)
    kernel.completions(conn.login_comp, conn.login_req_comp)
    row = only(iser.collect(kernel.view("ib_isert")))
    assert (row["side"], row["state"], row["qp_num"], row["waiters"]) == ("target", "UP", 99, {})


def test_iser_target_whose_queue_pair_is_anothers() -> None:
    kernel = UlpKernel()
    ids = [iser_id(kernel, "isert_cma_handler") for _ in range(2)]
    device = kernel.new("struct iser_device", ib_device=kernel.hca)
    other = kernel.new("struct mlx4_ib_qp")
    kernel.set(other.ibqp.device, kernel.hca)
    kernel.set(ids[0].id.qp, other)
    kernel.set(ids[1].id.event_handler, ids[0].id.event_handler)
    conn = kernel.new("struct isert_conn", state=2, cm_id=ids[1], qp=kernel.qp, device=device)
    for qp in (other, kernel.qp):
        kernel.set(qp.ibqp.qp_context, conn)
    kernel.completions(conn.login_comp, conn.login_req_comp)
    cma = kernel.new("struct cma_device")
    kernel.list_init(cma.id_list, *(one.list for one in ids))
    kernel.list_init(kernel.prog["dev_list"], cma.list)
    found = iser.collect(kernel.view("ib_isert"))
    assert [fact.fields["address"] for fact in found.facts] == [hex(conn.address_)]
    assert found.coverage[0].status == "partial"
    assert (
        f"the queue pair at {other.address_:#x} is not that of its connection"
        in found.coverage[0].reason
    )


def test_no_iser() -> None:
    found = iser.collect(UlpKernel().view("rdma_cm"))
    assert (found.facts, [one.status for one in found.coverage]) == ([], ["absent"])


def test_ipoib_interface() -> None:
    kernel = UlpKernel()
    head = kernel.new("struct list_head")
    kernel.client("ipoib_client", head)
    queues = kernel.new("struct netdev_queue", 2)
    kernel.set(queues[1].state, 1)
    netdev = kernel.new("struct net_device", name="ib0", _tx=queues, real_num_tx_queues=2)
    priv = kernel.new(
        "struct ipoib_dev_priv", dev=netdev, flags=0b10000001000000001101, ca=kernel.hca, port=1
    )
    for name, value in (
        ("qp", kernel.qp),
        ("tx_head", 5),
        ("tx_tail", 2**32 - 123),
        ("pkey", 0xFFFF),
    ):
        kernel.set(priv.member_(name), value)
    kernel.set(priv.ntbl.entries.counter, 3)
    kernel.list_init(head, priv.list)
    kernel.list_init(priv.child_intfs)
    row = only(ipoib.collect(kernel.view("ib_ipoib")))
    assert (row["interface"], row["device"], row["port"], row["pkey"]) == (
        "ib0",
        "mlx4_1",
        1,
        "0xffff",
    )
    assert row["stopped_queues"] == [1]
    assert row["outstanding"] == 128
    assert row["flags"] == [
        "FLAG_OPER_UP", "FLAG_ADMIN_UP", "PKEY_ASSIGNED", "NEIGH_TBL_FLUSH", "bit 19",
    ]  # fmt: skip
    assert (row["neighbours"], row["qp_num"], row["qp_state"]) == (3, 99, "RTS")


@pytest.mark.parametrize(
    ("members", "outstanding"),
    [("u32 tx_outstanding;", 7), ("u32 global_tx_head; u32 global_tx_tail;", 20), ("", 3)],
)
def test_sends_of_ipoib_that_are_outstanding(members: str, outstanding: int) -> None:
    kernel = UlpKernel(("u32 tx_tail;", f"u32 tx_tail; {members}"))
    priv = kernel.new("struct ipoib_dev_priv")
    values = {"tx_head": 4, "tx_tail": 1, "tx_outstanding": 7, "global_tx_head": 20}
    for name, value in values.items():
        if priv.type_.has_member(name):
            kernel.set(priv.member_(name), value)
    assert ipoib_dev_outstanding(priv.address_of_()) == outstanding


def nvmet_queue(kernel: UlpKernel) -> drgn.Object:
    id_priv = kernel.new("struct rdma_id_private", state=6)
    queue = kernel.new("struct nvmet_rdma_queue", cm_id=id_priv, qp=kernel.qp, state=2)
    for name, value in (("idx", 7), ("host_qid", 1), ("recv_queue_size", 128)):
        kernel.set(queue.member_(name), value)
    kernel.list_init(queue.rsp_wait_list)
    answers = [kernel.new("struct nvmet_rdma_rsp").wait_list for _ in range(3)]
    kernel.list_init(queue.rsp_wr_wait_list, *answers)
    kernel.list_init(kernel.variable("nvmet_rdma_queue_list", "struct list_head"), queue.queue_list)
    return queue


def test_queue_of_the_nvme_target() -> None:
    kernel = UlpKernel()
    queue = nvmet_queue(kernel)
    ctrl = kernel.new("struct nvmet_ctrl", cntlid=12, hostnqn="nqn.host")
    kernel.set(ctrl.subsys, kernel.new("struct nvmet_subsys", subsysnqn=kernel.text("nqn.sub")))
    kernel.set(queue.nvme_sq.ctrl, ctrl)
    row = only(nvmet_queue_collector.collect(kernel.view("nvmet_rdma")))
    assert (row["index"], row["host_queue"], row["state"]) == (7, 1, "DISCONNECTING")
    assert (row["hostnqn"], row["subsystem"], row["controller"]) == ("nqn.host", "nqn.sub", 12)
    assert (row["recv_queue_size"], row["early_commands"], row["waiting_for_sends"]) == (128, 0, 3)
    assert (row["cm_state"], row["qp_state"], row["release_work"]) == ("DISCONNECT", "RTS", "idle")


def test_queue_that_no_host_has_connected_yet() -> None:
    kernel = UlpKernel()
    nvmet_queue(kernel)
    row = only(nvmet_queue_collector.collect(kernel.view("nvmet_rdma")))
    assert (row["hostnqn"], row["subsystem"], row["controller"]) == (None, None, None)


def test_task_that_sleeps_in_an_object_of_these_is_named() -> None:
    kernel, target = srp_kernel()
    sleeper = kernel.task(93, "sh")
    kernel.stacks[sleeper.address_] = ("schedule", "__mutex_lock", "srp_reconnect_rport")
    waiter = kernel.at(kernel.prog.type("struct mutex_waiter"), sleeper.thread.sp.value_() + 128)
    kernel.set(waiter.task, sleeper)
    kernel.list_init(target.rport.mutex.wait_list, waiter.list)
    view = kernel.view("ib_srp")
    row = only(srp.collect(view))
    assert row["waiters"] == [93]
    found = waits_on(view, view.tasks.by_pid(93))
    assert (
        found["what"]
        == f"mutex of struct srp_rport {target.rport.value_():#x} (SRP target of host 6)"
    )
