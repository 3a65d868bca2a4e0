"""Stacks as kernels of all ages and architectures, crash, drgn, gdb and people print them."""

import pytest

from rdmadiag.logs.frames import parse_frame, stem


@pytest.mark.parametrize(
    ("line", "text", "function", "module", "guess"),
    [
        (" schedule+0x51/0xc1", "schedule+0x51/0xc1", "schedule", "", False),
        (" ? wake_up_q+0x73/0x81", "? wake_up_q+0x73/0x81", "wake_up_q", "", True),
        (" destroy_cm_id+0x101/0x231 [iw_cm]", "destroy_cm_id+0x101/0x231 [iw_cm]", "destroy_cm_id", "iw_cm", False),
        (" cm_x.isra.15+0x1/0x2 [ib_cm 0123456789abcdef0123]", "cm_x.isra.15+0x1/0x2 [ib_cm]", "cm_x", "ib_cm", False),
        (" a.part.0.cold.95+0x1/0x2", "a.part.0.cold.95+0x1/0x2", "a", "", False),
        (" b.constprop.7.llvm.8812+0x1/0x2", "b.constprop.7.llvm.8812+0x1/0x2", "b", "", False),
        (" [<ffffffffb0179cd0>] rdma_x+0x3c0/0x8d0 [rdma_cm]", "rdma_x+0x3c0/0x8d0 [rdma_cm]", "rdma_x", "rdma_cm", False),
        (" [<ffffffff6440cb1e>] ? kmem_getpages+0x52/0x105", "? kmem_getpages+0x52/0x105", "kmem_getpages", "", True),
        (" <IRQ>  [<ffffffff640cce72>] __alloc+0x524/0x595", "__alloc+0x524/0x595", "__alloc", "", False),
        (" [<ffffffff88abcdef>] :ib_core:ib_x+0x1/0x2", "ib_x+0x1/0x2 [ib_core]", "ib_x", "ib_core", False),
        (" ([<000000000eeb1ee2>] worker_thread+0x67/0x4a9)", "worker_thread+0x67/0x4a9", "worker_thread", "", False),
        ("[c000003fffe7b9e0] [c008000001b22f0c] __ib_drain_sq+0x16c/0x1d0 [ib_core]", "__ib_drain_sq+0x16c/0x1d0 [ib_core]", "__ib_drain_sq", "ib_core", False),
        ("[c000003fffe7b9e0] [c008000001b22f0c] f+0x16c/0x1d0 (unreliable)", "f+0x16c/0x1d0", "f", "", False),
        (" ret_from_fork+0x10/0x20 (P)", "ret_from_fork+0x10/0x20", "ret_from_fork", "", False),
        ("[<0>] blk_execute_rq+0x6c/0xb1", "blk_execute_rq+0x6c/0xb1", "blk_execute_rq", "", False),
        (" rds_x+0x28b/0xaa0 net/rds/connection.c:399", "rds_x+0x28b/0xaa0", "rds_x", "", False),
        (" x_inline net/ipv4/tcp_output.c:1646 [inline]", "x_inline net/ipv4/tcp_output.c:1646 [inline]", "x_inline", "", False),
        (" dump_stack_lvl (lib/dump_stack.c:107 (discriminator 1)) ", "dump_stack_lvl (lib/dump_stack.c:107 (discriminator 1))", "dump_stack_lvl", "", False),
        (" #3 [ffff6641881dda60] rds_ib_x at ffffffffb024e7c4 [rds_rdma]", "rds_ib_x [rds_rdma]", "rds_ib_x", "rds_rdma", False),
        (" #5 [ee828e499b6a7f00] ipoib_x+0x1b1 at ffffffffa0922ba4 [ib_ipoib]", "ipoib_x+0x1b1 [ib_ipoib]", "ipoib_x", "ib_ipoib", False),
        ("#12 [ffff800012345678] kthread at ffff80001008a1b4", "kthread", "kthread", "", False),
        ("#0  context_switch (kernel/sched/core.c:5238:2)", "context_switch", "context_switch", "", False),
        ("#4  rds_ib_y+0x245/0x3d0", "rds_ib_y+0x245/0x3d0", "rds_ib_y", "", False),
        ("#1  0xffffffff648bd86d in __schedule () at kernel/sched/core.c:3000", "__schedule", "__schedule", "", False),
    ],
)  # fmt: skip
def test_frames(line, text, function, module, guess):
    frame = parse_frame(line)
    assert frame is not None
    assert (frame.text, frame.function, frame.module, frame.guess) == (
        text,
        function,
        module,
        guess,
    )


@pytest.mark.parametrize(
    "line",
    [
        "INFO: task a+0x1/0x2 is stuck",
        "#1 SMP PREEMPT_DYNAMIC Debian",
        "#2 fixed the build",
        "RIP: 0010:dev_watchdog+0x235/0x251",
        "address 0x10+0x20/0x30",
        "func+0x12 is at offset",
        "  [<ffffffffffffffff>] 0xffffffffffffffff",
        "error: file.c:10: [inline] was here",
        "",
    ],
)
def test_no_frames(line):
    assert parse_frame(line) is None


def test_stems_of_ordinary_names_stay():
    assert stem("rds_conn.partial") == "rds_conn.partial"
    assert stem("__x64_sys_read") == "__x64_sys_read"


def test_crash_bt(trace):
    fact = trace(
        """
crash> bt 7001
PID: 7001   TASK: ffff88143f04c2c0  CPU: 14  COMMAND: "kworker/u96:2"
 #0 [ffffc90012345a58] __schedule at ffffffff648bd86d
 #1 [ffffc90012345ab0] schedule at ffffffff648bdab7
 #2 [ffffc90012345ad0] schedule_timeout at ffffffff648bff74
 #3 [ffffc90012345b80] rds_ib_conn_shutdown at ffffffffb024e7c4 [rds_rdma]
 #4 [ffffc90012345c10] rds_conn_shutdown at ffffffffb01ca8f5 [rds]
 #5 [ffffc90012345cb0] rds_shutdown_worker at ffffffffb01f5899 [rds]
 #6 [ffffc90012345d00] process_one_work at ffffffff6409acb4
 #7 [ffffc90012345d50] worker_thread at ffffffff6409c95d
 #8 [ffffc90012345dc0] kthread at ffffffff640b102d
 #9 [ffffc90012345e50] ret_from_fork at ffffffff648d0735
crash> quit
"""
    )
    assert fact.kind == "task"
    expected = {
        "pid": 7001,
        "comm": "kworker/u96:2",
        "cpu": 14,
        "state": None,
        "address": "ffff88143f04c2c0",
        "work_function": "rds_shutdown_worker",
        "modules": ["rds_rdma", "rds"],
        "subsystem": "rds",
        "complete": True,
        "source": "crash",
        "style": "crash",
        "nmi": None,
    }
    assert {n: fact.fields[n] for n in expected} == expected
    assert fact.fields["frames"][3] == "rds_ib_conn_shutdown [rds_rdma]"
    assert fact.fields["functions"][3:6] == [
        "rds_ib_conn_shutdown",
        "rds_conn_shutdown",
        "rds_shutdown_worker",
    ]


def test_crash_bt_of_cpus_stopped_by_nmi(traces):
    facts = traces(
        """
PID: 51     TASK: ee4a8b4b007f6000  CPU: 3   COMMAND: "kworker/u8:2"
    [exception RIP: rxe_completer+433]
--- <NMI exception stack> ---
 #5 [ee828e499b6a7f00] rxe_completer+0x1b1 at ffffffffa0922ba4 [rdma_rxe]
 #6 [ee828e499b6a7f96] process_one_work+0x1a7 at ffffffff9de40987
PID: 52     TASK: ee4a89996fefa000  CPU: 4   COMMAND: "sh"
 #0 [ee828e4960431c30] __schedule at ffffffff9a7c7828
 #1 [ee828e4960431c90] schedule at ffffffffa0922ca8
 #2 [ee828e4960431f96] entry_SYSCALL_64_after_hwframe at ffffffff9de40987
"""
    )
    assert [(f.kind, f.fields["pid"], f.fields["nmi"], f.fields["complete"]) for f in facts] == [
        ("task", 51, True, False),
        ("task", 52, None, True),
    ]
    assert facts[0].fields["functions"] == ["rxe_completer", "process_one_work"]
    assert facts[0].fields["place"] == "rxe_completer+433"


def test_a_gap_in_the_numbers_of_a_crash_bt_makes_it_incomplete(trace):
    fact = trace(
        """
PID: 52     TASK: ee4a89996fefa000  CPU: 4   COMMAND: "sh"
 #0 [ee828e4960431c30] __schedule at ffffffff9a7c7828
 #2 [ee828e4960431f96] ret_from_fork at ffffffff9de40987
"""
    )
    assert fact.fields["complete"] is False


def test_proc_stack_with_the_ps_line_above_it(trace):
    fact = trace(
        """
root     31337  0.0  0.0      0     0 ?        D    Mar03   0:01 [kworker/u32:1+nvme-wq]
[<0>] destroy_cm_id+0x101/0x231 [iw_cm]
[<0>] iw_destroy_cm_id+0x11/0x21 [iw_cm]
[<0>] nvme_rdma_free_queue+0x41/0x61 [nvme_rdma]
[<0>] nvme_rdma_reconnect_ctrl_work+0x25/0x41 [nvme_rdma]
[<0>] process_one_work+0x1aa/0x381
[<0>] worker_thread+0x33/0x391
[<0>] kthread+0x115/0x141
[<0>] ret_from_fork+0x38/0x51
"""
    )
    assert fact.kind == "task"
    assert (fact.fields["pid"], fact.fields["comm"]) == (31337, "kworker/u32:1")
    assert (fact.fields["state"], fact.fields["workqueue"]) == ("D", "nvme-wq")
    assert fact.fields["work_function"] == "nvme_rdma_reconnect_ctrl_work"
    assert fact.fields["subsystem"] == "iwcm"
    assert fact.fields["complete"] is True


def test_proc_stack_with_the_command_above_it(trace):
    fact = trace(
        """
# cat /proc/31337/stack
[<ffffffff640a0b0c>] schedule_timeout+0x1/0x2
[<ffffffff640a0b0d>] ib_cm_x+0x1/0x2 [ib_cm]
[<ffffffffffffffff>] 0xffffffffffffffff
"""
    )
    assert (fact.kind, fact.fields["pid"], fact.fields["subsystem"]) == ("task", 31337, "ib_cm")


def test_two_proc_stacks_without_anything_between(traces):
    facts = traces(
        "[<0>] a+0x1/0x2\n[<0>] ret_from_fork+0x1/0x2\n[<0>] b+0x1/0x2\n[<0>] ret_from_fork+0x1/0x2\n"
    )
    assert [f.fields["functions"] for f in facts] == [
        ["a", "ret_from_fork"],
        ["b", "ret_from_fork"],
    ]
    assert {f.kind for f in facts} == {"task"}


def test_sysrq_table(traces):
    facts = traces(
        """
[ 100.000001] sysrq: Show Blocked State
[ 100.000002]   task                        PC stack   pid father
[ 100.000003] dd              D    0  2001   1999 0x00000004
[ 100.000004] Call Trace:
[ 100.000005]  __schedule+0x2d6/0x851
[ 100.000006]  io_schedule+0x19/0x51
[ 100.000007]  entry_SYSCALL_64_after_hwframe+0x47/0xba
[ 100.000008] RIP: 0033:0x7e3eb7165432
[ 100.000009] nfsd            D    0  2002      2 0x80004000
[ 100.000010] Call Trace:
[ 100.000011]  __schedule+0x2d6/0x851
[ 100.000012]  __ib_drain_sq+0xfd/0x181 [ib_core]
[ 100.000013]  svc_rdma_free+0x2b/0x111 [rpcrdma]
[ 100.000014]  ret_from_fork+0x1/0x2
"""
    )
    assert [(f.kind, f.fields["comm"], f.fields["pid"], f.fields["subsystem"]) for f in facts] == [
        ("task", "dd", 2001, ""),
        ("task", "nfsd", 2002, "ib_core"),
    ]
    assert all(f.fields["complete"] for f in facts)
    assert facts[0].fields["source"] == "sysrq"


def test_arm64(trace):
    fact = trace(
        """
Unable to handle kernel NULL pointer dereference at virtual address 0000000000000046
Mem abort info:
  ESR = 0x0000000096000004
Internal error: Oops: 0000000096000004 [#1] SMP
CPU: 7 PID: 88 Comm: kworker/7:1 Tainted: G           OE     5.10.0-1.aarch64 #1
pstate: 60400009 (nZCv daif +PAN -UAO -TCO BTYPE=--)
pc : hns_roce_v2_poll_cq+0x40/0x100 [hns_roce_hw_v2]
lr : __ib_process_cq+0x50/0x1a0 [ib_core]
sp : ffff800012345678
x29: ffff800012345678 x28: 0000000000000000
Call trace:
 hns_roce_v2_poll_cq+0x40/0x100 [hns_roce_hw_v2]
 __ib_process_cq+0x50/0x1a0 [ib_core]
 ret_from_fork+0x13/0x29
Code: d503233f
"""
    )
    assert fact.kind == "kernel.oops"
    assert fact.fields["place"] == "hns_roce_v2_poll_cq+0x40/0x100 [hns_roce_hw_v2]"
    assert fact.fields["functions"] == ["hns_roce_v2_poll_cq", "__ib_process_cq", "ret_from_fork"]
    assert fact.fields["subsystem"] == "hns"
    assert fact.fields["complete"] is True


def test_s390(trace):
    fact = trace(
        """
WARNING: CPU: 1 PID: 40 at drivers/infiniband/core/verbs.c:300 ib_x+0x40/0x80 [ib_core]
Krnl PSW : 0704c00180000000 0000001234567890 (ib_x+0x44/0x80 [ib_core])
Krnl GPRS: 0000000000000000 0000000000000001
Call Trace:
 [<000000000eeb1ee2>] ib_x+0x44/0x80 [ib_core]
([<000000000ffa3ff5>] ib_y+0x44/0x80 [ib_core])
 [<0000000040b6330b>] ret_from_fork+0xd/0x41
Last Breaking-Event-Address:
 [<0000000000000007>] 0x7
---[ end trace 0000000000000000 ]---
"""
    )
    assert (fact.kind, fact.fields["functions"]) == (
        "kernel.warning",
        ["ib_x", "ib_y", "ret_from_fork"],
    )
    assert fact.fields["complete"] is True


def test_powerpc(trace):
    fact = trace(
        """
BUG: Unable to handle kernel data access at 0x00000046
Oops: Kernel access of bad area, sig: 11 [#1]
CPU: 3 PID: 12 Comm: a Not tainted 6.1.0 #1
NIP:  c008000001b22f0c LR: c008000001b22e00 CTR: c0000000001a2b3c
NIP [c008000001b22f0c] mlx5_ib_poll_cq+0x16c/0x1d0 [mlx5_ib]
LR [c008000001b22e00] mlx5_ib_poll_cq+0x60/0x1d0 [mlx5_ib]
Call Trace:
[c000003fffe7b9e0] [c008000001b22f0c] __ib_process_cq+0x16c/0x1d0 [ib_core] (unreliable)
[c000003fffe7ba60] [c00000000000d05c] ret_from_kernel_thread+0x5c/0x64
"""
    )
    assert fact.kind == "kernel.oops"
    assert fact.fields["functions"] == [
        "mlx5_ib_poll_cq",
        "__ib_process_cq",
        "ret_from_kernel_thread",
    ]


def test_old_kernels_print_addresses_and_raw_words(trace):
    fact = trace(
        """
BUG: unable to handle kernel NULL pointer dereference at 0000000000000046
IP: [<ffffffffb089c856>] iscsi_x+0x28/0x70 [ib_iser]
PGD 0
Oops: 0000 [#1] SMP
Pid: 99, comm: scsi_eh_3 Tainted: GF          O 3.8.13-1.el6uek.x86_64 #1
RIP: 0010:[<ffffffffb089c856>]  [<ffffffffb089c856>] iscsi_x+0x28/0x70 [ib_iser]
Stack:
 ffff880123456789 ffff880123456789 0000000000000000 ffff880123456789
Call Trace:
 [<ffffffffb0840059>] iscsi_prep+0x129/0x150 [libiscsi]
 [<ffffffff641a5892>] ? scsi_send+0xd4/0x3a0
 [<ffffffff64065b8f>] kthread+0xd1/0xf1
 [<ffffffff6439d88a>] ret_from_fork+0x7f/0xc1
"""
    )
    assert fact.fields["functions"] == ["iscsi_x", "iscsi_prep", "kthread", "ret_from_fork"]
    assert (fact.fields["task"], fact.fields["pid"]) == ("scsi_eh_3", 99)
    assert (fact.fields["release"], fact.fields["tainted"]) == ("3.8.13-1.el6uek.x86_64", "GF O")
    assert fact.fields["complete"] is True


def test_syzbot(trace):
    fact = trace(
        """
BUG: KASAN: use-after-free in rds_tcp_x+0x1/0x2 net/rds/tcp.c:10
Call Trace:
 <TASK>
 __dump_stack lib/dump_stack.c:88 [inline]
 dump_stack_lvl+0x1e7/0x2e0 lib/dump_stack.c:106
 rds_tcp_x+0x1/0x2 net/rds/tcp.c:10
 process_one_work kernel/workqueue.c:3200 [inline]
 process_scheduled_works+0xa12/0x17c0 kernel/workqueue.c:3335
 ret_from_fork_asm+0x1d/0x41 arch/x86/entry/entry_64.S:244
 </TASK>
"""
    )
    assert fact.fields["functions"] == [
        "__dump_stack",
        "dump_stack_lvl",
        "rds_tcp_x",
        "process_one_work",
        "process_scheduled_works",
        "ret_from_fork_asm",
    ]
    assert fact.fields["subsystem"] == "rds_tcp"
    assert fact.fields["work_function"] == "rds_tcp_x"


def test_bare_frames_in_a_commit_text_are_a_trace_without_a_header(trace):
    fact = trace(
        """
    native_queued_spin_lock_slowpath+0xb/0xf
    send_mad+0x3d5/0x5a1 [ib_core]
    path_rec_start+0xa6/0x151 [ib_ipoib]
    </IRQ>
    send_mad+0x3e8/0x5a1 [ib_core]
    rdma_resolve_route+0x28a/0x821 [rdma_cm]
"""
    )
    assert fact.kind == "kernel.trace"
    assert fact.fields["complete"] is False
    assert fact.fields["duplicate_functions"] == ["send_mad"]
    assert fact.fields["subsystem"] == "ib_core"


@pytest.mark.parametrize(
    ("innermost", "kind"),
    [
        ("kasan_report", "kernel.use_after_free"),
        ("__warn", "kernel.warning"),
        ("oops_end", "kernel.oops"),
        ("panic", "kernel.panic"),
        ("print_circular_bug", "kernel.lockdep"),
        ("warn_alloc", "kernel.page_allocation_failure"),
    ],
)
def test_a_lost_header_is_told_from_the_frames(trace, innermost, kind):
    fact = trace(f" {innermost}+0x1/0x2\n siw_y+0x1/0x2 [siw]\n ret_from_fork+0x1/0x2\n")
    assert (fact.kind, fact.fields["complete"]) == (kind, False)


def test_a_report_that_begins_in_its_middle(trace):
    fact = trace(
        """
[ 77.000001][T44]  kthread+0x3b3/0x781
[ 77.000002][T44]  ret_from_fork+0x33/0x81
[ 77.000003][T44]  </TASK>
[ 77.000004][T44]
[ 77.000005][T44] Allocated by task 40:
[ 77.000006][T44]  alloc_work_entries+0xac/0x271 [iw_cm]
[ 77.000007][T44] Freed by task 44:
[ 77.000008][T44]  kfree+0x13d/0x4c1
"""
    )
    assert (fact.kind, fact.fields["complete"]) == ("kernel.use_after_free", False)


@pytest.mark.parametrize("mark", ["...", "[...]", "[..]", "....", "--", "<snip>", "[snip]"])
def test_elisions_are_marked(trace, mark):
    fact = trace(
        f"INFO: task a:1 blocked for more than 120 seconds.\n schedule+0x1/0x2\n{mark}\n ret_from_fork+0x1/0x2\n"
    )
    assert (fact.fields["elided"], fact.fields["complete"]) == (True, False)


def test_a_cut_tail_makes_it_incomplete(trace):
    fact = trace(
        "INFO: task a:1 blocked for more than 120 seconds.\n schedule+0x1/0x2\n rds_x+0x1/0x2 [rds]\n"
    )
    assert (fact.fields["elided"], fact.fields["complete"]) == (False, False)


def test_a_module_that_was_wrapped_to_the_next_line(trace):
    fact = trace(
        "INFO: task a:1 blocked for more than 120 seconds.\n nvme_rdma_free_queue+0x1/0x2\n [nvme_rdma]\n"
    )
    assert fact.fields["frames"] == ["nvme_rdma_free_queue+0x1/0x2 [nvme_rdma]"]
    assert fact.fields["modules"] == ["nvme_rdma"]


def test_an_address_whose_function_was_wrapped_to_the_next_line(trace):
    fact = trace(
        "unreferenced object 0xffff666412223000 (size 128):\n backtrace:\n [<0000000012345678>]\n qedr_x+0x1/0x2 [qedr]\n"
    )
    assert fact.fields["functions"] == ["qedr_x"]


def test_drgn_with_the_sources_lines(trace):
    fact = trace(
        """
>>> prog.stack_trace(7001)
#0  context_switch (kernel/sched/core.c:5238:2)
#1  __schedule (kernel/sched/core.c:6551:8)
#2  schedule (kernel/sched/core.c:6627:3)
#3  destroy_cm_id (drivers/infiniband/core/iwcm.c:395:2)
#4  worker_thread (kernel/workqueue.c:2440:4)
#5  ret_from_fork+0x25/0x41 (arch/x86/entry/entry_64.S:312)
"""
    )
    assert (fact.kind, fact.fields["style"], fact.fields["subsystem"]) == (
        "task",
        "debugger",
        "iwcm",
    )
    assert fact.fields["functions"][3] == "destroy_cm_id"


def test_tasks_as_drgn_tools_name_them(trace):
    fact = trace(
        """
PID: 7001    TASK: ffff9f1a9a1e0000 [D] CPU: 3   COMMAND: "kworker/u8:2"
 #0 [ffffc90012345a58] __schedule at ffffffff648bd86d
 #1 [ffffc90012345ab0] ret_from_fork at ffffffff648bdab7
"""
    )
    assert (fact.fields["state"], fact.fields["pid"], fact.fields["complete"]) == ("D", 7001, True)


def test_stacks_of_programs_are_none(traces):
    assert not traces(
        """
Process 811 (mysqld) of user 27 dumped core.
Stack trace of thread 811:
#0  0x00007e3eb7165432 __pthread_kill_implementation (libc.so.6 + 0x8a1b4)
#1  0x00007f5fa7341d46 raise (libc.so.6 + 0x41d46)
#2  0x000055d1c0ffee00 main (mysqld + 0x1000)
#0  0x00007ffff7e4a000 in raise () from /lib64/libc.so.6
Exception in thread "main" java.lang.IllegalStateException
    at com.example.Main.main(Main.java:10)
"""
    )
