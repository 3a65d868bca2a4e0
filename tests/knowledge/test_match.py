"""Matching of traces, stacks and lines. The traces are made up in the style of real ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmadiag.facts.model import Fact, Where
from rdmadiag.knowledge.base import Knowledge, load
from rdmadiag.knowledge.frames import canonical, is_primitive, own
from rdmadiag.knowledge.kernels import parse_kernel
from rdmadiag.knowledge.match import match, matcher_of
from rdmadiag.knowledge.stacks import signature_names
from rdmadiag.knowledge.status import KernelEvidence
from rdmadiag.rules.schema import Fix, Signature

SLEEP = "__schedule schedule "
WORKER = " process_one_work worker_thread kthread ret_from_fork"
SYSCALL = " vfs_write ksys_write do_syscall_64 entry_SYSCALL_64_after_hwframe"
RECONNECT = " nvme_rdma_setup_ctrl nvme_rdma_reconnect_ctrl_work" + WORKER

# kind; functions, innermost first; what is on top; its rank
TRACES = {
    "rds shutdown, UEK4": (
        "kernel.hung_task",
        SLEEP
        + "schedule_timeout rds_ib_conn_shutdown rds_conn_shutdown rds_shutdown_worker"
        + WORKER,
        "ORA-28733324",
        "likely",
    ),
    "rds shutdown, a task of a dump": (
        "task",
        SLEEP
        + "schedule_timeout rds_ib_conn_path_shutdown rds_conn_shutdown rds_shutdown_worker"
        + WORKER,
        "ORA-28733324",
        "likely",
    ),
    "connect wait": (
        "kernel.hung_task",
        SLEEP + "destroy_cm_id iw_destroy_cm_id rdma_destroy_id nvme_rdma_alloc_queue" + RECONNECT,
        "OBS-iwcm-connect-wait",
        "confident",
    ),
    "connect wait, newer names and a compiler's suffix": (
        "kernel.hung_task",
        SLEEP
        + "destroy_cm_id.isra.0 iw_destroy_cm_id _destroy_id nvme_rdma_free_queue"
        + RECONNECT,
        "OBS-iwcm-connect-wait",
        "confident",
    ),
    "connect wait, a frame lost by a tail call": (
        "task",
        SLEEP + "destroy_cm_id rdma_destroy_id nvme_rdma_free_queue" + RECONNECT,
        "OBS-iwcm-connect-wait",
        "confident",
    ),
    "connect wait, a user program": (
        "kernel.hung_task",
        SLEEP + "destroy_cm_id iw_destroy_cm_id _destroy_id ucma_destroy_id ucma_write" + SYSCALL,
        "OBS-iwcm-connect-wait",
        "confident",
    ),
    "flush of iw_cm_wq": (
        "kernel.hung_task",
        SLEEP
        + "schedule_timeout __wait_for_common __flush_workqueue iw_destroy_cm_id _destroy_id nvme_rdma_free_queue"
        + RECONNECT,
        "OBS-iwcm-flush-wait",
        "likely",
    ),
    "flush of iw_cm_wq, older name": (
        "kernel.hung_task",
        SLEEP
        + "schedule_timeout wait_for_completion flush_workqueue iw_destroy_cm_id rdma_destroy_id nvme_rdma_free_queue"
        + RECONNECT,
        "OBS-iwcm-flush-wait",
        "likely",
    ),
    "flush dependency of iw_cm_wq": (
        "kernel.warning",
        "check_flush_dependency __flush_workqueue iw_destroy_cm_id _destroy_id nvme_rdma_free_queue"
        " nvme_rdma_reset_ctrl_work" + WORKER,
        "UP-86dfdd828890",
        "likely",
    ),
    "work object freed": (
        "kernel.use_after_free",
        "dump_stack_lvl print_report kasan_report __pwq_activate_work pwq_dec_nr_in_flight process_one_work worker_thread",
        "UP-6883b680e703",
        "confident",
    ),
    "work list corrupted": (
        "kernel.oops",
        "__list_del_entry_valid_or_report move_linked_works __pwq_activate_work pwq_dec_nr_in_flight"
        " process_scheduled_works worker_thread kthread",
        "UP-7874eeacfa42",
        "confident",
    ),
    "rdma_cm id with a leaked reference": (
        "kernel.hung_task",
        SLEEP
        + "schedule_timeout wait_for_completion _destroy_id ucma_close_id __destroy_id ucma_destroy_id ucma_write"
        + SYSCALL,
        "UP-ca465e1f1f9b",
        "likely",
    ),
    "ib_cm id": (
        "kernel.hung_task",
        SLEEP
        + "schedule_timeout wait_for_completion cm_destroy_id ib_destroy_cm_id rdma_destroy_id rds_ib_conn_shutdown"
        " rds_conn_shutdown" + WORKER,
        "UP-T-rdma-cm-add-timeout-to-cm-destroy-id-wait",
        "likely",
    ),
    "drain of a send queue": (
        "kernel.hung_task",
        SLEEP
        + "schedule_timeout __wait_for_common __ib_drain_sq ib_drain_sq rpcrdma_xprt_disconnect xprt_rdma_close"
        " xprt_autoclose" + WORKER,
        "UP-ead54ced6321",
        "likely",
    ),
    "receives in progress": (
        "kernel.hung_task",
        SLEEP
        + "schedule_timeout wait_for_completion rpcrdma_xprt_disconnect xprt_rdma_close xprt_autoclose"
        + WORKER,
        "UP-7b6275c80a0c",
        "likely",
    ),
    "firmware command": (
        "kernel.hung_task",
        SLEEP + "schedule_timeout wait_for_completion cmd_exec mlx5_cmd_exec mlx5_core_modify_cq"
        " mlx5_core_modify_cq_moderation mlx5e_rx_dim_work" + WORKER,
        "UP-0e2909c6bec9",
        "likely",
    ),
    "admin queue freeze": (
        "kernel.hung_task",
        SLEEP + "blk_mq_freeze_queue_wait blk_mq_freeze_queue blk_freeze_queue blk_cleanup_queue"
        " nvme_rdma_destroy_admin_queue nvme_rdma_shutdown_ctrl __nvme_rdma_remove_ctrl nvme_rdma_del_ctrl_work"
        + WORKER,
        "OBS-nvme-rdma-del-freeze",
        "likely",
    ),
    "multipath scans a disk in the reconnect": (
        "kernel.hung_task",
        SLEEP
        + "io_schedule folio_wait_bit_common do_read_cache_folio read_part_sector msdos_partition bdev_disk_changed"
        " blkdev_get_whole blkdev_get_by_dev device_add_disk nvme_mpath_set_live nvme_update_ns_ana_state"
        " nvme_read_ana_log nvme_init_identify nvme_rdma_setup_ctrl nvme_rdma_reconnect_ctrl_work"
        + WORKER,
        "UP-a4a6f3c8f61c",
        "confident",
    ),
    "queue never allocated": (
        "kernel.warning",
        "__mutex_lock nvme_rdma_stop_queue nvme_rdma_teardown_io_queues nvme_rdma_delete_ctrl nvme_do_delete_ctrl",
        "UP-3820c4fdc247",
        "confident",
    ),
    "multicast list": (
        "kernel.hard_lockup",
        "native_queued_spin_lock_slowpath ipoib_mcast_join_task" + WORKER,
        "UP-4f973e211b3b",
        "likely",
    ),
    "SMC-R listen": (
        "kernel.oops",
        "smc_wr_tx_dismiss_slots smc_conn_free smc_lgr_cleanup_early smc_listen_work" + WORKER,
        "UP-36595d8ad46d",
        "confident",
    ),
    "siw connect": (
        "kernel.warning",
        "siw_cep_put siw_connect iw_cm_connect rdma_connect_locked nvme_rdma_cm_handler cma_cm_event_handler"
        " cma_work_handler" + WORKER,
        "UP-b056327bee09",
        "confident",
    ),
    "vmalloc memory freed with interrupts off": (
        "kernel.warning",
        "smp_call_function_many_cond on_each_cpu_cond_mask __purge_vmap_area_lazy free_vmap_area_noflush remove_vm_area"
        " __vunmap siw_free_qp destroy_cm_id rdma_destroy_id nvme_rdma_free_queue nvme_rdma_reset_ctrl_work"
        + WORKER,
        "UP-T-iwcm-iw-rem-ref-spinlock",
        "confident",
    ),
    "self deadlock": (
        "kernel.soft_lockup",
        "queued_spin_lock_slowpath _raw_spin_lock_irqsave send_mad ib_sa_path_rec_get path_rec_start ipoib_start_xmit"
        " dev_hard_start_xmit __do_softirq peernet2id netlink_broadcast_filtered netlink_broadcast rdma_nl_multicast"
        " send_mad ib_sa_path_rec_get rdma_resolve_route rds_rdma_cm_event_handler_cmn" + WORKER,
        "UP-2dce224f469f",
        "confident",
    ),
}


@pytest.mark.parametrize("name", TRACES)
def test_traces(known: Knowledge, trace, name: str):
    kind, functions, top, rank = TRACES[name]
    found = match(trace(kind, functions), known)
    assert [(found[0].fix.id, found[0].rank)] == [(top, rank)], found[:3]
    assert not any(other.rank == "confident" for other in found[1:])
    assert found[0].reason


BORING = {
    "file system": SLEEP
    + "io_schedule wait_on_buffer jbd2_journal_commit_transaction kjournald2 kthread ret_from_fork",
    "idle worker": SLEEP + "worker_thread kthread ret_from_fork",
    "a mutex": SLEEP
    + "schedule_preempt_disabled __mutex_lock mutex_lock rtnl_lock ip_mroute_setsockopt"
    + SYSCALL,
    "tcp": "tcp_sendmsg_locked tcp_sendmsg sock_sendmsg __sys_sendto do_syscall_64",
    "reader of sysfs": "sysfs_kf_seq_show kernfs_seq_show seq_read kernfs_fop_read __vfs_read"
    + SYSCALL,
    "interrupt": "atomic_notifier_call_chain mlx5_eq_async_int irq_int_handler __handle_irq_event_percpu handle_irq_event",
    "module removal": "device_release_driver_internal pci_device_remove driver_detach bus_remove_driver __do_sys_delete_module",
    "flush": SLEEP
    + "schedule_timeout wait_for_completion __flush_work __cancel_work_timer cancel_work_sync",
    "nothing": "",
}


@pytest.mark.parametrize("name", BORING)
@pytest.mark.parametrize(
    "kind", ["kernel.hung_task", "kernel.warning", "kernel.oops", "task", "kernel.trace"]
)
def test_ordinary_stacks_match_nothing(known: Knowledge, trace, name: str, kind: str):
    assert match(trace(kind, BORING[name]), known) == []


def fixes_with_stacks(basis: str) -> list[Fix]:
    return [
        fix
        for fix in load().fixes.values()
        if fix.signature.basis == basis
        and not all(is_primitive(name) for name in signature_names(fix))
    ]


@pytest.mark.parametrize("fix", fixes_with_stacks("trace"), ids=lambda fix: fix.id)
def test_a_signature_finds_itself(known: Knowledge, fix: Fix):
    kind = fix.signature.kinds[0] if fix.signature.kinds else "kernel.oops"
    names = [names.split("|")[0] for names in fix.signature.stack]
    found = match(Fact(kind, {"functions": names}, Where("log")), known)
    assert fix.id in [row.fix.id for row in found[:3]]


@pytest.mark.parametrize("fix", fixes_with_stacks("trace"), ids=lambda fix: fix.id)
def test_one_frame_is_never_enough_to_be_sure(known: Knowledge, fix: Fix):
    for kind in fix.signature.kinds or ["kernel.oops"]:
        for names in fix.signature.stack:
            for name in names.split("|"):
                found = match(Fact(kind, {"functions": [name]}, Where("log")), known)
                assert not any(row.rank == "confident" for row in found), found[:1]


@pytest.mark.parametrize("basis", ["named", "reading"])
def test_without_a_trace_behind_it_nothing_is_sure(known: Knowledge, basis: str):
    for fix in fixes_with_stacks(basis):
        names = [names.split("|")[0] for names in fix.signature.stack]
        kind = fix.signature.kinds[0] if fix.signature.kinds else "kernel.oops"
        found = match(Fact(kind, {"functions": names}, Where("log")), known)
        mine = [row.rank for row in found if row.fix.id == fix.id]
        assert "confident" not in mine
        if fix.basis.startswith("title"):
            assert mine in ([], ["hint"])


def test_every_line_of_its_own_finds_the_entry(known: Knowledge):
    for fix in known.fixes.values():
        for line in fix.signature.log:
            fact = Fact("log", {}, Where("log"), text=f"[  12.5] {line.samples[0]}")
            found = [row.fix.id for row in match(fact, known)]
            assert (fix.id in found) is not line.common


STUCK = TRACES["rds shutdown, UEK4"][1]


def test_the_tree_of_the_kernel_decides_between_twins(known: Knowledge, trace):
    fact = trace(
        "kernel.hung_task", STUCK.replace("conn_shutdown rds_c", "conn_path_shutdown rds_c", 1)
    )
    on_uek5 = KernelEvidence(parse_kernel("4.14.35-1818.5.4.el7uek.x86_64"))
    on_uek4 = KernelEvidence(parse_kernel("4.1.12-124.18.6.el7uek.x86_64"))
    assert match(fact, known, on_uek5)[0].fix.id == "ORA-29180514"
    assert match(fact, known, on_uek4)[0].fix.id == "ORA-28733324"


def test_a_kernel_with_the_fix_has_no_such_fault(known: Knowledge, trace):
    kind, functions, top, _ = TRACES["SMC-R listen"]
    fixed = match(trace(kind, functions), known, KernelEvidence(parse_kernel("6.1.192")))
    assert (fixed[0].fix.id, fixed[0].rank) == (top, "hint")
    assert "does not have it" in fixed[0].reason
    older = match(trace(kind, functions), known, KernelEvidence(parse_kernel("5.15.16")))
    assert older[0].rank == "confident"


def test_a_backport_of_the_fault_is_not_ruled_out(known: Knowledge, trace):
    kind, functions, top, _ = TRACES["drain of a send queue"]
    found = match(
        trace(kind, functions), known, KernelEvidence(parse_kernel("5.14.0-130.el9.x86_64"))
    )
    assert (found[0].fix.id, found[0].rank) == (top, "likely")
    assert "backport" in found[0].reason


def test_the_kind_of_report_counts(known: Knowledge, trace):
    functions = TRACES["connect wait"][1]
    found = match(trace("kernel.warning", functions), known)
    assert "OBS-iwcm-connect-wait" not in [row.fix.id for row in found]


def test_modules_count_where_they_are_named(known: Knowledge, trace):
    functions = TRACES["connect wait"][1]
    with_it = match(trace("kernel.hung_task", functions, modules=["iw_cm", "rdma_cm"]), known)
    without = match(trace("kernel.hung_task", functions, modules=["ib_cm", "rdma_cm"]), known)
    assert with_it[0].fix.id == "OBS-iwcm-connect-wait"
    assert "OBS-iwcm-connect-wait" not in [row.fix.id for row in without]


def test_the_order_counts_for_a_trace(known: Knowledge, trace):
    kind, functions, _, _ = TRACES["SMC-R listen"]
    found = match(trace(kind, " ".join(reversed(functions.split()))), known)
    assert not any(row.rank == "confident" for row in found)


def test_frames_of_another_place_further_in(known: Knowledge, trace):
    functions = "mlx5_cmd_exec " + TRACES["SMC-R listen"][1]
    assert match(trace("kernel.oops", functions), known)[0].rank != "confident"


def test_inlined_frames_do_not_matter(known: Knowledge, trace):
    functions = TRACES["SMC-R listen"][1].replace("smc_lgr_cleanup_early ", "")
    assert match(trace("kernel.oops", functions), known)[0].rank == "confident"


def test_the_stack_of_an_allocation(known: Knowledge, trace):
    fact = trace(
        "kernel.use_after_free",
        "worker_thread kthread",
        history=[
            {
                "label": "allocated",
                "functions": [
                    "kasan_save_stack",
                    "alloc_work_entries",
                    "iw_cm_connect",
                    "rdma_connect_locked",
                ],
            },
            {"label": "freed", "functions": ["kasan_save_free_info", "kfree"]},
        ],
    )
    assert match(fact, known)[0].fix.id == "UP-6883b680e703"


def test_another_workqueue_rules_it_out(known: Knowledge, trace):
    kind, functions, top, _ = TRACES["work object freed"]
    assert match(trace(kind, functions, workqueue="iw_cm_wq"), known)[0].fix.id == top
    other = match(trace(kind, functions, workqueue="events", work_function="flush_to_ldisc"), known)
    assert top not in [row.fix.id for row in other]


def test_a_work_item_alone(known: Knowledge, trace):
    fact = trace("kernel.oops", WORKER, work_function="cma_netevent_work_handler")
    assert [(row.fix.id, row.rank) for row in match(fact, known)] == [("UP-45f5dcdd0497", "likely")]
    assert (
        match(trace("kernel.hung_task", WORKER, work_function="cma_netevent_work_handler"), known)
        == []
    )


def test_a_line_and_a_stack_together(known: Knowledge, trace):
    kind, functions, top, _ = TRACES["firmware command"]
    text = "mlx5_core 0000:01:00.0: cmd_work_handler:877:(pid 38): failed to allocate command entry"
    alone, both = (
        match(trace(kind, functions), known)[0],
        match(trace(kind, functions, text), known)[0],
    )
    assert (both.fix.id, both.score > alone.score) == (top, True)
    assert "log line" in both.reason


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"history": [7]},
        {"history": "x"},
        {"functions": None},
        {"functions": "schedule"},
        {"functions": [1, None]},
    ],
)
def test_fields_of_any_shape(known: Knowledge, fields: dict[str, object]):
    assert match(Fact("kernel.oops", fields, Where("log"), text="x"), known) == []


NAMES = sorted(
    {name for f in load().fixes.values() for s in f.signature.stack for name in s.split("|")}
)


@given(
    st.lists(st.sampled_from(NAMES), max_size=12),
    st.sampled_from(["kernel.oops", "kernel.hung_task"]),
)
def test_sure_needs_two_telling_frames_in_order(functions: list[str], kind: str):
    known = load()
    for row in match(Fact(kind, {"functions": functions}, Where("log")), known):
        assert 0 <= row.score <= 1
        if row.rank == "confident":
            mine = {canonical(n) for s in row.fix.signature.stack for n in s.split("|")}
            assert len(mine & set(own(functions))) >= 2


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("destroy_cm_id.isra.0", "destroy_cm_id"),
        ("nvme_rdma_alloc_queue.cold+0x4b/0x5c [nvme_rdma]", "nvme_rdma_alloc_queue"),
        ("flush_workqueue", "__flush_workqueue"),
        ("__list_del_entry_valid_or_report", "__list_del_entry_valid"),
        ("rds_conn_shutdown", "rds_conn_shutdown"),
    ],
)
def test_canonical(name: str, wanted: str):
    assert canonical(name) == wanted


def test_the_index_is_made_once(known: Knowledge):
    assert matcher_of(known) is matcher_of(known)


def test_a_shared_place_is_never_sure():
    fix = Fix(
        "X", "t", "rds", "e", "report", "likely", ["s"],
        signature=Signature(["aa_one", "bb_two", "cc_three"], "trace", shared=True),
    )  # fmt: skip
    fact = Fact("kernel.oops", {"functions": ["aa_one", "bb_two", "cc_three"]}, Where("log"))
    row = match(fact, Knowledge({"X": fix}))[0]
    assert (row.rank, "other faults" in row.reason) == ("likely", True)
