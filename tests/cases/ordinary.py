"""Logs of machines that are well: boots, services, RDMA that comes and goes as it should."""

import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "events"))

from boring import boring_lines

START = datetime(2025, 2, 27, 23, 10, 5, tzinfo=UTC)

BOOT = """
Linux version 5.15.0-206.153.7.el8uek.x86_64 (builder@build.example) (gcc (GCC) 11.3.1) #2 SMP
Command line: root=/dev/mapper/vg-root ro crashkernel=512M hung_task_panic=0
ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.PCI0.XHC.RHUB], AE_NOT_FOUND
ACPI Error: AE_NOT_FOUND, During name lookup/catalog (20210730/psobject-220)
DMAR: [Firmware Bug]: No firmware reserved region can cover this RMRR
mlx5_core 0000:3b:00.0: firmware version: 16.35.2000
mlx5_core 0000:3b:00.0: 126.016 Gb/s available PCIe bandwidth (8.0 GT/s PCIe x16 link)
mlx5_core 0000:3b:00.0: Rate limit: 127 rates are supported, range: 0Mbps to 97656Mbps
mlx5_core 0000:3b:00.0: Port module event: module 0, Cable plugged
mlx5_core 0000:3b:00.0: mlx5_pcie_event:299:(pid 311): PCIe slot advertised sufficient power (27W).
mlx5_core 0000:3b:00.1: E-Switch: Total vports 2, per vport: max uc(128) max mc(2048)
mlx4_core: Mellanox ConnectX core driver v4.0-0
mlx4_core 0000:05:00.0: DMFS high rate steer mode is: disabled performance optimized steering
mlx4_core 0000:05:00.0: PCIe link speed is 8.0GT/s, device supports 8.0GT/s
<mlx4_ib> mlx4_ib_add: mlx4_ib: Mellanox ConnectX InfiniBand driver v4.0-0
cxgb4 0000:82:00.4: Chelsio T62100-CR rev 0
iw_cxgb4: Chelsio T4/T5 RDMA Driver - version 0.1
irdma: loading out-of-tree module taints kernel.
rdma_rxe: loaded
SoftiWARP attached
Registered RDS/infiniband transport
Registered RDS/tcp transport
RPC: Registered rdma transport module.
iscsi: registered transport (iser)
ib0: enabling connected mode will cause multicast packet drops
ib0: mtu > 2044 will cause multicast packet drops.
IPv6: ADDRCONF(NETDEV_CHANGE): ib0: link becomes ready
nvme nvme0: pci function 0000:d8:00.0
nvme nvme0: 32/0/0 default/read/poll queues
nvme nvme1: new ctrl: NQN "nqn.2014-08.org.nvmexpress.discovery", addr 198.51.100.7:4420
nvme nvme1: Removing ctrl: NQN "nqn.2014-08.org.nvmexpress.discovery"
nvme nvme1: creating 32 I/O queues.
nvme nvme1: mapped 32/0/0 default/read/poll queues.
nvme nvme1: new ctrl: NQN "nqn.2016-06.example:vol1", addr 198.51.100.7:4420
NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.
rcu: RCU event tracing is enabled.
kmemleak: Kernel memory leak detector disabled
""".strip().splitlines()

KERNEL = """
mlx5_core 0000:3b:00.0 ens1f0np0: Link down|mlx5_core 0000:3b:00.0 ens1f0np0: Link up
rpcrdma: connection to 203.0.113.4:20049 closed (-103)|rpcrdma: connection to 203.0.113.4:20049 on mlx5_0, memreg 5 slots 128 ird 16
nvme nvme1: starting error recovery|nvme nvme1: Reconnecting in 10 seconds...|nvme nvme1: Successfully reconnected (1 attempt)
nvme nvme1: I/O 12 QID 3 timeout, completion polled
RDS/IB: connection <10.9.0.3,10.9.0.{n},0> dropped due to 'hb timeout'|RDS/IB: connected <10.9.0.3,10.9.0.{n},0> version 3.1
RDS/IB: connection <10.9.0.3,10.9.0.{n},3> dropped due to 'qp event'|RDS/IB: connected <10.9.0.3,10.9.0.{n},3> version 3.1
RDS/IB: connection <10.9.0.3,10.9.0.{n},0> dropped due to 'DISCONNECTED event'|RDS/IB: connected <10.9.0.3,10.9.0.{n},0> version 3.1
RDS/IB: connection <10.9.0.3,10.9.0.{n},0> dropped due to 'active bonding failover'|RDS/IB: connected <10.9.0.3,10.9.0.{n},0> version 3.1
perf: interrupt took too long (2513 > 2500), lowering kernel.perf_event_max_sample_rate to 79000
workqueue: drm_fb_helper_damage_work hogged CPU for >10000us 4 times, consider switching to WQ_UNBOUND
net_ratelimit: 24 callbacks suppressed
kauditd_printk_skb: 12 callbacks suppressed
nfs: server filer not responding, still trying|nfs: server filer OK
sd 2:0:0:1: [sdc] tag#12 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_SENSE
EXT4-fs error (device sdq1): ext4_find_entry:1455: inode #2: comm find: reading directory lblock 0
TCP: out of memory -- consider tuning tcp_mem
ib0: multicast join failed for ff12:401b:ffff:0000:0000:0000:0000:0001, status -22
""".strip().splitlines()

PROGRAMS = """
opensm[812]: log_send_error: ERR 5411: DR SMP Send completed with error (IB_TIMEOUT) -- dropping
opensm[812]: SUBNET UP
ibacm[99]: acm_process_join_resp: ERR - unable to join multicast
srp_daemon[5]: No response to inform info registration
oracle[71]: ORA-27300: OS system dependent operation:rds_send failed with status: 110
multipathd[9]: nvme1n1: mark as failed
app[7]: INFO: task indexer:12 blocked by upstream for more than 120 seconds
app[7]: BUG: widget count is negative
app[7]: Call Trace: none
java[9]: WARNING: CPU: limit reached
node_exporter[88]: level=error msg="mlx5_0: CQ error counters are missing"
iscsid[12]: Kernel reported iSCSI connection 1:0 error (1022 - ISCSI_ERR_CONN_FAILED: iSCSI connection failed) state (3)
""".strip().splitlines()


def messages(generator: random.Random, count: int) -> Iterator[tuple[str, str, float | None]]:
    """Yield tag, message and uptime (``None`` for programs) of *count* records of one host, some boots of it."""
    pool = boring_lines(generator, 4000)
    uptime, left = 0.0, 0
    for number in range(count):
        if not left:
            left, uptime = count // 3 + 1, 0.0
            boot = iter(BOOT)
        left -= 1
        line = next(boot, None)
        if line is not None:
            uptime += generator.random() / 10
            yield "kernel", line, uptime
            continue
        uptime += generator.random() * 4
        if number % 40 == 0:
            text = generator.choice(KERNEL).replace("{n}", str(generator.randrange(4, 250)))
            for part in text.split("|"):
                uptime += 0.3
                yield "kernel", part, uptime
        elif number % 7 == 0:
            tag, _, text = generator.choice(PROGRAMS).partition(": ")
            yield tag, text, None
        else:
            yield "daemon[41]", generator.choice(pool), None


def syslog(generator: random.Random, count: int, host: str = "wellx1") -> str:
    """Return a syslog of *count* records or a few more."""
    wall, lines = START, []
    for tag, text, uptime in messages(generator, count):
        wall += timedelta(seconds=1.5)
        stamp = f"[{uptime:12.6f}] " if uptime is not None else ""
        lines.append(f"{wall:%b} {wall.day:2d} {wall:%H:%M:%S} {host} {tag}: {stamp}{text}")
    return "\n".join(lines) + "\n"


def iso(generator: random.Random, count: int, host: str = "wellx2") -> str:
    """Return the same as rsyslog writes it today."""
    wall, lines = START, []
    for tag, text, uptime in messages(generator, count):
        wall += timedelta(seconds=1.5)
        stamp = f"[{uptime:12.6f}] " if uptime is not None else ""
        lines.append(f"{wall.isoformat(timespec='microseconds')} {host} {tag}: {stamp}{text}")
    return "\n".join(lines) + "\n"


def dmesg(generator: random.Random, count: int) -> str:
    """Return the kernel's records alone, of one boot after the other."""
    rows = ((t, u) for tag, t, u in messages(generator, count) if tag == "kernel")
    return "".join(f"[{uptime:12.6f}] {text}\n" for text, uptime in rows)
