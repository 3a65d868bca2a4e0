"""The same log wrapped, quoted, encoded, turned or cut gives the same facts."""

import quopri
import re

import pytest

HUNG = """\
INFO: task kworker/u98:3:20451 blocked for more than 120 seconds.
      Tainted: G           OE   4.14.35-1902.300.11.el7uek.x86_64 #2
"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.
kworker/u98:3   D    0 20451      2 0x80000080
Workqueue: nvme-wq nvme_rdma_reconnect_ctrl_work [nvme_rdma]
Call Trace:
 __schedule+0x2bc/0x895
 schedule+0x36/0x7c
 destroy_cm_id+0xfe/0x220 [iw_cm]
 ? remove_wait_queue+0x70/0x6a
 iw_destroy_cm_id+0xe/0x10 [iw_cm]
 rdma_destroy_id+0x224/0x300 [rdma_cm]
 nvme_rdma_configure_admin_queue+0x1e/0x2f0 [nvme_rdma]
 process_one_work+0x169/0x3a6
 worker_thread+0x4d/0x3e5
 kthread+0x105/0x138
 ret_from_fork+0x24/0x49"""
WARNING = """\
------------[ cut here ]------------
WARNING: CPU: 16 PID: 1897 at kernel/workqueue.c:2966 check_flush_dependency+0x11f/0x140
Modules linked in: nvme_rdma nvme_fabrics rdma_ucm ib_uverbs rdma_cm iw_cm ib_cm ib_core irdma ice nvmet_rdma nvmet sunrpc
CPU: 16 PID: 1897 Comm: kworker/16:2 Kdump: loaded Not tainted 6.8.4-300.fc40.x86_64 #1
Workqueue: nvmet-wq nvmet_rdma_release_queue_work [nvmet_rdma]
RIP: 0010:check_flush_dependency+0x11f/0x140
Call Trace:
 <TASK>
 __flush_work.isra.0+0x10d/0x290
 __cancel_work_timer+0x103/0x1a0
 irdma_destroy_qp+0xd4/0x180 [irdma]
 nvmet_rdma_free_queue+0x35/0xc0 [nvmet_rdma]
 process_one_work+0x170/0x330
 worker_thread+0x280/0x3d0
 kthread+0xe8/0x120
 ret_from_fork+0x34/0x50
 </TASK>
---[ end trace 0000000000000000 ]---"""
EVENTS = """\
mlx4_core 0000:46:00.0: CQ access violation on CQN 000419 syndrome=0x2 vendor_error_syndrome=0x0
RDS/IB: connection <192.168.36.43,192.168.36.1,0> dropped due to 'qp event'
mlx5_core 0000:02:00.0: cq_err_event_notifier:517:(pid 0): CQ error on CQN 0x487, syndrome 0x1
ib0: transmit timeout: latency 20428 msecs
ib0: queue stopped 1, tx_head 167838, tx_tail 167710
nvme nvme1: rdma connection establishment failed (-104)
nvme nvme1: Reconnecting in 10 seconds...
RDS/IB: re-connect <192.168.36.12,192.168.36.30,0> stalling for more than 1 min...(drops=13 err=-110)"""
MESSAGES = "\n".join((EVENTS, HUNG, WARNING)).split("\n")

HEADS = {
    "rsyslog": "Aug 14 03:{m:02}:{s:02} node04 kernel: [{u:12.6f}] ",
    "rsyslog without uptime": "Aug 14 03:{m:02}:{s:02} node04 kernel: ",
    "iso": "2024-08-14T03:{m:02}:{s:02}.123456+00:00 node04 kernel: [{u:12.6f}] ",
    "dmesg": "[{u:12.6f}] ",
    "dmesg -T": "[Wed Aug 14 03:{m:02}:{s:02} 2024] ",
    "dmesg -x": "kern  :warn  : [{u:12.6f}] ",
    "caller": "[{u:12.6f}][T20451] ",
    "serial": "<4>[{u:12.6f}] ",
    "short-monotonic": "[{u:12.6f}] node04 kernel: ",
}


def log_of(head):
    return [
        head.format(m=n // 60, s=n % 60, u=612013.1 + n * 1.000101) + message
        for n, message in enumerate(MESSAGES)
    ]


def wrapped(line, width):
    """Break a line at blanks, as mail programs do."""
    out, now = [], ""
    for word in re.findall(r"\s*\S+", line):
        if now and len(now) + len(word) > width:
            out.append(now)
            now = word.lstrip()
        else:
            now += word
    return [*out, now]


def broken(line, width):
    """Cut a line anywhere, as terminals do."""
    return [line[n : n + width] for n in range(0, len(line), width)] or [""]


def mail(lines, width):
    return [part for line in lines for part in wrapped(line, width)]


CHANGES = {
    "mail 72": lambda x: mail(x, 72),
    "mail 76": lambda x: mail(x, 76),
    "mail 80": lambda x: mail(x, 80),
    "terminal 80": lambda x: [part for line in x for part in broken(line, 80)],
    "quoted": lambda x: ["> " + line for line in x],
    "quoted thrice": lambda x: [">>> " + line for line in x],
    "quoted mail": lambda x: ["> " + line for line in mail(x, 74)],
    "indented": lambda x: ["    " + line for line in x],
    "quoted-printable": lambda x: quopri.encodestring("\n".join(x).encode()).decode().split("\n"),
    "crlf": lambda x: [line + "\r" for line in x],
    "colours": lambda x: [f"\x1b[32m{line[:9]}\x1b[0m{line[9:]}" for line in x],
    "double-spaced": lambda x: [part for line in x for part in (line, "")],
    "newest first": lambda x: x[::-1],
    "newest first, wrapped": lambda x: mail(x, 76)[::-1],
    "typed between": lambda x: ["crash> log | tail -50", *x, "crash> quit"],
    "nulls": lambda x: [x[0], "\0" * 4000 + x[1], *x[2:]],
}


def essence(log):
    """Kinds and fields, without what the format decides."""
    return sorted(
        (f.kind, repr({k: v for k, v in f.fields.items() if k not in ("text", "raw")}))
        for f in log.facts
    )


@pytest.fixture(scope="module")
def plain(vocabulary, tmp_path_factory):
    return {}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("head", HEADS)
def test_same_facts(tmp_path, diagnose, plain, head, change):
    lines = log_of(HEADS[head])
    path = tmp_path / "log"
    if head not in plain:
        path.write_text("\n".join(lines) + "\n")
        plain[head] = essence(diagnose(path))
    path.write_text("\n".join(CHANGES[change](lines)) + "\n")
    assert essence(diagnose(path)) == plain[head]


@pytest.mark.parametrize("head", HEADS)
def test_every_format_gives_the_same(tmp_path, diagnose, head):
    path = tmp_path / "log"
    kinds = []
    for each in (head, "dmesg"):
        path.write_text("\n".join(log_of(HEADS[each])) + "\n")
        kinds.append(essence(diagnose(path)))
    assert kinds[0] == kinds[1]
    assert {"hca.cq_error", "kernel.hung_task", "kernel.warning"} <= {k for k, _ in kinds[0]}
