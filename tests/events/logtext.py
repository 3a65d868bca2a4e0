"""Records from plain text, and two reports that several tests use."""

import re

from rdmadiag.facts.model import Moment
from rdmadiag.logs.records import Record

_STAMP = re.compile(r"\[ *(?P<uptime>\d+\.\d+)\](?:\[ *(?P<caller>[TC]\d+)\])? ?")


def record(line: str, number: int, host: str = "node9") -> Record:
    """Return the record of a line with or without the kernel's stamp and caller id."""
    match = _STAMP.match(line)
    uptime = float(match["uptime"]) if match else None
    message = line[match.end() :] if match else line
    caller = (match["caller"] or "") if match else ""
    moment = Moment(uptime=uptime, order=number)
    raw = line.encode()
    return Record(number, 100 * number, raw, host, moment, None, caller, "kernel", message)


HUNG = """
[ 9000.100001] INFO: task kworker/u40:7:3123 blocked for more than 241 seconds.
[ 9000.100010]       Tainted: G           OE     5.15.0-77.1.el8uek.x86_64 #2
[ 9000.100020] "echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.
[ 9000.100030] task:kworker/u40:7   state:D stack:    0 pid: 3123 ppid:     2 flags:0x00004000
[ 9000.100040] Workqueue: krdsd rds_shutdown_worker [rds]
[ 9000.100050] Call Trace:
[ 9000.100060]  <TASK>
[ 9000.100070]  __schedule+0x2c1/0x5d0
[ 9000.100080]  schedule+0x51/0xc1
[ 9000.100090]  schedule_timeout+0x11f/0x160
[ 9000.100100]  ? call_timer_fn+0x140/0x140
[ 9000.100110]  rds_ib_conn_path_shutdown+0x2f3/0x5c0 [rds_rdma]
[ 9000.100120]  ? finish_wait+0x90/0x90
[ 9000.100130]  rds_conn_shutdown.constprop.0+0x101/0x3a0 [rds]
[ 9000.100140]  process_one_work+0x1e5/0x3b0
[ 9000.100150]  worker_thread+0x50/0x3a0
[ 9000.100160]  kthread+0x127/0x150
[ 9000.100170]  ret_from_fork+0x22/0x41
[ 9000.100180]  </TASK>
"""

KASAN = """
[   50.000000][T901] ==================================================================
[   50.000001][T901] BUG: KASAN: slab-use-after-free in rds_conn_path_connect_if_down+0x90/0xb0 [rds]
[   50.000002][T901] Read of size 8 at addr ffff888012345678 by task rds-ping/901
[   50.000003][T901]
[   50.000004][T901] CPU: 1 UID: 0 PID: 901 Comm: rds-ping Not tainted 6.12.9 #3
[   50.000005][T901] Call Trace:
[   50.000006][T901]  <TASK>
[   50.000007][T901]  dump_stack_lvl+0x5d/0x80
[   50.000008][T901]  print_report+0x174/0x4f6
[   50.000009][T901]  ? rds_conn_path_connect_if_down+0x90/0xb0 [rds]
[   50.000010][T901]  kasan_report+0xb9/0xf0
[   50.000011][T901]  rds_conn_path_connect_if_down+0x90/0xb0 [rds]
[   50.000012][T901]  rds_sendmsg+0xa1/0x10f0 [rds]
[   50.000013][T901]  entry_SYSCALL_64_after_hwframe+0x76/0x7e
[   50.000014][T901]  </TASK>
[   50.000015][T901]
[   50.000016][T901] Allocated by task 880:
[   50.000017][T901]  kasan_save_stack+0x24/0x50
[   50.000018][T901]  rds_conn_create+0x10/0x20 [rds]
[   50.000019][T901]
[   50.000020][T901] Freed by task 17:
[   50.000021][T901]  kfree+0x121/0x340
[   50.000022][T901]  rds_conn_destroy+0x91/0x2c0 [rds]
[   50.000023][T901]
[   50.000024][T901] Last potentially related work creation:
[   50.000025][T901]  insert_work+0x2f/0x120
[   50.000026][T901]  rds_conn_drop+0x1f/0x40 [rds]
[   50.000027][T901]
[   50.000028][T901] The buggy address belongs to the object at ffff888012345600
"""
