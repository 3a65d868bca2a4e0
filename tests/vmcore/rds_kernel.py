"""Fake kernels with RDS connections in the layouts of the UEK generations."""

from pathlib import Path

import drgn

from rdmadiag.vmcore.frames import Frame, Stack

from .fake_kernel import FakeKernel, fake_dump

LAYOUTS = Path(__file__).parent / "layouts"
HZ = 1000
NOW = (-300 * HZ % (1 << 32)) + 500 * HZ


class RdsKernel(FakeKernel):
    """
    A kernel with the RDS connections that :meth:`connection` makes.

    :ivar paths: Whether this layout has paths.
    """

    ib_type = "struct rds_ib_connection"

    def __init__(self, layout: str, *more: str) -> None:
        sources = [(LAYOUTS / name).read_text() for name in ("core.h", "rdma.h", f"{layout}.h")]
        super().__init__(*(self.edit(text) for text in sources), *more)
        self.layout = layout
        self.paths = layout != "rds_uek4"
        self._tasks: list[drgn.Object] = []
        self._chains: list[list[drgn.Object]] = [[] for _ in range(16)]
        self.hash = self.variable("rds_conn_hash", "struct hlist_head", 16)
        for name, value in (("jiffies_64", NOW), ("tick_nsec", 10**9 // HZ)):
            self.set(self.variable(name, "u64"), value)
        self.init_task = self.variable("init_task", "struct task_struct")
        self.list_init(self.init_task.tasks)
        self._drop_reasons()
        self.function("process_timeout")
        self.function("wq_barrier_func")
        self.queue = self._workqueue("krdsd")
        self.transport = self.new("struct rds_transport", t_name="infiniband")
        self.device = self._device()

    def edit(self, text: str) -> str:
        """Return a layout's text as this kernel has it."""
        return text

    def _drop_reasons(self) -> None:
        number = 12 if self.layout == "rds_uek4" else 11
        table = self.variable("conn_drop_reasons", "char *", 13)
        self.set(table[number], self.text("qp event"))

    def _workqueue(self, name: str) -> drgn.Object:
        wq = self.new("struct workqueue_struct", name=name, flags=0x2000A, saved_max_active=1)
        self.pool, self.pwq = self.new("struct worker_pool"), self.new("struct pool_workqueue")
        for head in (self.pool.worklist, self.pool.workers, self.pwq.delayed_works):
            self.list_init(head)
        self.list_init(wq.flusher_queue)
        self.list_init(wq.flusher_overflow)
        self.list_init(wq.pwqs, self.pwq.pwqs_node)
        self.set(self.pwq.pool, self.pool)
        self.set(self.pwq.wq, wq)
        self.list_init(self.variable("workqueues", "struct list_head"), wq.list)
        return wq

    def _device(self) -> drgn.Object:
        module = self.new("struct module", name="mlx4_ib")
        device = self.new("struct ib_device", name="mlx4_0", owner=module, node_type=1)
        return self.new("struct rds_ib_device", dev=device)

    def task(self, pid: int, comm: str) -> drgn.Object:
        """Return a new task in D state."""
        task = self.new("struct task_struct", pid=pid, comm=comm, state=2)
        self.set(task.signal, self.new("struct signal_struct"))
        self.list_init(task.signal.thread_head, task.thread_node)
        stack = self.new("unsigned long", 512)
        self.set(task.stack, stack)
        self.set(task.thread.sp, stack.address_ + 2048)
        self._tasks.append(task)
        self.list_init(self.init_task.tasks, *(one.tasks for one in self._tasks))
        return task

    def connection(self, **values: int | str) -> drgn.Object:
        """
        Return a new connection, in the hash.

        :param values: ``laddr``, ``faddr``, ``tos``, ``state``, ``drop_source``, ``flags`` ...
        """
        conn = self.new("struct rds_connection", c_trans=self.transport, c_tos=values.get("tos", 0))
        for name in ("laddr", "faddr"):
            self._set_address(conn.member_("c_" + name), str(values[name]))
        cp = self._path(conn)
        for queue in ("send_queue", "retrans"):
            self.list_init(self.member(cp, queue))
        self.set(self.member(cp, "wq"), self.queue)
        self.set(self.member(cp, "state").counter, values["state"])
        for name in ("drop_source", "flags"):
            self.set(self.member(cp, name), values.get(name, 0))
        self.set(self.member(cp, "transport_data"), self._ib(values))
        self._hash(conn)
        return conn

    def _path(self, conn: drgn.Object) -> drgn.Object:
        if not self.paths:
            return conn
        cp = self.new("struct rds_conn_path", cp_conn=conn)
        self.set(conn.c_path, cp)
        return cp

    def path(self, conn: drgn.Object) -> drgn.Object:
        """Return a connection's path, or the connection where there are none."""
        return conn.c_path[0] if self.paths else conn

    def member(self, cp: drgn.Object, name: str) -> drgn.Object:
        """Return a member of a path by its name without prefix."""
        return cp.member_(("cp_" if self.paths else "c_") + name)

    def down_work(self, cp: drgn.Object) -> drgn.Object:
        """Return the work that shuts a path down."""
        if self.layout == "rds_uek_new":
            return cp.cp_up_or_down_w.work
        return self.member(cp, "down_w")

    def _set_address(self, member: drgn.Object, text: str) -> None:
        raw = bytes(int(part) for part in text.split("."))
        self.set(member, raw if not self.paths else bytes(10) + b"\xff\xff" + raw)

    def _ib(self, values: dict) -> drgn.Object:
        ic = self.new(self.ib_type, rds_ibdev=self.device, i_active_side=1)
        self.ring(ic.i_recv_ring, 1024, values.get("alloc", 560), values.get("free", 256))
        self.ring(ic.i_send_ring, 256, 40, 40)
        if self.paths:
            self.set(ic.i_fastreg_wrs.counter, 256)
            self.set(ic.i_flags, values.get("ib_flags", 0))
        for name in ("i_scq", "i_rcq"):
            cq = self.new("struct mlx4_ib_cq")
            self.set(cq.ibcq.device, self.device.dev)
            self.set(cq.mcq.cqn, 0x419)
            self.set(ic.member_(name), cq)
        self.set(ic.i_cm_id, self._cm_id())
        return ic

    def ring(self, ring: drgn.Object, nr: int, alloc: int, free: int) -> None:
        """Fill a ring by its counters."""
        pairs = {
            "w_nr": nr,
            "w_alloc_ptr": alloc % nr,
            "w_alloc_ctr": alloc,
            "w_free_ptr": free % nr,
        }
        for name, value in pairs.items():
            self.set(ring.member_(name), value)
        self.set(ring.w_free_ctr.counter, free)

    def _cm_id(self) -> drgn.Object:
        qp = self.new("struct mlx4_ib_qp", state=6)
        for name, value in (("device", self.device.dev), ("qp_num", 77)):
            self.set(qp.ibqp.member_(name), value)
        below = self.new("struct cm_id_private")
        self.set(below.av.timeout, 19)
        id_priv = self.new("struct rdma_id_private", state=6)
        self.set(id_priv.cm_id.ib, below)
        for name, value in (("device", self.device.dev), ("qp", qp)):
            self.set(id_priv.id.member_(name), value)
        return id_priv

    def _hash(self, conn: drgn.Object) -> None:
        chain = self._chains[sum(len(one) for one in self._chains) % 2]
        chain.append(conn)
        for head, conns in zip(self.hash, self._chains, strict=True):
            self.hlist_init(head, *(one.c_hash_node for one in conns))

    def run(self, work: drgn.Object, function: str, task: drgn.Object, idle_since: float) -> None:
        """Make *task* a worker that runs a work since it was last idle, so many seconds ago."""
        worker = self.new(
            "struct worker",
            current_work=work,
            current_func=self.function(function, "rds"),
            current_pwq=self.pwq,
            task=task,
            last_active=NOW - int(idle_since * HZ),
        )
        self.worker = worker
        self.list_init(worker.scheduled)
        self.list_init(self.pool.workers, worker.node)

    def time_out(self, task: drgn.Object) -> None:
        """Make a task sleep in schedule_timeout() with a timer on its stack."""
        old = "struct process_timer" not in self._blocks
        type_ = self.prog.type("struct timer_list" if old else "struct process_timer")
        found = self.at(type_, task.thread.sp.value_() + 128)
        timer = found if old else found.timer
        self.set(timer.function, self.prog.symbol("process_timeout").address)
        if not old:
            self.set(timer.entry.pprev, task)
            self.set(found.task, task)

    def queue_behind(self, work: drgn.Object) -> None:
        """Queue a work that has to wait until its queue's running work ends."""
        self.set(work.data.counter, self.pwq.address_ | 0b111)
        self.list_init(self.pwq.delayed_works, work.entry)

    def dump(self, *modules: str, stack: tuple[tuple[str, str], ...] = ()):
        """Return the dump, with one stack for all tasks: functions and their modules, innermost first."""
        dump = fake_dump(self, *(modules or ("rds", "rds_rdma", "rdma_cm")))
        frames = Stack(Frame(0, 0, name, 0x10, 0x100, module) for name, module in stack)
        dump.stack = lambda task: frames
        return dump
