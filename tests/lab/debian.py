"""Kernels from the distribution's own packages: which there are, fetched and unpacked, never booted here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .paths import CACHE, LabError, run, say

TOOLS = [
    "qemu-system-x86",
    "qemu-system-common",
    "busybox-static",
    "rdma-core",
    "iproute2",
    "nvme-cli",
    "makedumpfile",
    "dwarves",
    "kexec-tools",
    "libsnappy1v5",
    "kmod",
    "cpio",
    "zstd",
    "xz-utils",
    "binutils",
    "gcc",
    "make",
    "libc6-dev",
]
RELEASE = re.compile(r"^linux-image-((\d+\.\d+)\.\d+(?:-\d+|\+deb\d+(?:\.\d+)?)-amd64)$")
DEBUG_FILES = (
    "*/boot/vmlinux-*",
    "*/net/rds/*",
    "*/net/sunrpc/*",
    "*/fs/nfs*",
    "*/drivers/infiniband/*",
    "*/drivers/nvme/*",
)
SOURCE_FILES = ("net/rds", "drivers/infiniband", "drivers/nvme")


@dataclass(frozen=True)
class Kernel:
    """One kernel of the distribution."""

    release: str
    series: str
    version: str

    @property
    def root(self) -> Path:
        return CACHE / "kernels" / self.release

    @property
    def vmlinuz(self) -> Path:
        return self.root / "image" / "boot" / f"vmlinuz-{self.release}"

    @property
    def vmlinux(self) -> Path:
        return self.debug / "boot" / f"vmlinux-{self.release}"

    @property
    def debug(self) -> Path:
        return self.root / "debug" / "usr" / "lib" / "debug"

    @property
    def source(self) -> Path:
        return self.root / "source" / f"linux-source-{self.series}"

    @property
    def headers(self) -> Path:
        return Path("/usr/src") / f"linux-headers-{self.release}"

    @property
    def filter_level(self) -> int:
        """What makedumpfile may leave out: up to 1.7.2 it takes slab pages for user pages since 6.10."""
        return 31 if tuple(map(int, self.series.split("."))) < (6, 10) else 23


def _newest_first(release: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", release)]


def offered() -> dict[str, list[str]]:
    """Releases that apt offers, newest first, by series."""
    found: dict[str, list[str]] = {}
    for line in run(
        "apt-cache", "search", "--names-only", "^linux-image-[0-9].*-amd64$"
    ).splitlines():
        if match := RELEASE.match(line.split()[0]):
            found.setdefault(match[2], []).append(match[1])
    return {s: sorted(r, key=_newest_first, reverse=True) for s, r in found.items()}


def choose(wanted: str) -> Kernel:
    """The kernel for a release or a series: one that is set up already, or else the newest offered.

    :raises LabError: apt knows none
    """
    ready = sorted(CACHE.glob("kernels/*/kernel.json"), key=lambda p: _newest_first(p.parent.name))
    for path in reversed(ready):
        kernel = Kernel(**json.loads(path.read_text()))
        if wanted in (kernel.release, kernel.series):
            return kernel
    for series, releases in offered().items():
        for release in releases:
            if wanted in (series, release):
                return Kernel(release, series, _version(f"linux-image-{release}"))
    raise LabError(f"apt offers no kernel {wanted}; it has {', '.join(offered())}")


def _version(package: str) -> str:
    lines = run("apt-cache", "madison", package).splitlines()
    if not lines:
        raise LabError(f"apt does not know {package}")
    return lines[0].split("|")[1].strip()


def install(kernels: list[Kernel]) -> None:
    """The programs the lab runs and the kernels' headers, with apt-get (the only step that needs root)."""
    wanted = [*TOOLS, *(f"linux-headers-{k.release}" for k in kernels)]
    listing = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *wanted],
        capture_output=True,
        text=True,
        check=False,
    )
    have = {line.split()[0] for line in listing.stdout.splitlines() if line.endswith(" installed")}
    missing = [name for name in wanted if name not in have]
    if not missing:
        return
    say("apt-get install", *missing)
    root = [] if os.geteuid() == 0 else ["sudo"]
    run(
        *root,
        *("apt-get", "install", "-y", "-q", "--no-install-recommends"),
        *("-o", "DPkg::Lock::Timeout=600", *missing),
        timeout=1800,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
    )


def fetch(kernel: Kernel) -> None:
    """Image, debug information and source of a kernel, unpacked into the cache."""
    source = f"linux-source-{kernel.series}"
    _unpack(kernel, "image", f"linux-image-{kernel.release}", ())
    _unpack(kernel, "debug", f"linux-image-{kernel.release}-dbg", DEBUG_FILES)
    _unpack(kernel, "source", source, ())
    record = {"release": kernel.release, "series": kernel.series, "version": kernel.version}
    (kernel.root / "kernel.json").write_text(json.dumps(record))


def _unpack(kernel: Kernel, name: str, package: str, patterns: tuple[str, ...]) -> None:
    to, mark = kernel.root / name, kernel.root / f"{name}.files"
    files = "\n".join(patterns)
    # A cache from before these files were wanted is fetched again.
    if to.exists() and files == (mark.read_text() if mark.exists() else ""):
        return
    part = kernel.root / f"{name}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    say("fetch", package, kernel.version)
    run("apt-get", "download", "-q", f"{package}={kernel.version}", cwd=part, timeout=1800)
    (deb,) = part.glob("*.deb")
    if name == "source":
        members = " ".join(f"{package}/{d}" for d in SOURCE_FILES)
        tar = f"tar -xO ./usr/src/{package}.tar.xz | xz -dc | tar -x {members}"
    else:
        tar = "tar -x " + (
            " ".join(["--wildcards", *(f"'{p}'" for p in patterns)]) if patterns else ""
        )
    run("sh", "-ec", f"dpkg-deb --fsys-tarfile {deb.name} | {tar}", cwd=part, timeout=1800)
    deb.unlink()
    shutil.rmtree(to, ignore_errors=True)
    part.rename(to)
    if files:
        mark.write_text(files)
