"""What differs between the machines that the lab emulates."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .apt import Apt
from .paths import CACHE, LabError, run, say

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES = (
    *("busybox-static", "iproute2", "kexec-tools", "kmod", "libc6", "nvme-cli", "open-iscsi"),
)
"""What the programs of a guest of another architecture are taken from."""


@dataclass(frozen=True)
class Arch:
    """
    An architecture.

    :ivar name: As Debian calls it.
    :ivar triplet: As compilers call it; ``""`` for the one that the lab runs on.
    :ivar qemu: QEMU's program and machine. A ``max`` CPU has all that can be emulated, so pointer authentication too.
    :ivar console: What the kernel's command line begins with.
    :ivar tools: Packages that its guests need on the machine.
    :ivar boot_seconds: How long a guest may take to boot, in seconds.
    """

    name: str
    triplet: str
    qemu: tuple[str, ...]
    console: str
    tools: tuple[str, ...] = ()
    boot_seconds: float = 150

    def tool(self, name: str) -> str:
        """Name of a compiler's or binutils' program."""
        return f"{self.triplet}-{name}" if self.triplet else name

    @property
    def make_options(self) -> list[str]:
        """What Debian's kernel makefiles want to know when they compile for another architecture."""
        if not self.triplet:
            return []
        return [
            "DEB_BUILD_ARCH=amd64",
            f"DEB_HOST_ARCH={self.name}",
            f"DEB_HOST_GNU_TYPE={self.triplet}",
        ]

    @property
    def sysroot(self) -> Path:
        """Unpacked packages of this architecture, which are fetched when they are not there."""
        to = CACHE / f"sysroot-{self.name}"
        mark = to / "packages"
        if mark.exists() and mark.read_text() == " ".join(PACKAGES):
            return to
        shutil.rmtree(to, ignore_errors=True)
        part = to.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        (part / "debs").mkdir(parents=True)
        say("fetch", *(f"{name}:{self.name}" for name in PACKAGES))
        for deb in Apt("", self.name).download_all(PACKAGES, part / "debs"):
            run("dpkg-deb", "-x", deb, part)
        shutil.rmtree(part / "debs")
        (part / "packages").write_text(" ".join(PACKAGES))
        part.rename(to)
        return to

    def program(self, name: str) -> dict[str, Path]:
        """Files of a program and of the libraries it needs, by their place in the guest.

        :raises LabError: it is not installed
        """
        if not self.triplet:
            return _own_program(name)
        found = self._find(name, ("bin", "sbin", "usr/bin", "usr/sbin"))
        files = {f"bin/{name}": found}
        waiting = [found]
        while waiting:
            for library in _needed(waiting.pop()):
                place = "lib" if library.startswith("ld-") else f"lib/{self.triplet}"
                if (target := f"{place}/{library}") not in files:
                    folders = (f"lib/{self.triplet}", f"usr/lib/{self.triplet}")
                    files[target] = self._find(library, folders)
                    waiting.append(files[target])
        return files

    def _find(self, name: str, folders: tuple[str, ...]) -> Path:
        for folder in folders:
            path = self.sysroot / folder / name
            if path.exists():
                return path.resolve()
        raise LabError(f"{self.sysroot}: no {name}")


def _own_program(name: str) -> dict[str, Path]:
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if not found:
        raise LabError(f"no program {name}: run setup")
    path = Path(found).resolve()
    # ldd fails on a program that is linked statically
    libraries = re.findall(r"(/\S+) \(0x", run("sh", "-c", 'ldd "$1" || true', "-", path))
    return {f"bin/{name}": path} | {one.lstrip("/"): Path(one) for one in libraries}


def _needed(path: Path) -> Iterator[str]:
    """The libraries that a file names, and its loader."""
    text = run("readelf", "-dlW", path)
    for match in re.finditer(r"\(NEEDED\).*\[(.+)\]", text):
        yield match[1]


AMD64 = Arch(
    "amd64",
    "",
    ("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max,la57=off"),
    "console=ttyS0,115200 no_timer_check",
)
ARM64 = Arch(
    "arm64",
    "aarch64-linux-gnu",
    (
        *("qemu-system-aarch64", "-M", "virt", "-accel", "tcg,thread=multi"),
        *("-cpu", "max,pauth-impdef=on"),
    ),
    "console=ttyAMA0",
    ("qemu-system-arm", "gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"),
    boot_seconds=400,
)
ARCHES = {arch.name: arch for arch in (AMD64, ARM64)}
