"""Lines that ordinary machines log: boot messages and many services, without anything of RDMA."""

import random

BOOT = """
Linux-agnostic loader ready
BIOS-provided physical RAM map:
BIOS-e820: [mem 0x{x16}-0x{x16}] usable
NX (Execute Disable) protection: active
DMI: Vendor Product/Board, BIOS {n}.{n} 04/01/2020
tsc: Detected {n}.{n} MHz processor
e820: update [mem 0x{x8}-0x{x8}] usable ==> reserved
ACPI: {W} 0x{x16} {x6} (v02 VENDOR PRODUCT {x8} INTL {x8})
ACPI: PCI Interrupt Link [LNK{w}] enabled at IRQ {n}
PCI: Using configuration type 1 for base access
pci 0000:{x2}:{x2}.{d}: reg 0x10: [mem 0x{x8}-0x{x8} 64bit pref]
pci 0000:{x2}:{x2}.{d}: PME# supported from D0 D3hot D3cold
pcieport 0000:{x2}:{x2}.{d}: AER: enabled with IRQ {n}
smpboot: CPU{n}: Physical Package ID {n}
x86: Booting SMP configuration: .... node #{d}, CPUs: #{n}
clocksource: tsc-early: mask: 0xffffffffffffffff max_cycles: 0x{x8}, max_idle_ns: {n} ns
Memory: {n}K/{n}K available ({n}K kernel code, {n}K rwdata, {n}K rodata, {n}K init, {n}K bss)
usb {d}-{d}: new high-speed USB device number {n} using xhci_hcd
usb {d}-{d}: New USB device found, idVendor={x4}, idProduct={x4}, bcdDevice= {n}.{n}
ata{d}: SATA link up 6.0 Gbps (SStatus 133 SControl 300)
ata{d}.00: configured for UDMA/133
sd {d}:0:0:0: [sd{w}] {n} 512-byte logical blocks: ({n} GB/{n} GiB)
sd {d}:0:0:0: [sd{w}] Attached SCSI disk
nvme nvme{d}: {n}/0/0 default/read/poll queues
nvme nvme{d}: pci function 0000:{x2}:00.0
 nvme{d}n1: p1 p2 p3
EXT4-fs (sd{w}1): mounted filesystem with ordered data mode. Opts: (null)
XFS (dm-{d}): Ending clean mount
e1000e 0000:{x2}:{x2}.{d} eth{d}: NIC Link is Up 1000 Mbps Full Duplex, Flow Control: Rx/Tx
IPv6: ADDRCONF(NETDEV_CHANGE): eth{d}: link becomes ready
bond{d}: (slave eth{d}): link status definitely up, 10000 Mbps full duplex
device-mapper: uevent: version 1.0.3
systemd-journald[{n}]: Received client request to flush runtime journal.
audit: type=1400 audit({n}.{n}:{n}): avc:  denied  {{ read }} for  pid={n} comm="{w}" name="{w}"
TCP: request_sock_TCP: Possible SYN flooding on port {n}. Sending cookies.
Out of memory: Killed process {n} ({w}) total-vm:{n}kB, anon-rss:{n}kB, file-rss:{n}kB
[  {n}]  {n}  {n}    {n}      {n}   {n}        {n}             0 {w}
perf: interrupt took too long ({n} > {n}), lowering kernel.perf_event_max_sample_rate to {n}
mce: CPU{n}: Core temperature above threshold, cpu clock throttled (total events = {n})
EDAC MC{d}: {n} CE memory read error on CPU_SrcID#{d} (channel:{d} slot:{d} page:0x{x6} offset:0x{x4})
traps: {w}[{n}] general protection fault ip:{x12} sp:{x12} error:0 in lib{w}.so[{x12}+{x6}]
{w}[{n}]: segfault at {x8} ip {x16} sp {x16} error 4 in {w}[{x8}+{x6}]
random: crng init done
watchdog: watchdog{d}: watchdog did not stop!
""".strip().splitlines()

SERVICES = """
Started Session {n} of user {w}.
Starting Daily Cleanup of Temporary Directories...
{w}.service: Main process exited, code=exited, status={n}/FAILURE
{w}.service: Failed with result 'exit-code'.
{w}.service: Scheduled restart job, restart counter is at {n}.
Failed to start {w} service.
Timed out waiting for device dev-disk-by-{w}.device.
Accepted publickey for {w} from 10.{n}.{n}.{n} port {n} ssh2: RSA SHA256:{x16}
Failed password for invalid user {w} from 10.{n}.{n}.{n} port {n} ssh2
Connection closed by authenticating user {w} 10.{n}.{n}.{n} port {n} [preauth]
pam_unix(sshd:session): session opened for user {w} by (uid=0)
({w}) CMD (/usr/lib64/sa/sa1 1 1)
postfix/smtp[{n}]: {x8}: to=<{w}@example.com>, relay=none, delay={n}, status=deferred (connect to {w}.example.com: Connection timed out)
connect from unknown[10.{n}.{n}.{n}]
named: client @0x{x12} 10.{n}.{n}.{n}#{n} ({w}.example.com): query failed (SERVFAIL) for {w}.example.com/IN/A at query.c:{n}
DHCPACK(eth{d}) 10.{n}.{n}.{n} 02:00:{x2}:{x2}:{x2}:{x2} {w}
Selected source 10.{n}.{n}.{n}
kubelet: E1120 {n} {n} pod_workers.go:{n}] Error syncing pod {x8}, skipping: failed to "StartContainer" for "{w}" with CrashLoopBackOff
dockerd: level=error msg="Handler for POST /v1.40/containers/{x12}/start returned error: driver failed programming external connectivity"
containerd: time="2026-01-0{d}" level=warning msg="cleaning up after shim disconnected" id={x12} namespace=moby
haproxy: Server {w}/{w}{d} is DOWN, reason: Layer4 timeout, check duration: {n}ms. {d} active and {d} backup servers left.
nginx: {n}#{n}: *{n} upstream timed out (110: Connection timed out) while reading response header from upstream, client: 10.{n}.{n}.{n}
nginx: {n}#{n}: *{n} recv() failed (104: Connection reset by peer) while reading upstream
mysqld: {n} [Warning] Aborted connection {n} to db: '{w}' user: '{w}' host: '10.{n}.{n}.{n}' (Got timeout reading communication packets)
postgres[{n}]: [{n}-1] ERROR:  deadlock detected
postgres[{n}]: [{n}-1] DETAIL:  Process {n} waits for ShareLock on transaction {n}; blocked by process {n}.
java: INFO: task {w} finished in {n} ms
java: WARNING: An illegal reflective access operation has occurred
java:     at com.example.{w}.{w}({w}.java:{n})
python: Traceback (most recent call last):
python:   File "/opt/stack/{w}/{w}.py", line {n}, in {w}
multipathd: {w}: sd{w} - tur checker reports path is down
multipathd: mpath{w}: remaining active paths: {d}
iscsid: Kernel reported iSCSI connection {d}:0 error (1022 - ISCSI_ERR_NVME_DOWN: unknown) state (3)
rsyslogd: action 'action-{d}-builtin:omfwd' resumed (module 'builtin:omfwd')
dbus-daemon[{n}]: [system] Activating via systemd: service name='org.{w}' unit='{w}.service' requested by ':1.{n}'
NetworkManager[{n}]: <info>  [{n}.{n}] device (eth{d}): state change: activated -> deactivating (reason 'carrier-changed')
crond[{n}]: ({w}) RELOAD (/var/spool/cron/{w})
auditd[{n}]: Audit daemon rotating log files
smartd[{n}]: Device: /dev/sd{w} [SAT], SMART Usage Attribute: 194 Temperature_Celsius changed from {n} to {n}
snmpd[{n}]: Connection from UDP: [10.{n}.{n}.{n}]:{n}->[10.{n}.{n}.{n}]:161
sudo: {w} : TTY=pts/{d} ; PWD=/home/{w} ; USER=root ; COMMAND=/bin/systemctl restart {w}
chronyd[{n}]: System clock wrong by {n}.{n} seconds
puppet-agent[{n}]: Applied catalog in {n}.{n} seconds
oracle: ORA-00600: internal error code, arguments: [{n}], [{w}], [], [], [], [], [], []
tomcat: state = {w} for context /{w}
lldpd[{n}]: unable to send packet on real device for eth{d}: Network is down
""".strip().splitlines()

WORDS = [
    "alpha",
    "backup",
    "cache",
    "delta",
    "engine",
    "front",
    "gateway",
    "hub",
    "index",
    "jobs",
    "kiosk",
    "ledger",
    "mail",
    "node",
    "orders",
    "proxy",
]


def boring_lines(generator: random.Random, count: int) -> list[str]:
    """Return *count* lines."""
    return [
        _fill(generator, generator.choice(BOOT if n % 3 == 0 else SERVICES)) for n in range(count)
    ]


def _fill(generator: random.Random, template: str) -> str:
    out, rest = [], template
    while "{" in rest:
        head, _, rest = rest.partition("{")
        out.append(head)
        if rest.startswith("{"):
            out.append("{")
            rest = rest[1:]
            continue
        name, _, rest = rest.partition("}")
        out.append(_value(generator, name))
    return "".join([*out, rest]).replace("}}", "}")


def _value(generator: random.Random, name: str) -> str:
    if name == "n":
        return str(generator.randrange(1, 10 ** generator.randrange(1, 6)))
    if name == "d":
        return str(generator.randrange(8))
    if name.startswith("x"):
        return f"{generator.randrange(16 ** int(name[1:])):0{int(name[1:])}x}"
    word = generator.choice(WORDS)
    return word.upper()[:4] if name == "W" else word
