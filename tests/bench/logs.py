"""
How fast logs are read, beside ripgrep: one line a job with the ratio of the times and the peak memory of both.

    python tests/bench/logs.py [--size MB] [--runs N] [--searchkit PYTHON] [JOB...]

ripgrep counts the lines that match with one ``-e`` for each shipped event rule. Whole processes are timed,
files in the page cache, output to nowhere, median of the runs after one that is not counted.
"""

import argparse
import gzip
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rdmadiag.data import data_dir
from rdmadiag.logs.vocabulary import Vocabulary

RDMAID = [sys.executable, "-m", "rdmadiag", "diagnose", "--format", "json", "--fail-on", "never"]
SEARCHKIT = """
import json, sys
from searchkit import FileSearcher, SearchDef
if __name__ == "__main__":
    searcher = FileSearcher()
    for pattern in json.loads(sys.argv[1]):
        searcher.add(SearchDef(".*" + pattern), path=sys.argv[2])
    searcher.run()
"""
UNIT = [sys.executable, "-c", "pass"]

SERVICES = (
    "systemd[1]: Started Session {n} of user oracle.",
    "sshd[{n}]: Accepted publickey for root from 10.{a}.{b}.14 port {n} ssh2: RSA SHA256:abcdEFGH{n}",
    "CROND[{n}]: (root) CMD (/usr/lib64/sa/sa1 1 1)",
    "chronyd[1544]: Selected source 10.20.{a}.{b}",
    "kernel: [{up:13.6f}] device eth{a} entered promiscuous mode",
    "kernel: [{up:13.6f}] EXT4-fs (dm-{a}): mounted filesystem with ordered data mode. Opts: (null)",
    "dhclient[{n}]: DHCPACK from 10.0.{a}.{b} (xid=0x{n:x})",
    "postfix/smtpd[{n}]: connect from unknown[10.0.{a}.{b}]",
    "NetworkManager[901]: <info>  [15380899{a:02}.{n}] dhcp4 (eth0): state changed bound -> bound",
    "dbus-daemon[812]: [system] Successfully activated service 'org.freedesktop.nm_dispatcher'",
)
RDMA = (
    "kernel: [{up:13.6f}] RDS/IB: connected <192.168.36.43,192.168.36.{b},0> version 3.1",
    "kernel: [{up:13.6f}] RDS/IB: connection <192.168.36.43,192.168.36.{b},0> dropped due to 'DISCONNECTED event'",
    "kernel: [{up:13.6f}] nvme nvme0: Reconnecting in 10 seconds...",
)
RDMA_SHARE = 0.0003


def make_syslog(path, megabytes):
    """Write an ordinary syslog of one host, with some RDMA records."""
    rng = random.Random(megabytes)
    now, left = 1_538_000_000.0, megabytes * 1_000_000
    with path.open("wb") as file:
        while left > 0:
            lines = []
            for _ in range(10_000):
                now += rng.random() * 0.2
                text = rng.choice(RDMA if rng.random() < RDMA_SHARE else SERVICES)
                stamp = time.strftime("%b %e %H:%M:%S", time.gmtime(now))
                n, a, b = rng.randrange(99_999), rng.randrange(99), rng.randrange(250)
                lines.append(f"{stamp} db03 {text.format(n=n, a=a, b=b, up=now - 1_537_000_000)}\n")
            block = "".join(lines).encode()
            left -= len(block)
            file.write(block)
    os.utime(path, (now, now))


def rust_pattern(pattern):
    """Return a pattern of ``regex`` as ripgrep's engine wants it."""
    pattern = re.sub(r"\(\?P<\w+>", "(?:", pattern)
    return re.sub(r"\\([\"'<>!:;,/@ =%&#~`_-])", r"\1", pattern)


def ripgrep(*options):
    """Return the command that counts the lines of all event rules."""
    rules = {rust_pattern(r.pattern) for r in Vocabulary.load([data_dir("rules")]).rules}
    patterns = [x for rule in sorted(rules) for x in ("-e", rule)]
    return [
        "rg",
        "-c",
        "-a",
        "--regex-size-limit",
        "2G",
        "--dfa-size-limit",
        "2G",
        *options,
        *patterns,
    ]


def searchkit(python, path):
    """Return the command that looks for 30 event rules with hotsos' engine."""
    rules = sorted({r.pattern for r in Vocabulary.load([data_dir("rules")]).rules}, key=len)
    plain = [re.sub(r"\(\?P<\w+>", "(?:", rule) for rule in rules]
    script = path.with_suffix(".py")
    script.write_text(SEARCHKIT)
    return [str(python), str(script), json.dumps(plain[:30]), str(path)]


def run(command):
    """Return seconds, CPU seconds with its children, and peak memory in MiB of a process."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{command[:4]}: exit status {process.returncode}")
    seconds = time.perf_counter() - began
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measured(command, runs):
    """Return the median times and the largest memory of some runs."""
    results = [run(command) for _ in range(runs + 1)][1:]
    seconds, cpu, memory = zip(*results, strict=True)
    return statistics.median(seconds), statistics.median(cpu), max(memory)


def compare(name, ours, theirs, runs):
    """Print one line."""
    (a, cpu_a, rss_a), (b, cpu_b, rss_b) = measured(ours, runs), measured(theirs, runs)
    print(
        f"{name}: {a / b:.2f} x ({a:.2f} s, CPU {cpu_a:.2f} s, {rss_a:.0f} MiB;"
        f" against {b:.2f} s, CPU {cpu_b:.2f} s, {rss_b:.0f} MiB)"
    )


def jobs(folder, size, runs, python):
    """Return the jobs by name."""
    plain, packed, small = (
        folder / f"syslog-{size}",
        folder / f"syslog-{size}.gz",
        folder / "syslog-1",
    )
    hundred = folder / "syslog-100"
    for path, megabytes in ((plain, size), (small, 1), (hundred, 100)):
        if not path.exists():
            make_syslog(path, megabytes)
    if not packed.exists():
        with plain.open("rb") as source, gzip.open(packed, "wb", 6) as sink:
            while block := source.read(1 << 20):
                sink.write(block)
    return {
        "syslog": lambda: compare(
            f"{size} MB syslog", [*RDMAID, str(plain)], [*ripgrep(), str(plain)], runs
        ),
        "one-process": lambda: compare(
            f"{size} MB syslog, one process",
            [*RDMAID, "--jobs", "1", str(plain)],
            [*ripgrep(), str(plain)],
            runs,
        ),
        "gzip": lambda: compare(
            f"{size} MB syslog in gzip", [*RDMAID, str(packed)], [*ripgrep("-z"), str(packed)], runs
        ),
        "searchkit": lambda: compare(
            "100 MB syslog against searchkit with 30 rules",
            [*RDMAID, str(hundred)],
            searchkit(python, hundred),
            min(runs, 1),
        ),
        "small": lambda: compare(
            "1 MB log, in units of python -c pass", [*RDMAID, str(small)], UNIT, runs
        ),
    }


def main():
    """Run the jobs that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "rdmadiag-bench"
    )
    parser.add_argument("--searchkit", type=Path, help="a Python that has searchkit")
    parser.add_argument("jobs", nargs="*")
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    known = jobs(options.folder, options.size, options.runs, options.searchkit)
    if options.searchkit is None:
        known.pop("searchkit")
    for name in options.jobs or known:
        known[name]()


if __name__ == "__main__":
    main()
