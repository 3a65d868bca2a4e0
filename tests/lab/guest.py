"""One QEMU guest: its command line, its command port, its monitor."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any

from .paths import LabError

if TYPE_CHECKING:
    from pathlib import Path

    from .debian import Kernel


def _connect(path: Path, process: subprocess.Popen[bytes], timeout: float = 30) -> socket.socket:
    end = time.monotonic() + timeout
    while True:
        link = socket.socket(socket.AF_UNIX)
        try:
            link.connect(str(path))
        except OSError as error:
            link.close()
            if process.poll() is not None or time.monotonic() > end:
                raise LabError(
                    f"{path.name}: {error}; QEMU's exit status {process.poll()}"
                ) from None
            time.sleep(0.1)
        else:
            return link


class Guest:
    """A running guest. Node 1 is 192.168.10.1 and listens for the wire, node 2 is 192.168.10.2.

    The wire is a UNIX socket between the two processes: no packet can leave the machine.
    """

    def __init__(
        self,
        kernel: Kernel,
        node: int,
        work: Path,
        *,
        memory: int,
        cpus: int,
        crash: bool,
        share: bool,
    ) -> None:
        self.node, self.kernel = node, kernel
        self.name = f"node{node}"
        self.console = work / f"{self.name}.console"
        self.qmp_path = work / f"{self.name}.qmp"
        self.second_qmp_path = work / f"{self.name}.qmp2"
        self.disk = work / f"{self.name}.disk"
        self._errors = work / f"{self.name}.qemu"
        shell = work / f"{self.name}.sh"
        append = f"{kernel.arch.console} loglevel=7 panic=0 cryptomgr.notests lab.name={self.name} lab.ip=192.168.10.{node}"
        initrd = kernel.root / "initramfs.cpio"
        extra: list[str] = []
        if crash:
            # both archives in one: the kernel unpacks one after the other
            both = work / "initramfs-crash.cpio"
            if not both.exists():
                both.write_bytes(initrd.read_bytes() + (kernel.root / "crash.cpio").read_bytes())
            initrd = both
            append += f" crashkernel=384M lab.level={kernel.filter_level}"
            with self.disk.open("wb") as disk:
                disk.truncate(2 << 30)
            extra = ["-drive", f"file={self.disk},if=virtio,format=raw,cache=unsafe"]
        if share:
            # the machine's own files, read only, for the tool under test inside the guest
            extra += [
                "-virtfs",
                "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
            ]
        self.command = [
            *("setpriv", "--pdeathsig", "KILL", "nice", "-n", "15"),
            *(*kernel.arch.qemu, "-m", str(memory), "-smp", str(cpus)),
            *("-nodefaults", "-display", "none", "-no-reboot", "-name", self.name),
            *("-kernel", str(kernel.vmlinuz), "-initrd", str(initrd), "-append", append),
            *("-serial", f"file:{self.console}", "-device", "vmcoreinfo"),
            *("-chardev", f"socket,id=sh,path={shell},server=on,wait=off"),
            *("-device", "virtio-serial-pci", "-device", "virtserialport,chardev=sh,name=sh"),
            *("-qmp", f"unix:{self.qmp_path},server=on,wait=off"),
            *("-qmp", f"unix:{self.second_qmp_path},server=on,wait=off"),
            *(
                "-netdev",
                f"stream,id=wire,server={'on' if node == 1 else 'off'},addr.type=unix,addr.path={work}/wire",
            ),
            *("-device", f"virtio-net-pci,netdev=wire,mac=52:54:00:00:10:0{node}"),
            *extra,
        ]
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors.open("wb"),
        )
        self.started = time.time()
        self.stopped = False
        self.events: list[dict[str, Any]] = []
        self._tag = 0
        self._seen = b""
        try:
            self._shell = _connect(shell, self.process)
            self._qmp = _connect(self.qmp_path, self.process).makefile("rw")
            self._qmp.readline()
            self.qmp("qmp_capabilities")
        except LabError as error:
            self.kill()
            raise LabError(f"{error}\n{self._errors.read_text()[-2000:]}") from None

    def wait_ready(self) -> None:
        """Until the guest's init has given out its command port."""
        end = time.monotonic() + self.kernel.arch.boot_seconds
        while b"LAB-READY" not in (said := self.console_bytes()):
            ended = self.process.poll() is not None or b"Kernel panic" in said
            if ended or time.monotonic() > end:
                raise LabError(
                    f"{self.name} did not boot: {self.console_bytes()[-1500:].decode(errors='replace')}"
                )
            time.sleep(0.3)
        self.sh(". /lab.sh", 60)

    def console_bytes(self) -> bytes:
        return self.console.read_bytes() if self.console.exists() else b""

    def sh(self, command: str, timeout: float = 120) -> str:
        """Run shell text in the guest; what it wrote.

        :raises LabError: its exit status was not 0, or no answer in time
        """
        status, text = self.try_sh(command, timeout)
        if status:
            raise LabError(f"{self.name}: {command!r}: exit status {status}: {text[-1500:]}")
        return text

    def try_sh(self, command: str, timeout: float = 120) -> tuple[int, str]:
        """As :meth:`sh`, with the exit status."""
        self._tag += 1
        tag = f"@@{self._tag}@"
        # the tag is in two parts, so that an echo of the line is no answer
        group = command if command.startswith(". ") else f"( {command}\n)"
        self._shell.settimeout(30)
        self._shell.sendall(f"{group}\necho '@@''{self._tag}@'$?\n".encode())
        end = time.monotonic() + timeout
        self._shell.settimeout(1)
        while not (match := re.search(re.escape(tag).encode() + rb"(\d+)\r?\n", self._seen)):
            if time.monotonic() > end or self.process.poll() is not None:
                raise LabError(f"{self.name}: no answer to {command!r}: {self._seen[-500:]!r}")
            with contextlib.suppress(TimeoutError):
                self._seen += self._shell.recv(1 << 16)
        text, self._seen = self._seen[: match.start()], self._seen[match.end() :]
        return int(match[1]), text.decode(errors="replace").replace("\r", "")

    def qmp(self, execute: str, timeout: float = 300, **arguments: object) -> object:
        """One command to QEMU's monitor; its answer."""
        raw = self._qmp
        raw.write(json.dumps({"execute": execute, "arguments": arguments}) + "\n")
        raw.flush()
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            line = raw.readline()
            if not line:
                break
            answer = json.loads(line)
            if "event" in answer:
                self.events.append(answer)
            if "error" in answer:
                raise LabError(f"{self.name}: {execute}: {answer['error']}")
            if "return" in answer:
                return answer["return"]
        raise LabError(f"{self.name}: the monitor gave no answer to {execute}")

    def stop(self) -> None:
        self.qmp("stop")
        self.stopped = True

    def cont(self) -> None:
        self.qmp("cont")
        self.stopped = False

    def dump(self, path: Path) -> None:
        """The guest's memory as an ELF core, put in the order makedumpfile wants it."""
        self.qmp("dump-guest-memory", paging=False, protocol=f"file:{path}")
        headers_first(path)

    def dump_small(self, path: Path) -> None:
        """The same in QEMU's own kdump form, for architectures that the machine's makedumpfile cannot filter."""
        self.qmp("dump-guest-memory", paging=False, protocol=f"file:{path}", format="kdump-zlib")

    def kill(self) -> None:
        """End QEMU; nothing is left of it."""
        if self.process.poll() is None:
            self.process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
        self.disk.unlink(missing_ok=True)


def headers_first(path: Path) -> None:
    """Move the program headers of QEMU's ELF core behind the ELF header.

    QEMU puts section headers between them; makedumpfile up to 1.7.2 reads the program headers at offset 64.
    """
    path.chmod(0o600)
    with path.open("r+b") as core:
        header = bytearray(core.read(64))
        at = int.from_bytes(header[32:40], "little")
        count = int.from_bytes(header[56:58], "little")
        if at == 64:
            return
        core.seek(at)
        table = core.read(56 * count)
        header[32:40] = (64).to_bytes(8, "little")
        header[40:48] = bytes(8)  # e_shoff: no section headers any more
        header[52:64] = b"".join(n.to_bytes(2, "little") for n in (64, 56, count, 0, 0, 0))
        core.seek(0)
        core.write(bytes(header) + table)
