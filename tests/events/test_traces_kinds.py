"""Every kind of report gives one fact of its kind, with what its header says."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from logtext import HUNG, KASAN


def test_hung_task(trace):
    fact = trace(HUNG)
    assert fact.kind == "kernel.hung_task"
    assert fact.where.line == 1
    assert fact.where.input == "messages"
    assert fact.host == "node9"
    assert fact.time.uptime == 9000.100001
    assert fact.text.endswith("blocked for more than 241 seconds.")
    expected = {
        "task": "kworker/u40:7",
        "comm": "kworker/u40:7",
        "pid": 3123,
        "seconds": 241,
        "state": "D",
        "workqueue": "krdsd",
        "work_function": "rds_shutdown_worker",
        "release": "5.15.0-77.1.el8uek.x86_64",
        "tainted": "G OE",
        "functions": [
            "__schedule",
            "schedule",
            "schedule_timeout",
            "rds_ib_conn_path_shutdown",
            "rds_conn_shutdown",
            "process_one_work",
            "worker_thread",
            "kthread",
            "ret_from_fork",
        ],
        "modules": ["rds_rdma", "rds"],
        "subsystem": "rds",
        "duplicate_functions": [],
        "complete": True,
        "elided": False,
        "history": [],
        "style": "kernel",
    }
    assert {n: fact.fields[n] for n in expected} == expected
    assert fact.fields["frames"][4] == "rds_ib_conn_path_shutdown+0x2f3/0x5c0 [rds_rdma]"
    assert fact.fields["frames"][3] == "? call_timer_fn+0x140/0x140"
    assert fact.fields["frames"][6] == "rds_conn_shutdown.constprop.0+0x101/0x3a0 [rds]"


@pytest.mark.parametrize(
    "row",
    [
        "dbwriter        D    0  4711   4700 0x00000062",
        "dbwriter        D13488  4711   4700 0x80000084",
        "dbwriter        D ffff88103fc13180     0  4711   4700 0x00000080",
        "task:dbwriter        state:D stack:    0 pid: 4711 ppid:  4700 flags:0x00000002",
        "task:dbwriter        state:D stack:0     pid:4711  tgid:4711  ppid:4700   task_flags:0x400140 flags:0x00000002",
    ],
)
def test_task_rows_of_all_ages(trace, row):
    fact = trace(
        f"INFO: task dbwriter:4711 blocked for more than 120 seconds.\n{row}\nCall Trace:\n schedule+0x1/0x2\n"
    )
    assert (fact.kind, fact.fields["pid"], fact.fields["state"]) == ("kernel.hung_task", 4711, "D")
    assert fact.fields["functions"] == ["schedule"]


def test_hung_task_in_io_wait_and_with_a_lock_owner(traces):
    facts = traces(
        """
INFO: task cp:900 blocked in I/O wait for more than 120 seconds.
 schedule+0x1/0x2
INFO: task mount:901 <reader> blocked for more than 120 seconds.
INFO: task mount:901 <reader> blocked on an rw-semaphore likely owned by task cp:900 <writer>
 schedule+0x1/0x2
"""
    )
    assert [(f.kind, f.fields["task"], f.fields["seconds"]) for f in facts] == [
        ("kernel.hung_task", "cp", 120),
        ("kernel.hung_task", "mount", 120),
    ]


def test_soft_lockup(trace):
    fact = trace(
        """
[  700.000001] watchdog: BUG: soft lockup - CPU#11 stuck for 26s! [kworker/11:3:2222]
[  700.000002] Modules linked in: mlx5_ib ib_core
[  700.000003] CPU: 11 PID: 2222 Comm: kworker/11:3 Kdump: loaded Not tainted 5.14.0-1.el9.x86_64 #1
[  700.000004] Hardware name: none
[  700.000005] Workqueue: ib-comp-wq ib_cq_poll_work [ib_core]
[  700.000006] RIP: 0010:mlx5_ib_poll_cq+0x77/0x120 [mlx5_ib]
[  700.000007] Code: 0f 1f 44 00 00
[  700.000008] RSP: 0018:ffffa0 EFLAGS: 00000528
[  700.000009] Call Trace:
[  700.000010]  <TASK>
[  700.000011]  __ib_process_cq+0x61/0x1a0 [ib_core]
[  700.000012]  ib_cq_poll_work+0x2a/0x80 [ib_core]
[  700.000013]  process_one_work+0x1e5/0x3b0
[  700.000014]  ret_from_fork+0x22/0x41
[  700.000015]  </TASK>
"""
    )
    assert fact.kind == "kernel.soft_lockup"
    assert fact.fields["cpu"] == 11
    assert fact.fields["seconds"] == 26
    assert fact.fields["task"] == "kworker/11:3"
    assert fact.fields["place"] == "mlx5_ib_poll_cq+0x77/0x120 [mlx5_ib]"
    assert fact.fields["functions"][:2] == ["mlx5_ib_poll_cq", "__ib_process_cq"]
    assert fact.fields["modules"] == ["mlx5_ib", "ib_core"]
    assert fact.fields["subsystem"] == "mlx5"
    assert fact.fields["complete"] is True
    assert fact.fields["release"] == "5.14.0-1.el9.x86_64"


@pytest.mark.parametrize(
    "line",
    [
        "NMI watchdog: Watchdog detected hard LOCKUP on cpu 5",
        "watchdog: Watchdog detected hard LOCKUP on cpu 5",
        "watchdog: CPU 5 self-detected hard LOCKUP @ plpar_hcall_norets+0x1c/0x28",
        "watchdog: CPU 5 Hard LOCKUP",
    ],
)
def test_hard_lockup(trace, line):
    fact = trace(
        f"{line}\nCPU: 5 PID: 9 Comm: rcu Not tainted 6.1.0-1 #1\nCall Trace:\n send_mad+0x1/0x2 [ib_core]\n"
    )
    assert (fact.kind, fact.fields["cpu"], fact.fields["subsystem"]) == (
        "kernel.hard_lockup",
        5,
        "ib_core",
    )


def test_rcu_stall(trace):
    fact = trace(
        """
[  100.000000] rcu: INFO: rcu_preempt self-detected stall on CPU
[  100.000010] rcu: 	3-....: (20999 ticks this GP) idle=1a2/1/0x4000000000000002 softirq=811/811 fqs=5249
[  100.000020] rcu: 	(t=21000 jiffies g=1121 q=311 ncpus=4)
[  100.000030] CPU: 3 PID: 1200 Comm: rping Not tainted 6.6.30 #1
[  100.000040] RIP: 0010:rxe_requester+0x40/0x200 [rdma_rxe]
[  100.000050] Call Trace:
[  100.000060]  <IRQ>
[  100.000070]  ? rcu_dump_cpu_stacks+0xc4/0x100
[  100.000080]  </IRQ>
[  100.000090]  <TASK>
[  100.000100]  do_task+0x80/0x120 [rdma_rxe]
[  100.000110]  ret_from_fork_asm+0x1b/0x30
[  100.000120]  </TASK>
"""
    )
    assert (fact.kind, fact.fields["cpu"], fact.fields["pid"]) == ("kernel.rcu_stall", 3, 1200)
    assert fact.fields["functions"][0] == "rxe_requester"
    assert fact.fields["subsystem"] == "rxe"


def test_rcu_stall_seen_by_another_cpu(trace):
    fact = trace(
        "INFO: rcu_sched detected stalls on CPUs/tasks: { 7} (detected by 2, t=60002 jiffies, g=4, c=3, q=0)"
    )
    assert (fact.kind, fact.fields["cpu"], fact.fields["flavour"]) == (
        "kernel.rcu_stall",
        7,
        "rcu_sched",
    )


def test_workqueue_lockup_lists_what_is_busy(trace):
    fact = trace(
        """
BUG: workqueue lockup - pool cpus=3 node=0 flags=0x0 nice=0 stuck for 48s!
Showing busy workqueues and worker pools:
workqueue events: flags=0x0
  pwq 6: cpus=3 node=0 flags=0x0 nice=0 active=3/256 refcnt=4
    in-flight: 771:cma_work_handler, 90(RESCUER):flush_to_ldisc
    pending: vmstat_shepherd, psi_avgs_work
workqueue iw_cm_wq: flags=0x2000a
  pwq 16: cpus=0-7 flags=0x4 nice=0 active=1/1 refcnt=3
    in-flight: 801:cm_work_handler
    inactive: cm_work_handler
pool 6: cpus=3 node=0 flags=0x0 nice=0 hung=48s workers=3 idle: 31 44
"""
    )
    assert fact.kind == "kernel.workqueue_lockup"
    assert (fact.fields["cpus"], fact.fields["seconds"]) == ("3", 48)
    assert fact.fields["workqueues"] == [
        {
            "name": "events",
            "in_flight": [
                {"pid": 771, "function": "cma_work_handler"},
                {"pid": 90, "function": "flush_to_ldisc"},
            ],
            "pending": ["vmstat_shepherd", "psi_avgs_work"],
        },
        {
            "name": "iw_cm_wq",
            "in_flight": [{"pid": 801, "function": "cm_work_handler"}],
            "pending": ["cm_work_handler"],
        },
    ]


@pytest.mark.parametrize(
    ("head", "bug"),
    [
        (
            "BUG: kernel NULL pointer dereference, address: 0000000000000038",
            "kernel NULL pointer dereference",
        ),
        (
            "BUG: unable to handle kernel NULL pointer dereference at 0000000000000038",
            "unable to handle kernel NULL pointer dereference",
        ),
        (
            "BUG: unable to handle page fault for address: ffffb0f000123000",
            "unable to handle page fault",
        ),
        (
            "BUG: unable to handle kernel paging request at ffffb0f000123000",
            "unable to handle kernel paging request",
        ),
        (
            "general protection fault, probably for non-canonical address 0xdead000000000122: 0000 [#1] SMP NOPTI",
            "general protection fault",
        ),
        ("general protection fault: 0000 [#1] SMP", "general protection fault"),
        ("kernel BUG at drivers/infiniband/core/iwcm.c:801!", "kernel BUG"),
        (
            "Unable to handle kernel paging request at virtual address ffff00080a0b0c0d",
            "Unable to handle kernel paging request",
        ),
        (
            "Unable to handle kernel pointer dereference in virtual kernel address space",
            "Unable to handle kernel pointer dereference",
        ),
        ("invalid opcode: 0000 [#1] SMP", "invalid opcode"),
        (
            "list_del corruption. next->prev should be ffff6664, but was dead000000000122",
            "list_del corruption",
        ),
    ],
)
def test_oops(trace, head, bug):
    fact = trace(
        f"""
{head}
Oops: 0000 [#1] SMP PTI
CPU: 2 PID: 333 Comm: kworker/2:1 Not tainted 6.6.30 #1
Workqueue: iw_cm_wq cm_work_handler [iw_cm]
RIP: 0010:cm_conn_rep_handler+0x22/0x90 [iw_cm]
Call Trace:
 <TASK>
 cm_work_handler+0x30/0x60 [iw_cm]
 process_one_work+0x1/0x2
 ret_from_fork+0x1/0x2
 </TASK>
---[ end trace 0000000000000000 ]---
RIP: 0010:cm_conn_rep_handler+0x22/0x90 [iw_cm]
"""
    )
    assert fact.kind == "kernel.oops"
    assert fact.fields["bug"] == bug
    assert fact.fields["message"] == head
    assert fact.fields["functions"] == [
        "cm_conn_rep_handler",
        "cm_work_handler",
        "process_one_work",
        "ret_from_fork",
    ]
    assert fact.fields["subsystem"] == "iwcm"
    assert fact.fields["complete"] is True


def test_user_space_faults_are_none(traces):
    assert not traces(
        """
traps: mysqld[811] general protection fault ip:7f00aa sp:7ffe00 error:0 in libc.so.6[7f0000+1000]
traps: a.out[812] trap invalid opcode ip:55d1 sp:7ffd error:0
mysqld[811]: segfault at 0 ip 000055d1 sp 00007ffd error 4 in mysqld[55d1+1000]
java: Internal error: something
"""
    )


def test_kasan_keeps_history_apart(trace):
    fact = trace(KASAN)
    assert fact.kind == "kernel.use_after_free"
    assert fact.fields["bug"] == "slab-use-after-free"
    assert fact.fields["pid"] == 901
    assert fact.fields["functions"] == [
        "dump_stack_lvl",
        "print_report",
        "kasan_report",
        "rds_conn_path_connect_if_down",
        "rds_sendmsg",
        "entry_SYSCALL_64_after_hwframe",
    ]
    assert [(h["label"], h["pid"], h["functions"][-1]) for h in fact.fields["history"]] == [
        ("allocated", 880, "rds_conn_create"),
        ("freed", 17, "rds_conn_destroy"),
        ("work creation", None, "rds_conn_drop"),
    ]
    assert fact.fields["complete"] is True
    assert "rds_conn_path_connect_if_down" in fact.fields["signature"]


def test_refcount_underflow(trace):
    fact = trace(
        """
------------[ cut here ]------------
refcount_t: underflow; use-after-free.
WARNING: CPU: 3 PID: 55 at lib/refcount.c:28 refcount_warn_saturate+0xba/0x110
Call Trace:
 siw_cep_put+0x1c8/0x1f1 [siw]
"""
    )
    assert fact.kind == "kernel.use_after_free"
    assert fact.fields["bug"] == "underflow; use-after-free"
    assert fact.fields["functions"] == ["refcount_warn_saturate", "siw_cep_put"]
    assert fact.fields["subsystem"] == "siw"


def test_refcount_leak_is_a_warning(trace):
    fact = trace(
        "refcount_t: saturated; leaking memory.\nWARNING: CPU: 3 PID: 55 at lib/refcount.c:22 refcount_warn_saturate+0x6a/0x110\n"
    )
    assert fact.kind == "kernel.warning"


def test_null_dereference_found_by_kasan_is_an_oops(trace):
    fact = trace(
        "BUG: KASAN: null-ptr-deref in smc_conn_free+0x10/0x20 [smc]\nRead of size 8 at addr 0000000000000010 by task a/1\n"
    )
    assert (fact.kind, fact.fields["bug"]) == ("kernel.oops", "null-ptr-deref")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "WARNING: CPU: 1 PID: 30 at drivers/nvme/host/rdma.c:900 nvme_rdma_x+0x1/0x2 [nvme_rdma]",
            {
                "file": "drivers/nvme/host/rdma.c",
                "line": 900,
                "cpu": 1,
                "pid": 30,
                "functions": ["nvme_rdma_x"],
            },
        ),
        (
            "WARNING: drivers/nvme/host/rdma.c:900 at nvme_rdma_x+0x1/0x2 [nvme_rdma], CPU#1: kworker/1:2/30",
            {"file": "drivers/nvme/host/rdma.c", "line": 900, "cpu": 1},
        ),
        ("WARNING: at net/sched/sch_generic.c:303 dev_watchdog+0x1/0x2()", {"line": 303}),
        ("BUG: scheduling while atomic: rping/77/0x00000002", {"bug": "scheduling while atomic"}),
        (
            "BUG: sleeping function called from invalid context at mm/vmalloc.c:1",
            {"bug": "sleeping function called from invalid context"},
        ),
        ("DEBUG_LOCKS_WARN_ON(lock->magic != lock)", {"bug": "lock->magic != lock"}),
        (
            "UBSAN: array-index-out-of-bounds in drivers/infiniband/x.c:3:4",
            {"bug": "array-index-out-of-bounds"},
        ),
        (
            "workqueue: WQ_MEM_RECLAIM wq1:fn1 [rdma_cm] is flushing !WQ_MEM_RECLAIM wq2:fn2 [ib_core]",
            {"bug": "flush dependency", "flusher": "wq1:fn1", "flushed": "wq2:fn2"},
        ),
    ],
)
def test_warnings(trace, text, expected):
    fact = trace(text)
    assert fact.kind == "kernel.warning"
    assert {n: fact.fields[n] for n in expected} == expected


def test_a_warning_says_what_it_was_told_to(trace):
    fact = trace(
        """
[   10.000001] ------------[ cut here ]------------
[   10.000002] failed to drain recv queue: -5
[   10.000003] WARNING: CPU: 6 PID: 4000 at drivers/infiniband/core/verbs.c:2800 __ib_drain_rq+0x150/0x190 [ib_core]
[   10.000004] Call Trace:
[   10.000005]  ib_drain_qp+0x74/0x91 [ib_core]
[   10.000006]  ret_from_fork+0x1/0x2
[   10.000007] ---[ end trace 0123456789abcdef ]---
"""
    )
    assert fact.kind == "kernel.warning"
    assert fact.fields["message"] == "failed to drain recv queue: -5"
    assert fact.fields["functions"][:2] == ["__ib_drain_rq", "ib_drain_qp"]


def test_lockdep_names_the_acquiring_stack(trace):
    fact = trace(
        """
======================================================
WARNING: possible circular locking dependency detected
6.1.99 #1 Not tainted
------------------------------------------------------
kworker/3:1/77 is trying to acquire lock:
ffff666400000001 (&id_priv->handler_mutex){+.+.}-{3:3}, at: rdma_destroy_id+0x17/0x30 [rdma_cm]

but task is already holding lock:
ffff666400000002 (&x){+.+.}-{3:3}, at: process_one_work+0x1/0x2

the existing dependency chain (in reverse order) is:

-> #1 (&x){+.+.}-{3:3}:
       __mutex_lock+0x1/0x2
       cma_add_one+0x1/0x2 [rdma_cm]

-> #0 (&id_priv->handler_mutex){+.+.}-{3:3}:
       __lock_acquire+0x1/0x2

stack backtrace:
CPU: 3 PID: 77 Comm: kworker/3:1 Not tainted 6.1.99 #1
Call Trace:
 <TASK>
 dump_stack_lvl+0x1/0x2
 check_noncircular+0x1/0x2
 rdma_destroy_id+0x17/0x30 [rdma_cm]
 ret_from_fork+0x1/0x2
 </TASK>
"""
    )
    assert fact.kind == "kernel.lockdep"
    assert fact.fields["bug"] == "possible circular locking"
    assert fact.fields["pid"] == 77
    assert fact.fields["functions"] == [
        "dump_stack_lvl",
        "check_noncircular",
        "rdma_destroy_id",
        "ret_from_fork",
    ]
    assert [h["label"] for h in fact.fields["history"]] == ["-> #1", "-> #0"]
    assert fact.fields["release"] == "6.1.99"


def test_memory_leaks(traces):
    facts = traces(
        """
unreferenced object 0xffff666412223000 (size 128):
  comm "kworker/u4:1", pid 321, jiffies 4295555555 (age 31.000s)
  hex dump (first 32 bytes):
    00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f  ................
  backtrace:
    [<0000000012345678>] kmem_cache_alloc_trace+0x1/0x2
    [<0000000023456789>] qedr_iw_connect+0xfc/0x3d9 [qedr]
unreferenced object 0xffff666412224000 (size 64):
  backtrace:
    [<0000000023456789>] smc_lgr_create+0xf9/0x3c8 [smc]
kmem_cache_destroy rds_ib_frag: Slab cache still has objects
CPU: 0 PID: 40 Comm: rmmod Not tainted 4.14.35-1.el7uek #2
Call Trace:
 dump_stack+0x1/0x2
 rds_ib_recv_exit+0x14/0x31 [rds_rdma]
"""
    )
    assert [(f.kind, f.fields["kind_of"], f.fields["subsystem"]) for f in facts] == [
        ("kernel.memory_leak", "kmemleak", "qedr"),
        ("kernel.memory_leak", "kmemleak", "smc"),
        ("kernel.memory_leak", "slab", "rds"),
    ]
    assert facts[0].fields["pid"] == 321
    assert facts[0].fields["size"] == 128
    assert facts[2].fields["cache"] == "rds_ib_frag"
    assert facts[2].fields["functions"] == ["dump_stack", "rds_ib_recv_exit"]


@pytest.mark.parametrize(
    ("line", "order", "mode"),
    [
        ("oracle_1: page allocation failure. order:2, mode:0x20", 2, "0x20"),
        (
            "kworker/0:1H: page allocation failure: order:5, mode:0x40dc0(GFP_KERNEL|__GFP_COMP|__GFP_ZERO), nodemask=(null)",
            5,
            "0x40dc0",
        ),
    ],
)
def test_page_allocation_failure(trace, line, order, mode):
    fact = trace(
        f"{line}\nCall Trace:\n <IRQ>  [<ffffffff640cce72>] __alloc_pages_nodemask+0x527/0x5a6\n [<ffffffffb05b1755>] ipoib_cm_alloc_rx_skb+0x34/0x1ef [ib_ipoib]\n"
    )
    assert fact.kind == "kernel.page_allocation_failure"
    assert (fact.fields["order"], fact.fields["mode"]) == (order, mode)
    assert fact.fields["functions"] == ["__alloc_pages_nodemask", "ipoib_cm_alloc_rx_skb"]


def test_panic_after_an_oops_is_a_report_of_its_own(traces):
    facts = traces(
        """
BUG: kernel NULL pointer dereference, address: 0000000000000038
RIP: 0010:srp_x+0x1/0x2 [ib_srp]
Call Trace:
 srp_y+0x1/0x2 [ib_srp]
---[ end trace 0000000000000000 ]---
Kernel panic - not syncing: Fatal exception in interrupt
Kernel Offset: 0x1000000 from 0xffffffff64000000
---[ end Kernel panic - not syncing: Fatal exception in interrupt ]---
"""
    )
    assert [(f.kind, f.fields["subsystem"]) for f in facts] == [
        ("kernel.oops", "srp"),
        ("kernel.panic", ""),
    ]
    assert facts[1].fields["reason"] == "Fatal exception in interrupt"
