"""The NVMe and iWARP collectors on other layouts: Linux 4.9, and an nvme_rdma that has no types."""

import pytest

from rdmadiag.facts.kinds import KINDS
from rdmadiag.vmcore.collect import iwcm, nvme_rdma, rdma_cm
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.walk import list_entries

from .rds_kernel import LAYOUTS, RdsKernel

RECONNECTING, CONN_SENT, DESTROYING, RNIC = 3, 3, 10, 4
AF_INET = (2).to_bytes(2, "little")


STACK = (("schedule", ""), ("destroy_cm_id", "iw_cm"), ("iw_destroy_cm_id", "iw_cm"))


class NvmeKernel(RdsKernel):
    """One controller with two queues; a worker waits to destroy the identifier of the first."""

    def __init__(self, layout: str = "nvme_49", types: str = "nvme_rdma") -> None:
        text = (LAYOUTS / f"{layout}.h").read_text()
        for name in ("_ctrl ", "_queue "):
            text = text.replace(f"struct nvme_rdma{name}", f"struct {types}{name}")
        super().__init__("rds_uek4", text)
        self.types = types
        self.variable("iwcm_wq", "struct workqueue_struct *")
        self.handler = self.function("nvme_rdma_cm_handler", "nvme_rdma")
        self.device = self.new("struct ib_device", name="cxgb4_0", node_type=RNIC)
        self.set(self.device.owner, self.new("struct module", name="iw_cxgb4"))
        self.ctrl = self._controller()
        self.list_init(self.variable("nvme_rdma_ctrl_list", "struct list_head"), self.ctrl.list)
        if layout == "nvme_61":
            self._list_by_subsystem()
        self.worker_task = self.task(80, "kworker/3:1")
        self.run(
            self.ctrl.reconnect_work.work, "nvme_rdma_reconnect_ctrl_work", self.worker_task, 9
        )
        self._ids()
        self.function("autoremove_wake_function")

    def _controller(self):
        opts = self.new("struct nvmf_ctrl_options", reconnect_delay=10, max_reconnects=60)
        for name, value in (("subsysnqn", "nqn.test"), ("traddr", "10.0.0.2"), ("trsvcid", "4420")):
            self.set(opts.member_(name), self.text(value))
        ctrl, device = self.new(f"struct {self.types}_ctrl"), self.new("struct device")
        self.set(device.kobj.kref.refcount.counter, 3)
        values = {
            "state": RECONNECTING,
            "device": device,
            "instance": 5,
            "queue_count": 2,
            "kato": 5,
            "nr_reconnects": 4,
            "opts": opts,
        }
        for name, value in values.items():
            self.set(ctrl.ctrl.member_(name), value)
        self.list_init(ctrl.ctrl.namespaces)
        self.queues = self.new(f"struct {self.types}_queue", 2)
        self.set(ctrl.queues, self.queues)
        for queue in self.queues:
            self.set(queue.ctrl, ctrl)
            self.list_init(queue.cm_done.wait.task_list)
        self.set(self.queues[1].flags, 0b1011)
        return ctrl

    def _list_by_subsystem(self) -> None:
        subsys, ops = self.new("struct nvme_subsystem"), self.new("struct nvme_ctrl_ops")
        self.set(ops.name, self.text("rdma"))
        self.set(self.ctrl.ctrl.ops, ops)
        self.list_init(subsys.ctrls, self.ctrl.ctrl.subsys_entry)
        self.list_init(self.variable("nvme_subsystems", "struct list_head"), subsys.entry)

    def _ids(self) -> None:
        self.iw = self.new("struct iwcm_id_private", state=CONN_SENT, flags=4)
        self.set(self.iw.refcount.counter, 2)
        self.set(self.iw.id.device, self.device)
        for name, host in (("local_addr", 1), ("remote_addr", 2)):
            port = (4420).to_bytes(2, "big")
            self.set(self.iw.id.member_(name), AF_INET + port + bytes((10, 0, 0, host)))
        old = "struct __wait_queue" in self._blocks
        type_ = self.prog.type("struct __wait_queue" if old else "struct wait_queue_entry")
        entry = self.at(type_, self.worker_task.thread.sp.value_() + 64)
        self.set(entry.private, self.worker_task)
        head = self.iw.connect_wait.task_list if old else self.iw.connect_wait.head
        self.list_init(head, entry.task_list if old else entry.entry)
        self.id = self.new("struct rdma_id_private", state=DESTROYING)
        self.set(self.id.refcount.counter, 1)
        self.list_init(self.id.comp.wait.task_list)
        self.list_init(self.id.handler_mutex.wait_list)
        self.set(self.id.cm_id.iw, self.iw)
        values = {"device": self.device, "context": self.queues[0], "event_handler": self.handler}
        for name, value in values.items():
            self.set(self.id.id.member_(name), value)
        self.set(self.queues[0].cm_id, self.id)
        cma = self.new("struct cma_device")
        self.list_init(cma.id_list, self.id.list)
        self.list_init(self.variable("dev_list", "struct list_head"), cma.list)

    def no_destroyer(self) -> None:
        """Nobody waits for the driver."""
        head = self.iw.connect_wait
        self.list_init(head.task_list if "struct __wait_queue" in self._blocks else head.head)

    def facts(self, collector, stack=STACK):
        dump = self.dump("nvme_rdma", "rdma_cm", "iw_cm", stack=stack)
        collected = collector.collect(View(dump, "dump"))
        return [fact.fields for fact in collected.facts], collected.coverage[0]


@pytest.fixture
def kernel():
    return NvmeKernel()


def test_identifier(kernel):
    (row,), coverage = kernel.facts(iwcm)
    assert (coverage.status, row["problems"]) == ("complete", [])
    assert (row["state"], row["flags"], row["connect_wait"]) == ("CONN_SENT", "0x4", True)
    assert (row["laddr"], row["raddr"], row["rport"]) == ("10.0.0.1", "10.0.0.2", 4420)
    assert (row["refcount"], row["device"]) == (2, "cxgb4_0")
    assert row["owner"] == {
        "ulp": "nvme_rdma", "handler": "nvme_rdma_cm_handler", "controller": "nvme5", "queue": 0,
    }  # fmt: skip
    assert row["destroy_task"] == 80


def test_controller(kernel):
    (row,), coverage = kernel.facts(nvme_rdma)
    assert (coverage.status, row["problems"]) == ("complete", [])
    assert (row["controller"], row["state"], row["refcount"]) == ("nvme5", "RECONNECTING", 3)
    assert (row["nqn"], row["traddr"], row["host_traddr"]) == ("nqn.test", "10.0.0.2", None)
    assert (row["reconnects"], row["max_reconnects"], row["reconnect_delay_seconds"]) == (4, 60, 10)
    assert (row["reconnect_work"], row["delete_work"], row["reset_work"]) == (
        "running",
        "idle",
        "idle",
    )
    assert (row["blocked_task"], row["blocked_queue"]) == (80, 0)
    assert (row["blocked_in"], row["iw_cm_id"]) == ("destroy_cm_id", hex(kernel.iw.address_))


def test_flags_that_are_masks(kernel):
    (row,), _ = kernel.facts(nvme_rdma)
    assert row["queues"][1]["flag_names"] == [
        "NVME_RDMA_Q_CONNECTED", "NVME_RDMA_IB_QUEUE_ALLOCATED", "NVME_RDMA_Q_LIVE",
    ]  # fmt: skip
    assert row["queues_live"] == 1


def test_bound_of_a_driver_whose_timer_is_not_known(kernel):
    (row,), _ = kernel.facts(nvme_rdma)
    assert (row["driver_remaining_seconds"], row["bound_seconds"]) == (None, None)
    assert row["bound_arithmetic"].startswith(
        "The dump does not show how long the driver lets a connect pend"
    )
    assert row["bound_arithmetic"].endswith("Then 10 s and that limit again, 56 times at most.")


def test_no_limit_of_attempts(kernel):
    kernel.set(kernel.ctrl.ctrl.opts.max_reconnects, -1)
    (row,), _ = kernel.facts(nvme_rdma)
    assert row["bound_arithmetic"].endswith("without a limit of attempts.")


def test_delete_behind_the_reconnect(kernel):
    kernel.queue_behind(kernel.ctrl.delete_work)
    (row,), _ = kernel.facts(nvme_rdma)
    assert row["delete_work"] == "pending"


@pytest.fixture
def untyped():
    """An nvme_rdma built out of tree: no type of it is in the dump, those of the core are."""
    return NvmeKernel("nvme_61", "opaque")


def test_typed_controller_of_the_same_layout():
    (row,), coverage = NvmeKernel("nvme_61").facts(nvme_rdma)
    assert (coverage.status, row["problems"]) == ("complete", [])
    assert (row["state"], row["delete_work"], row["blocked_queue"]) == ("CONNECTING", "idle", 0)


def test_controller_without_types(untyped):
    (row,), coverage = untyped.facts(nvme_rdma)
    assert coverage.status == "partial"
    assert "nvme_rdma is loaded" in coverage.reason
    assert "only what the core knows" in coverage.reason
    assert (row["controller"], row["state"], row["traddr"]) == ("nvme5", "CONNECTING", "10.0.0.2")
    assert (row["address"], row["listed"], row["queues"], row["queue_count"]) == (None, None, [], 2)
    assert (row["reconnect_work"], row["reconnect_task"], row["error_work"]) == (
        "running",
        80,
        None,
    )
    assert (row["blocked_task"], row["blocked_in"]) == (80, "destroy_cm_id")
    assert row["iw_cm_id"] == hex(untyped.iw.address_)
    assert row["problems"] == []
    assert set(row) == set(KINDS["nvme.rdma_controller"])


def test_identifier_of_a_controller_without_types(untyped):
    (row,), coverage = untyped.facts(iwcm)
    assert coverage.status == "complete"
    assert (row["owner"]["ulp"], row["owner"]["controller"]) == ("nvme_rdma", "nvme5")
    assert row["destroy_task"] == 80


def test_other_transports_are_no_rdma_controllers(untyped):
    untyped.set(untyped.ctrl.ctrl.ops.name[0], ord("t"))
    rows, coverage = untyped.facts(nvme_rdma)
    assert (rows, coverage.status) == ([], "failed")


LAST_REFERENCE = (
    ("wait_for_completion", ""),
    ("_destroy_id", "rdma_cm"),
    ("nvme_rdma_free_queue", "nvme_rdma"),
)
MUTEX = (
    ("__mutex_lock", ""),
    ("rdma_destroy_id", "rdma_cm"),
    ("nvme_rdma_alloc_queue", "nvme_rdma"),
)


def wait_for_last_reference(kernel):
    """The identifier has left the list of its device, and its destroyer waits for the last reference."""
    kernel.no_destroyer()
    kernel.set(kernel.id.cm_id.iw, 0)
    kernel.list_init(kernel.prog["dev_list"])
    entry = kernel.at(
        kernel.prog.type("struct swait_queue"), kernel.worker_task.thread.sp.value_() + 64
    )
    kernel.set(entry.task, kernel.worker_task)
    kernel.list_init(kernel.id.comp.wait.task_list, entry.task_list)


@pytest.mark.parametrize("types", ["nvme_rdma", "opaque"])
def test_identifier_that_left_the_list(types):
    """With the queue's pointer, and without it by the destroyer's own stack."""
    kernel = NvmeKernel("nvme_61", types)
    wait_for_last_reference(kernel)
    (row,), _ = kernel.facts(rdma_cm, LAST_REFERENCE)
    assert (row["address"], row["state"]) == (hex(kernel.id.address_), "DESTROYING")
    assert (row["destroy_task"], row["listed"], row["refcount"]) == (80, False, 1)


def test_queue_whose_identifier_left_the_list():
    kernel = NvmeKernel("nvme_61")
    wait_for_last_reference(kernel)
    (row,), _ = kernel.facts(nvme_rdma, LAST_REFERENCE)
    assert (row["blocked_task"], row["blocked_in"], row["iw_cm_id"]) == (80, "_destroy_id", None)
    assert row["queues"][0]["cm_id_live"]
    assert row["bound_arithmetic"] is None


def test_pointer_that_dangles(kernel):
    """A queue keeps the pointer to its identifier when that is freed."""
    kernel.no_destroyer()
    kernel.list_init(kernel.prog["dev_list"])
    kernel.set(kernel.id.refcount.counter, 0)
    (row,), _ = kernel.facts(nvme_rdma)
    assert row["queues"][0]["cm_id"] == hex(kernel.id.address_)
    assert not row["queues"][0]["cm_id_live"]
    assert kernel.facts(iwcm)[0] == []


@pytest.mark.parametrize(("stack", "blocked"), [(MUTEX, 80), (MUTEX[:1], None)])
def test_destroyer_behind_an_event_handler(stack, blocked):
    """Only nvme_rdma's own task is blocked by it; an event of the identifier may wait as well."""
    kernel = NvmeKernel("nvme_61")
    kernel.no_destroyer()
    entry = kernel.at(
        kernel.prog.type("struct mutex_waiter"), kernel.worker_task.thread.sp.value_() + 64
    )
    kernel.set(entry.task, kernel.worker_task)
    kernel.list_init(kernel.id.handler_mutex.wait_list, entry.list)
    (row,), _ = kernel.facts(nvme_rdma, stack)
    assert row["blocked_task"] == blocked
    (row,), _ = kernel.facts(rdma_cm, stack)
    assert row["destroy_task"] == blocked


SETUP = (("wait_for_completion_interruptible", ""), ("nvme_rdma_alloc_queue", "nvme_rdma"))


@pytest.mark.parametrize("types", ["nvme_rdma", "opaque"])
def test_setup_of_the_second_of_two_queues_side_by_side(types):
    """The first one's identifier is not what the worker waits for, though the queues are neighbours."""
    kernel = NvmeKernel("nvme_61", types)
    kernel.no_destroyer()
    second_iw = kernel.new("struct iwcm_id_private", state=CONN_SENT, flags=4)
    kernel.set(second_iw.id.device, kernel.device)
    kernel.list_init(second_iw.connect_wait.head)
    second = kernel.new("struct rdma_id_private", state=5)
    kernel.set(second.refcount.counter, 1)
    kernel.list_init(second.comp.wait.task_list)
    kernel.list_init(second.handler_mutex.wait_list)
    kernel.set(second.cm_id.iw, second_iw)
    values = {"device": kernel.device, "context": kernel.queues[1], "event_handler": kernel.handler}
    for name, value in values.items():
        kernel.set(second.id.member_(name), value)
    kernel.set(kernel.queues[1].cm_id, second)
    cma = next(iter(list_entries("struct cma_device", kernel.prog["dev_list"], "list")))
    kernel.list_init(cma.id_list, kernel.id.list, second.list)
    entry = kernel.at(
        kernel.prog.type("struct swait_queue"), kernel.worker_task.thread.sp.value_() + 64
    )
    kernel.set(entry.task, kernel.worker_task)
    kernel.list_init(kernel.queues[1].cm_done.wait.task_list, entry.task_list)
    rows = {row["address"]: row for row in kernel.facts(iwcm, SETUP)[0]}
    assert rows[hex(kernel.iw.address_)]["setup_task"] is None
    assert rows[hex(second_iw.address_)]["setup_task"] == 80
    (row,), _ = kernel.facts(nvme_rdma, SETUP)
    assert row["iw_cm_id"] == hex(second_iw.address_)
    assert row["blocked_queue"] == (1 if types == "nvme_rdma" else None)
