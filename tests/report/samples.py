"""Reports made by hand, as the engine would make them: what the renderers are tried on."""

from typing import Any

from rdmadiag.report.model import (
    Check,
    Evidence,
    Finding,
    FixedInRow,
    FixRow,
    InputRow,
    ProblemRow,
    Report,
    StepRow,
    TimelineRow,
    Tool,
)

TOOL = Tool("rdmadiag", "0.1.0", "5f2c9e1ab304")
STARTED = "2026-10-01T08:15:02+00:00"
UEK4 = "4.1.12-124.16.4.el6uek.x86_64"
DEBIAN = "6.1.0-56-amd64"

CQ_LINE = "Sep 30 21:04:11 cell07 kernel: [381264.117530] mlx4_core 0000:3b:00.0: CQ access violation on CQN 00041a syndrome=0x2 vendor_error_syndrome=0x0"
DROP_LINE = "Sep 30 21:04:11 cell07 kernel: [381264.117562] RDS/IB: connection <198.51.100.43,198.51.100.1,0> dropped due to 'qp event'"
STALL_LINE = "Sep 30 21:05:20 cell07 kernel: [381333.020101] RDS/IB: re-connect <198.51.100.43,198.51.100.1,0> stalling for more than 1 min...(drops=1 err=0)"

STACK_A = [
    "__schedule+0x34d/0x9f3",
    "schedule+0x5a/0xc7",
    "schedule_timeout+0x94/0x14d",
    "rds_ib_conn_shutdown+0x3bd/0x4e9 [rds_rdma]",
    "rds_conn_shutdown+0xc5/0x339 [rds]",
    "? rds_shutdown_worker+0x1c/0x2f [rds]",
    "process_one_work+0x1c7/0x380",
    "worker_thread+0x4d/0x37d",
    "kthread+0xda/0xfe",
    "ret_from_fork+0x22/0x2d",
]
STACK_B = [
    "__schedule+0x34d/0x9f3",
    "schedule+0x5a/0xc7",
    "destroy_cm_id+0x15c/0x1e0 [iw_cm]",
    "iw_destroy_cm_id+0x1a/0x30 [iw_cm]",
    "_destroy_id+0x18b/0x2a0 [rdma_cm]",
    "nvme_rdma_alloc_queue+0x2c9/0x330 [nvme_rdma]",
    "nvme_rdma_setup_ctrl+0x8a/0x4c0 [nvme_rdma]",
    "nvme_rdma_reconnect_ctrl_work+0x23/0x60 [nvme_rdma]",
    "process_one_work+0x1c7/0x380",
    "worker_thread+0x4d/0x37d",
    "kthread+0xda/0xfe",
    "ret_from_fork+0x22/0x2d",
]


def ring(nr: int, alloc_ptr: int, free_ptr: int, free_ctr: int, in_flight: int) -> dict[str, int]:
    """Return a ring as the facts have it."""
    return {
        "nr": nr,
        "alloc_ptr": alloc_ptr,
        "alloc_ctr": free_ctr + in_flight,
        "free_ptr": free_ptr,
        "free_ctr": free_ctr,
        "in_flight": in_flight,
    }


def rds_connection(**changes: Any) -> dict[str, Any]:
    """Return the fields of the stuck connection."""
    fields: dict[str, Any] = {
        "address": "0xffff88c1f2dee000",
        "conn": "0xffff88c1f2ff7a10",
        "path": "0xffff88c1f2fdc000",
        "laddr": "198.51.100.43",
        "faddr": "198.51.100.1",
        "tos": 0,
        "state": "DISCONNECTING",
        "drop_reason": "qp event",
        "flags": ["RDS_IN_XMIT", "RDS_RECONNECT_PENDING"],
        "recv_ring": ring(1024, 2, 127, 127, 899),
        "send_ring": ring(256, 114, 114, 114, 0),
        "signaled_sends": 0,
        "fastreg_in_use": 0,
        "fastreg_wrs": 512,
        "fastreg_full": True,
        "cq_error_flag": None,
        "qp_num": 1049,
        "qp_state": "ERR",
        "send_cq": "0xffff88c1f2fdcc00",
        "recv_cq": "0xffff88c1f2fdc600",
        "device": "mlx4_0",
        "cm_state": "DISCONNECT",
        "cm_id": "0xffff88c1f7d34800",
        "active_side": True,
        "shutdown_task": 62577,
        "shutdown_function": "rds_ib_conn_shutdown",
        "shutdown_wait_seconds": 36914.2,
        "shutdown_pending": False,
        "connect_pending": False,
        "reconnect_timer": False,
        "behind_task": None,
        "workqueue": "krdsd",
        "queued_messages": 41,
        "queued_bytes": 335872,
        "corrupt": False,
        "problems": [],
    }
    return {**fields, **changes}


def task(pid: int, comm: str, frames: list[str], **changes: Any) -> dict[str, Any]:
    """Return the fields of a sleeping task."""
    fields: dict[str, Any] = {
        "pid": pid,
        "comm": comm,
        "state": "D",
        "cpu": 4,
        "address": "0xffff88c201228000",
        "wait_seconds": 36914.2,
        "wait_clock": "worker.last_active",
        "frames": frames,
        "functions": [f.removeprefix("? ").split("+")[0] for f in frames],
        "modules": ["rds_rdma", "rds"],
        "waits_on": {
            "type": "wait_queue_head_t",
            "address": "0xffffffffc05d1a80",
            "what": "rds_ib_ring_empty_wait",
        },
        "work_function": "rds_shutdown_worker",
        "work": "0xffff88c1f2fdc190",
        "workqueue": "krdsd",
        "subsystem": "rds",
    }
    return {**fields, **changes}


def fix_a() -> FixRow:
    """Return the fix of the first story, missing from the kernel."""
    return FixRow(
        id="ORA-28733324",
        orabug="28733324",
        cve="",
        commit="",
        title="rds: RDS connection does not reconnect after CQ access violation error",
        url="https://linux.oracle.com/errata/ELSA-2019-4510.html",
        fixed_in=[
            FixedInRow("UEK4", "4.1.12-124.24.3"),
            FixedInRow("UEK5", "4.14.35-1844.2.1"),
        ],
        status="missing",
        why=f"UEK4 has it since 4.1.12-124.24.3, this kernel is {UEK4}; struct rds_ib_connection has no member i_flags",
    )


def finding_a(**changes: Any) -> Finding:
    """Return the first story: an RDS shutdown that waits for completions of a broken CQ."""
    rows: dict[str, Any] = {
        "id": "rds-shutdown-stuck-on-cq-error",
        "title": "RDS connection 198.51.100.43 → 198.51.100.1 (tos 0) cannot finish its shutdown: its completion queue is broken",
        "subsystem": "rds",
        "severity": "critical",
        "verdict": "confirmed",
        "host": "cell07",
        "subject": {"laddr": "198.51.100.43", "faddr": "198.51.100.1", "tos": 0},
        "first_seen": "2026-09-30T21:04:11.117530+00:00",
        "last_seen": "2026-10-01T07:19:25.400000+00:00",
        "summary": "The shutdown worker (PID 62577) has waited 10 h 15 min for 899 receive completions that a queue in error never delivers. The connection will not come back by itself.",
        "explanation": "When a completion queue goes into error, the HCA moves every queue pair on it to the error state but can no longer write completions into the broken queue.\n\nThe flush errors that the shutdown waits for therefore never arrive: rds_ib_conn_shutdown wakes every 5 seconds, finds the receive ring still not empty, and sleeps again, without an end.",
        "evidence": [
            Evidence(
                clue="cq_error",
                kind="hca.cq_error",
                text=CQ_LINE,
                time="2026-09-30T21:04:11.117530+00:00",
                fields={
                    "driver": "mlx4_core",
                    "pci": "0000:3b:00.0",
                    "cqn": 1050,
                    "error": "access violation",
                    "syndrome": 2,
                    "syndrome_meaning": "access violation",
                },
                where={"input": "messages", "line": 88214, "offset": 9127340},
                host="cell07",
                note="the HCA could not write this completion queue",
            ),
            Evidence(
                clue="drop",
                kind="rds.connection_dropped",
                text=DROP_LINE,
                time="2026-09-30T21:04:11.117562+00:00",
                fields={
                    "laddr": "198.51.100.43",
                    "faddr": "198.51.100.1",
                    "tos": 0,
                    "reason": "qp event",
                },
                where={"input": "messages", "line": 88215, "offset": 9127482},
                host="cell07",
                note="RDS drops the connection that used it",
            ),
            Evidence(
                clue="stall",
                kind="rds.reconnect_stalled",
                text=STALL_LINE,
                time="2026-09-30T21:05:20.020101+00:00",
                fields={
                    "laddr": "198.51.100.43",
                    "faddr": "198.51.100.1",
                    "tos": 0,
                    "drops": 1,
                    "err": 0,
                },
                where={"input": "messages", "line": 88290, "offset": 9134001},
                host="cell07",
                count=3,
            ),
            Evidence(
                clue="conn",
                kind="rds.ib_connection",
                text="DISCONNECTING, receive ring 899 of 1024 in flight, send ring empty",
                time="2026-10-01T07:19:25.400000+00:00",
                fields=rds_connection(),
                where={
                    "input": "vmcore",
                    "type": "struct rds_ib_connection",
                    "address": "0xffff88c1f2dee000",
                    "member": "i_recv_ring",
                },
                host="cell07",
                note="899 receives are still out",
            ),
            Evidence(
                clue="worker",
                kind="task",
                text="kworker/u224:1 (PID 62577, D) in rds_ib_conn_shutdown for 36914 s",
                time="2026-10-01T07:19:25.400000+00:00",
                fields=task(62577, "kworker/u224:1", STACK_A),
                where={
                    "input": "vmcore",
                    "type": "struct task_struct",
                    "address": "0xffff88c201228000",
                },
                host="cell07",
                note="the thread that waits for them",
            ),
            Evidence(
                clue="behind",
                kind="workqueue.work",
                text="rds_shutdown_worker of another connection waits behind PID 62577",
                time="2026-10-01T07:19:25.400000+00:00",
                fields={
                    "workqueue": "krdsd",
                    "flags": ["WQ_MEM_RECLAIM", "__WQ_ORDERED"],
                    "max_active": 1,
                    "function": "rds_shutdown_worker",
                    "work": "0xffff88c1f2aa0190",
                    "state": "pending",
                    "worker_pid": None,
                    "behind": 62577,
                    "due_seconds": None,
                    "flushers": [],
                },
                where={
                    "input": "vmcore",
                    "type": "struct work_struct",
                    "address": "0xffff88c1f2aa0190",
                },
                host="cell07",
            ),
        ],
        "fixes": [fix_a()],
        "next_steps": [
            StepRow(
                "Reboot the cell in a maintenance window: the worker cannot be woken from outside."
            ),
            StepRow("Update to UEK4 4.1.12-124.24.3 or later.", "yum update kernel-uek"),
            StepRow(
                "Look at the connection yourself in drgn:",
                'conn = Object(prog, "struct rds_ib_connection *", value=0xffff88c1f2dee000)\nprint(conn.i_recv_ring)',
            ),
        ],
        "fingerprint": "8c1f0b7e2a934d55",
    }
    return Finding(**{**rows, **changes})


def controller(n: int, **changes: Any) -> dict[str, Any]:
    """Return the fields of a controller whose reconnect is stuck in its queue 0."""
    live = {
        "index": 1,
        "flags": "0x0",
        "flag_names": [],
        "cm_id": "0xffff8a67c1f72c00",
        "cm_id_live": False,
        "cm_state": None,
        "iw_cm_id": None,
        "qp_num": None,
        "qp_state": None,
    }
    first = {
        **live,
        "index": 0,
        "flags": "0x4",
        "flag_names": ["TR_READY"],
        "cm_id_live": True,
        "cm_state": "DESTROYING",
        "iw_cm_id": f"0xffff8a67d7a8f{n}00",
    }
    fields: dict[str, Any] = {
        "address": f"0xffff8a67c1a8{n}000",
        "controller": f"nvme{n}",
        "state": "CONNECTING",
        "nqn": f"nqn.2014-08.com.example:storage.disk{n}",
        "traddr": "203.0.113.2",
        "trsvcid": "4420",
        "host_traddr": "203.0.113.1",
        "listed": True,
        "refcount": 3,
        "queue_count": 5,
        "queues": [first, *({**live, "index": i} for i in range(1, 5))],
        "queues_live": 0,
        "reconnects": 1,
        "max_reconnects": 300,
        "reconnect_delay_seconds": 2,
        "kato_seconds": 5,
        "reconnect_work": "running",
        "reconnect_task": 40 + n,
        "reconnect_due_seconds": None,
        "delete_work": "idle",
        "delete_task": None,
        "error_work": "idle",
        "reset_work": "idle",
        "blocked_task": 40 + n,
        "blocked_queue": 0,
        "blocked_wait_seconds": 5.3,
        "blocked_in": "destroy_cm_id",
        "iw_cm_id": f"0xffff8a67d7a8f{n}00",
        "driver_connect_limit_seconds": 10.0,
        "driver_remaining_seconds": 4.7,
        "bound_seconds": 4.7,
        "bound_total_seconds": 3588.0,
        "bound_arithmetic": "4.7 s are left of the driver's 10 s for this attempt; then 299 attempts x (2 s delay + 10 s) = 3588 s",
        "waiting_behind": [],
    }
    return {**fields, **changes}


def finding_b(n: int, **changes: Any) -> Finding:
    """Return the second story for controller *n*."""
    behind = (
        [{"pid": 812, "comm": "nvme", "what": "flush_work of the delete work"}] if n == 0 else []
    )
    ctrl = controller(n, waiting_behind=behind)
    time = 31.84
    rows: dict[str, Any] = {
        "id": "nvme-rdma-blocked-by-iwcm-connect-wait",
        "title": f"nvme{n} cannot reconnect to 203.0.113.2: it waits for a connection attempt that the iWARP driver has not ended",
        "subsystem": "nvme_rdma",
        "severity": "critical" if n == 0 else "warning",
        "verdict": "confirmed",
        "host": "db03",
        "subject": {
            "controller": f"nvme{n}",
            "traddr": "203.0.113.2",
            "nqn": f"nqn.2014-08.com.example:storage.disk{n}",
        },
        "first_seen": 19.99 + n / 100,
        "last_seen": time,
        "summary": f"kworker/u8:{n} (PID {40 + n}) is in destroy_cm_id for 5.3 s. It looks like a deadlock and is none: this attempt ends within 4.7 s, all that are left within 1 h.",
        "explanation": "iwcm.c does not destroy a cm_id while IWCM_F_CONNECT_WAIT is set: it sleeps until the driver reports the end of the attempt.",
        "evidence": [
            Evidence(
                clue="recovery",
                kind="nvme.error_recovery",
                text=f"[   19.869909] nvme nvme{n}: starting error recovery",
                time=19.869909 + n / 1000,
                fields={"controller": f"nvme{n}"},
                where={"input": "dmesg.log", "line": 412 + n, "offset": 25120 + 52 * n},
                host="db03",
            ),
            Evidence(
                clue="failed",
                kind="nvme.rdma_connect_failed",
                text=f"[   25.097503] nvme nvme{n}: rdma connection establishment failed (-110)",
                time=25.097503 + n / 10000,
                fields={"controller": f"nvme{n}", "error": -110, "error_name": "ETIMEDOUT"},
                where={"input": "dmesg.log", "line": 421 + n, "offset": 25620 + 75 * n},
                host="db03",
            ),
            Evidence(
                clue="ctrl",
                kind="nvme.rdma_controller",
                text=f"nvme{n} CONNECTING, reconnect work running, blocked in queue 0",
                time=time,
                fields=ctrl,
                where={
                    "input": "vmcore",
                    "type": "struct nvme_rdma_ctrl",
                    "address": ctrl["address"],
                },
                host="db03",
            ),
            Evidence(
                clue="cm_id",
                kind="iwcm.cm_id",
                text="CONN_SENT, IWCM_F_CONNECT_WAIT set",
                time=time,
                fields={
                    "address": ctrl["iw_cm_id"],
                    "rdma_cm_id": "0xffff8a67c4bb9800",
                    "state": "CONN_SENT",
                    "flags": "0x4",
                    "flag_names": ["IWCM_F_CONNECT_WAIT"],
                    "connect_wait": True,
                    "refcount": 2,
                    "laddr": "203.0.113.1",
                    "raddr": "203.0.113.2",
                    "device": "siw0",
                    "owner": {"ulp": "nvme_rdma", "controller": f"nvme{n}", "queue": 0},
                    "destroy_task": 40 + n,
                    "destroy_wait_seconds": 5.3,
                    "setup_task": None,
                    "setup_wait_seconds": None,
                    "waiters": len(behind),
                    "behind": behind,
                },
                where={
                    "input": "vmcore",
                    "type": "struct iwcm_id_private",
                    "address": ctrl["iw_cm_id"],
                    "member": "flags",
                },
                host="db03",
            ),
            Evidence(
                clue="worker",
                kind="task",
                text=f"kworker/u8:{n} (PID {40 + n}, D) in destroy_cm_id for 5.3 s",
                time=time,
                fields=task(
                    40 + n,
                    f"kworker/u8:{n}",
                    STACK_B,
                    wait_seconds=5.3,
                    work_function="nvme_rdma_reconnect_ctrl_work",
                    workqueue="nvme-wq",
                    subsystem="iwcm",
                    waits_on={
                        "type": "wait_queue_head_t",
                        "address": "0xffff8a67d7a8f278",
                        "what": "iwcm_id_private.connect_wait",
                    },
                ),
                where={
                    "input": "vmcore",
                    "type": "struct task_struct",
                    "address": f"0xffff8a67c12{n}8000",
                },
                host="db03",
            ),
        ],
        "fixes": [
            FixRow(
                id="IWCM-CONNECT-WAIT",
                orabug="",
                cve="",
                commit="0123456789ab",
                title="nvme-rdma: remove timeout for getting RDMA-CM established event",
                url="https://git.kernel.org/linus/0123456789ab",
                fixed_in=[FixedInRow("mainline", "5.19")],
                status="unknown",
                why="the module was rebuilt out of tree: its release does not tell what is in it",
            )
        ],
        "next_steps": [
            StepRow("Wait for the bound above before calling it a deadlock."),
            StepRow(
                "Stop further attempts if the target is gone for good:",
                f"nvme disconnect -d nvme{n}",
            ),
        ],
        "fingerprint": f"b{n}77a0c4d1e25f6{n}",
    }
    return Finding(**{**rows, **changes})


CHECKS = [
    Check("hca-cq-error", "ruled-out", "explained by rds-shutdown-stuck-on-cq-error"),
    Check("hca-command-timeout", "ruled-out", "no such message in 3 inputs"),
    Check("iwcm-connect-wait", "not-applicable", "iw_cm is not loaded"),
    Check(
        "nvme-rdma-blocked-by-iwcm-connect-wait",
        "not-applicable",
        "no nvme.rdma_controller in any input",
    ),
    Check("rds-connection-flapping", "ruled-out", "1 drop in 10 h, it takes 5 in 10 min"),
    Check("rds-shutdown-stuck", "ruled-out", "the CQ error explains the wait"),
    Check("rds-shutdown-stuck-on-cq-error", "fired", "1 connection"),
    Check("rds-workqueue-blocked", "ruled-out", "no connection waits for more than 60 s"),
    Check(
        "ibcm-destroy-stuck",
        "could-not-run",
        "vmcore: 212 of 4096 pages of module memory are not in the dump",
    ),
]


def timeline(finding: Finding, more: list[TimelineRow]) -> list[TimelineRow]:
    """Return the log evidence of *finding* as rows of the time line, with *more* around it."""
    rows = [
        TimelineRow(e.time, e.host, e.text, finding.fingerprint)
        for e in finding.evidence
        if "line" in e.where
    ]
    return sorted(rows + more, key=lambda r: str(r.time))


def story_a() -> Report:
    """Return a cell with the first story: a syslog and a dump."""
    finding = finding_a()
    quiet = [
        TimelineRow(
            f"2026-09-30T{hour:02d}:00:07.{hour:06d}+00:00",
            "cell07",
            f"Sep 30 {hour:02d}:00:07 cell07 kernel: RDS/IB: connected <198.51.100.43,198.51.100.{hour},0> version 3.1",
        )
        for hour in range(9, 21)
    ]
    return Report(
        schema=1,
        tool=TOOL,
        started=STARTED,
        seconds=2.418,
        inputs=[
            InputRow(
                "vmcore",
                "vmcore",
                "cell07",
                UEK4,
                403_111_936,
                1804,
                0,
                "dwarf",
                [
                    ProblemRow(
                        "212 pages of module memory are not in the dump", "0xffffffffc0400000"
                    )
                ],
                "2026-09-26T11:10:00+00:00",
                "2026-10-01T07:19:25.400000+00:00",
            ),
            InputRow(
                "messages",
                "log",
                "cell07",
                "",
                12_034_117,
                104_233,
                17,
                "",
                [],
                "2026-09-28T03:10:01+00:00",
                "2026-10-01T06:55:13+00:00",
            ),
        ],
        findings=[finding],
        checks=CHECKS,
        facts={
            "hca.cq_error": 1,
            "rds.connected": 12,
            "rds.connection_dropped": 1,
            "rds.ib_connection": 2,
            "rds.reconnect_stalled": 3,
            "task": 2,
        },
        timeline=timeline(finding, quiet),
        tables={
            "rds.ib_connection": [
                rds_connection(),
                rds_connection(
                    address="0xffff88c1f2dea000",
                    faddr="198.51.100.2",
                    state="UP",
                    drop_reason=None,
                    recv_ring=ring(1024, 669, 0, 0, 669),
                    qp_state="RTS",
                    cm_state="CONNECT",
                    shutdown_task=None,
                    shutdown_function=None,
                    shutdown_wait_seconds=None,
                    queued_messages=0,
                    queued_bytes=0,
                ),
            ],
            "task": [
                task(62577, "kworker/u224:1", STACK_A),
                task(1, "systemd", ["ep_poll+0x3e1/0x4a0"], state="S", subsystem="", cpu=0),
            ],
        },
    )


def story_b() -> Report:
    """Return a host with the second story: four controllers, no wall clock."""
    findings = [finding_b(n) for n in range(4)]
    rows = [
        TimelineRow(e.time, "db03", e.text, f.fingerprint)
        for f in findings
        for e in f.evidence
        if "line" in e.where
    ]
    return Report(
        schema=1,
        tool=TOOL,
        started=STARTED,
        seconds=1.902,
        inputs=[
            InputRow("vmcore", "vmcore", "db03", DEBIAN, 19_294_187, 433, 0, "btf", [], 0.0, 31.84)
        ],
        findings=findings,
        checks=[
            Check("iwcm-connect-wait", "ruled-out", "its owner is known: an nvme_rdma controller"),
            Check("nvme-rdma-blocked-by-iwcm-connect-wait", "fired", "4 controllers"),
            Check("nvme-rdma-target-gone", "ruled-out", "fewer than 3 failed attempts"),
            Check("rds-shutdown-stuck-on-cq-error", "not-applicable", "rds_rdma is not loaded"),
        ],
        facts={"iwcm.cm_id": 4, "nvme.rdma_controller": 4, "nvme.error_recovery": 4, "task": 4},
        timeline=sorted(rows, key=lambda r: r.time or 0),
        tables={
            "nvme.rdma_controller": [controller(n) for n in range(4)],
            "iwcm.cm_id": [f.evidence[3].fields for f in findings],
            "task": [f.evidence[4].fields for f in findings],
        },
    )


def several() -> Report:
    """Return three hosts in one report: both stories, a weaker finding, a log that cannot be dated."""
    a, b = story_a(), story_b()
    peer = finding_a(
        id="rds-reconnect-stalled",
        title="RDS connection 198.51.100.1 → 198.51.100.43 (tos 0) has not come back for 10 h",
        severity="warning",
        verdict="probable",
        host="dbnode2",
        subject={"laddr": "198.51.100.1", "faddr": "198.51.100.43", "tos": 0},
        summary="The other end does not answer; the reason is on cell07.",
        evidence=[
            Evidence(
                clue="stall",
                kind="rds.reconnect_stalled",
                text="Sep 30 21:05:31 dbnode2 kernel: RDS/IB: re-connect <198.51.100.1,198.51.100.43,0> stalling for more than 1 min...(drops=1 err=-104)",
                time="2026-09-30T21:05:31+00:00",
                fields={"laddr": "198.51.100.1", "faddr": "198.51.100.43", "tos": 0, "err": -104},
                where={
                    "input": "sos-dbnode2.tar.xz!var/log/messages",
                    "line": 7121,
                    "offset": 700143,
                },
                host="dbnode2",
            )
        ],
        fixes=[],
        next_steps=[StepRow("Look at cell07 first.")],
        fingerprint="0d4e7711c2b3a498",
    )
    return Report(
        schema=1,
        tool=TOOL,
        started=STARTED,
        seconds=7.25,
        inputs=[
            *a.inputs,
            *b.inputs,
            InputRow(
                "sos-dbnode2.tar.xz!var/log/messages",
                "log",
                "dbnode2",
                "",
                733_201,
                7450,
                2,
                "",
                [
                    ProblemRow(
                        "truncated: the archive ends in the middle of this member", "offset 733201"
                    )
                ],
                "2026-09-30T03:10:01+00:00",
                "2026-10-01T06:55:13+00:00",
            ),
        ],
        findings=[*a.findings, b.findings[0], peer, *b.findings[1:]],
        checks=sorted(
            [c for c in a.checks if "nvme" not in c.id and "iwcm" not in c.id]
            + [c for c in b.checks if "rds" not in c.id]
            + [Check("rds-reconnect-stalled", "fired", "1 connection")],
            key=lambda c: c.id,
        ),
        facts={**a.facts, **b.facts, "rds.reconnect_stalled": 4, "task": 6},
        timeline=[
            *a.timeline,
            TimelineRow(
                "2026-09-30T21:05:31+00:00", "dbnode2", peer.evidence[0].text, peer.fingerprint
            ),
            *b.timeline,
        ],
        tables={
            **a.tables,
            **b.tables,
            "task": [*a.tables["task"], *b.tables["task"]],
        },
    )


def incomplete() -> Report:
    """Return a damaged dump: nothing found, and little could be looked at."""
    why = "vmcore: the module list ends after 12 of about 90 modules (page missing from the dump)"
    return Report(
        schema=1,
        tool=TOOL,
        started=STARTED,
        seconds=0.7,
        inputs=[
            InputRow(
                "vmcore",
                "vmcore",
                "db03",
                DEBIAN,
                201_555_968,
                433,
                0,
                "none",
                [
                    ProblemRow("cut short: 201555968 of 403111936 bytes are here", "vmcore"),
                    ProblemRow("53 of 60 stacks could not be read"),
                ],
            )
        ],
        findings=[],
        checks=[
            Check("hca-cq-error", "ruled-out", "no such message"),
            Check("nvme-rdma-blocked-by-iwcm-connect-wait", "could-not-run", why),
            Check("rds-shutdown-stuck", "could-not-run", why),
            Check("rds-shutdown-stuck-on-cq-error", "could-not-run", why),
        ],
        facts={"task": 60},
        timeline=[],
        tables={},
    )


def healthy() -> Report:
    """Return a machine without a fault."""
    a = story_a()
    return Report(
        schema=1,
        tool=TOOL,
        started=STARTED,
        seconds=1.1,
        inputs=[a.inputs[1]],
        findings=[],
        checks=[
            Check("hca-cq-error", "ruled-out", "no such message in 1 input"),
            Check("iwcm-connect-wait", "not-applicable", "no dump, and no message of iw_cm"),
            Check(
                "rds-shutdown-stuck-on-cq-error",
                "ruled-out",
                "every drop was followed by a connect",
            ),
        ],
        facts={"rds.connected": 12},
        timeline=[r for r in a.timeline if not r.finding],
        tables={"rds.ib_connection": [a.tables["rds.ib_connection"][1]]},
    )


SAMPLES = {
    "story-a": story_a,
    "story-b": story_b,
    "several": several,
    "incomplete": incomplete,
    "healthy": healthy,
}
