"""Kernels from the distribution's own packages: which there are, fetched and unpacked, never booted here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from .apt import SUITES, Apt
from .arches import ARCHES, Arch
from .paths import CACHE, LabError, as_root, run, say

TOOLS = [
    "qemu-system-x86",
    "qemu-system-common",
    "busybox-static",
    "rdma-core",
    "iproute2",
    "nvme-cli",
    "open-iscsi",
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
JAIL_TOOLS = ["make", "gcc", "libc6-dev", "makedumpfile"]
"""What a kernel of another suite is worked on with, from that suite, beside what its headers bring with them."""
RELEASE = r"^linux-image-((\d+\.\d+)\.\d+(?:-\d+|\+deb\d+(?:\.\d+)?)-{})$"
DEBUG_FILES = (
    "*/boot/vmlinux-*",
    "*/lib/modules/*/vmlinux",
    "*/net/rds/*",
    "*/net/sunrpc/*",
    "*/fs/nfs*",
    "*/drivers/infiniband/*",
    "*/drivers/nvme/*",
)
SOURCE_FILES = ("net/rds", "drivers/infiniband", "drivers/nvme")
IMAGE_PARTS = (
    "linux-image-{}",
    "linux-binary-{}",
    "linux-binary-unsigned-{}",
    "linux-modules-{}",
    "linux-base-{}",
)
"""Since 7.0 an image is in several packages; those that a release has."""


@dataclass(frozen=True)
class Kernel:
    """One kernel of the distribution.

    :ivar suite: where it comes from; ``""``: what the machine's apt follows
    """

    release: str
    series: str
    version: str
    suite: str = ""
    architecture: str = "amd64"

    @property
    def arch(self) -> Arch:
        return ARCHES[self.architecture]

    @property
    def label(self) -> str:
        """What the names of its dumps end in."""
        return self.series if self.architecture == "amd64" else f"{self.series}-{self.architecture}"

    @property
    def host_release(self) -> str:
        """The same release for the machine's own architecture: its headers bring the programs that build modules."""
        return self.release.removesuffix(self.architecture) + "amd64"

    @property
    def apt(self) -> Apt:
        return _apt(self.suite, self.architecture)

    @property
    def root(self) -> Path:
        return CACHE / "kernels" / self.release

    @property
    def vmlinuz(self) -> Path:
        image = self.root / "image"
        known = image / "boot" / f"vmlinuz-{self.release}"
        beside = image / "usr/lib/modules" / self.release
        newer = beside / "vmlinuz", beside / "vmlinuz.unsigned"
        return next((path for path in (known, *newer) if path.is_file()), known)

    @property
    def vmlinux(self) -> Path:
        return self.debug / "boot" / f"vmlinux-{self.release}"

    @property
    def debug(self) -> Path:
        return self.root / "debug" / "usr" / "lib" / "debug"

    @property
    def source(self) -> Path:
        return (self.jail or self.root) / "source" / f"linux-source-{self.series}"

    @property
    def headers(self) -> Path:
        """As the compiler sees it."""
        root = self.root / "headers" if self.arch.triplet else Path("/")
        return root / "usr/src" / f"linux-headers-{self.release}"

    @property
    def jail(self) -> Path | None:
        """A root directory with compiler and tools of the kernel's suite; none for the machine's own."""
        return self.root / "jail" if self.suite else None

    @property
    def workshop(self) -> Path:
        """Where modules are built."""
        return (self.jail or self.root) / "build"

    def inside(self, path: Path) -> Path:
        """A path as the compiler sees it."""
        return Path("/") / path.relative_to(self.jail) if self.jail else path

    def compile(self, *command: str | Path) -> None:
        """Run the compiler where it belongs."""
        who = f"--userspec={os.getuid()}:{os.getgid()}"
        # objtool reads /proc
        jail = [*as_root(), "unshare", f"--mount-proc={self.jail}/proc", "chroot", who, self.jail]
        run(*(jail if self.jail else []), *command)

    def program(self, name: str) -> list[str | Path]:
        """How to run a program of the kernel's suite on files of the machine: with the suite's own libraries."""
        if not self.jail:
            return [name]
        libraries = [self.jail / d / "x86_64-linux-gnu" for d in ("lib", "usr/lib")]
        loader = next(p for d in libraries for p in d.glob("ld-[l2]*.so*"))
        (found,) = [p for d in ("bin", "sbin") if (p := self.jail / "usr" / d / name).exists()]
        return [loader, "--library-path", ":".join(map(str, libraries)), found]

    @property
    def filter_level(self) -> int:
        """What makedumpfile may leave out: up to 1.7.2 it takes slab pages for user pages since 6.10."""
        return 31 if tuple(map(int, self.series.split("."))) < (6, 10) else 23


def _newest_first(release: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", release)]


def offered(suite: str = "", arch: str = "amd64") -> dict[str, list[str]]:
    """Releases that apt offers, newest first, by series."""
    found: dict[str, list[str]] = {}
    for name in _apt(suite, arch).search(f"^linux-image-[0-9].*-{arch}$"):
        if match := re.match(RELEASE.format(arch), name):
            found.setdefault(match[2], []).append(match[1])
    return {s: sorted(r, key=_newest_first, reverse=True) for s, r in found.items()}


def choose(wanted: str) -> Kernel:
    """The kernel for a release or a series, or the ``newest``: one that is set up already, or else the newest offered.

    :param wanted: a series of another architecture is written ``6.12-arm64``
    :raises LabError: no suite has one
    """
    if wanted == "newest":
        wanted = max(
            (r for s in SUITES for rs in offered(s).values() for r in rs), key=_newest_first
        )
    ready = sorted(CACHE.glob("kernels/*/kernel.json"), key=lambda p: _newest_first(p.parent.name))
    for path in reversed(ready):
        kernel = Kernel(**json.loads(path.read_text()))
        if wanted in (kernel.release, kernel.label):
            return kernel
    arch = next((name for name in ARCHES if wanted.endswith(f"-{name}")), "amd64")
    for suite in ("", *SUITES) if arch == "amd64" else ("",):
        for series, releases in offered(suite, arch).items():
            for release in releases:
                if wanted in (series, f"{series}-{arch}", release):
                    version = _version(_apt(suite, arch), release)
                    return Kernel(release, series, version, suite, arch)
    raise LabError(f"apt offers no kernel {wanted}; it has {', '.join(offered('', arch))}")


def _apt(suite: str, arch: str) -> Apt:
    return Apt(suite, arch if ARCHES[arch].triplet else "")


def _version(apt: Apt, release: str) -> str:
    package = f"linux-image-{release}"
    versions = apt.versions(package)
    if not versions:
        raise LabError(f"apt does not know {package}")
    return versions[0]


def install(kernels: list[Kernel]) -> None:
    """The programs the lab runs and the kernels' headers, with apt-get (the only step that needs root)."""
    wanted = [*TOOLS, *(f"linux-headers-{k.host_release}" for k in kernels if not k.suite)]
    wanted += [tool for k in kernels for tool in k.arch.tools]
    wanted += ["mmdebstrap"] if any(k.suite for k in kernels) else []
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
    run(
        *as_root(),
        *("apt-get", "install", "-y", "-q", "--no-install-recommends"),
        *("-o", "DPkg::Lock::Timeout=600", *missing),
        timeout=1800,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
    )


def fetch(kernel: Kernel) -> None:
    """Image, debug information and source of a kernel, unpacked into the cache."""
    if kernel.jail:
        _jail(kernel, kernel.jail)
    apt = kernel.apt
    parts = [part.format(kernel.release) for part in IMAGE_PARTS]
    _unpack(kernel, "image", [part for part in parts if kernel.version in apt.versions(part)], ())
    _unpack(kernel, "debug", [f"linux-image-{kernel.release}-dbg"], DEBUG_FILES)
    _unpack(kernel, "source", [f"linux-source-{kernel.series}"], ())
    if kernel.arch.triplet:
        _unpack(kernel, "headers", [f"linux-headers-{kernel.release}"], ())
        _use_own_programs(kernel)
    (kernel.root / "kernel.json").write_text(json.dumps(asdict(kernel)))


def _use_own_programs(kernel: Kernel) -> None:
    """Headers of another architecture, with the machine's programs in place of theirs."""
    for name in ("scripts", "tools"):
        link = kernel.headers / name
        link.unlink()
        link.symlink_to(f"/usr/src/linux-headers-{kernel.host_release}/{name}")


def _jail(kernel: Kernel, to: Path) -> None:
    """A root directory of the kernel's suite with its headers and a compiler."""
    if to.exists():
        return
    part = to.with_name("jail.part")
    run(*as_root(), "rm", "-rf", part)
    part.parent.mkdir(parents=True, exist_ok=True)
    say("mmdebstrap", kernel.suite, "for", kernel.release)
    include = ",".join([*JAIL_TOOLS, f"linux-headers-{kernel.release}"])
    # what it mounts must not be there for a later rm, whatever becomes of it
    command = [*as_root(), "unshare", "--mount", "mmdebstrap", "--quiet", "--mode=root"]
    command += ["--variant=essential", f"--include={include}"]
    command += ["--aptopt=APT::Install-Recommends false", "--skip=check/qemu"]
    first = SUITES[kernel.suite][0][1]
    run(*command, first, part, *Apt(kernel.suite).sources(), timeout=1800)
    for name in ("build", "source"):
        run(*as_root(), "install", "-d", "-o", str(os.getuid()), part / name)
    run(*as_root(), "mv", part, to)


def _unpack(kernel: Kernel, name: str, packages: list[str], patterns: tuple[str, ...]) -> None:
    to = (kernel.jail or kernel.root) / name if name == "source" else kernel.root / name
    if to.exists() and any(to.iterdir()):
        return
    part = kernel.root / f"{name}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for package in packages:
        say("fetch", package, kernel.version)
        deb = kernel.apt.download(package, kernel.version, part)
        run(
            "sh",
            "-ec",
            f"dpkg-deb --fsys-tarfile {deb.name} | {_tar(name, package, patterns)}",
            cwd=part,
            timeout=1800,
        )
        deb.unlink()
    with suppress(FileNotFoundError):
        to.rmdir()
    part.rename(to)


def _tar(name: str, package: str, patterns: tuple[str, ...]) -> str:
    if name == "source":
        members = " ".join(f"{package}/{d}" for d in SOURCE_FILES)
        return f"tar -xO ./usr/src/{package}.tar.xz | xz -dc | tar -x {members}"
    return " ".join(
        ["tar -x", *(["--wildcards", *(f"'{p}'" for p in patterns)] if patterns else [])]
    )
