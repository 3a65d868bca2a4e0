"""QEMU's monitor (QMP) as a dump's memory would be seen through it, and monitors that misbehave."""

import json
import multiprocessing
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from drgn import FaultError, Program

from rdmadiag.vmcore.corefile import CoreFile, read_core_file
from rdmadiag.vmcore.notes import pack_note
from rdmadiag.vmcore.opening import open_program

from .formats import pack_elf

GREETING = (
    b'{"QMP": {"version": {"qemu": {"micro": 2, "minor": 2, "major": 7}}, "capabilities": []}}\r\n'
)
EVENT = b'{"event": "STOP", "timestamp": {"seconds": 1, "microseconds": 2}}\r\n'
Talk = Callable[[socket.socket], None]


@contextmanager
def listening(path: Path, talk: Talk) -> Iterator[Path]:
    """
    Serve one client after the other in another process: drgn holds the interpreter while it waits for an answer.

    :param talk: What to do with a client.
    """
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(1)

        def serve() -> None:
            while True:
                client, _ = server.accept()
                with client, suppress(OSError):
                    talk(client)

        process = multiprocessing.get_context("fork").Process(target=serve, daemon=True)
        process.start()
        try:
            yield path
        finally:
            process.kill()
            process.join()


class Monitor:
    """
    A monitor whose guest has a dump's memory.

    :param told: Whether the guest has told QEMU where its VMCOREINFO is.
    :param answered: How many reads of memory are answered.
    :param then: What is done with a client after them.
    """

    def __init__(
        self,
        vmcore: Path,
        *,
        told: bool = True,
        answered: int = 1 << 62,
        then: Talk = lambda _client: time.sleep(600),
    ) -> None:
        self.vmcore = vmcore
        self.told, self.left, self.then = told, answered, then
        self.fd = -1
        self.asked: list[str] = []
        self.core: CoreFile
        self.prog: Program

    def __call__(self, client: socket.socket) -> None:
        self.core = read_core_file(self.vmcore)
        self.prog = open_program(self.core)
        client.sendall(GREETING)
        buffer = b""
        while True:
            data, fds, _, _ = socket.recv_fds(client, 1 << 16, 1)
            if not data:
                return
            self.fd = fds[0] if fds else self.fd
            *lines, buffer = (buffer + data).split(b"\n")
            for line in filter(bytes.strip, lines):
                if not self.left:
                    self.then(client)
                    return
                answer = self.answer(json.loads(line))
                client.sendall(EVENT + json.dumps(answer).encode() + b"\r\n")

    def answer(self, message: dict) -> dict:
        command, arguments = message["execute"], message.get("arguments", {})
        if command == "query-target":
            return {"return": {"arch": "x86_64"}}
        if command == "dump-guest-memory":
            self.dump()
        if command == "human-monitor-command":
            return {"return": self.human(arguments["command-line"])}
        assert command in ("qmp_capabilities", "getfd", "dump-guest-memory"), (
            "nothing else is asked"
        )
        return {"return": {}}

    def dump(self) -> None:
        notes = pack_note(b"VMCOREINFO", 0, self.core.vmcoreinfo) if self.told else b""
        with os.fdopen(self.fd, "wb") as file:
            file.write(pack_elf(notes, [[0]], {0: bytes(4096)}, many=False))

    def human(self, line: str) -> str:
        if line == "info mtree -f":
            end = (self.core.kdump.max_mapnr << 12) - 1
            return (
                'FlatView #0\r\n AS "memory", root: system\r\n Root memory region: system\r\n'
                f"  0000000000000000-{end:016x} (prio 0, ram): pc.ram\r\n"
                "  00000000fec00000-00000000fec00fff (prio 0, i/o): ioapic\r\n"
            )
        found = re.fullmatch(r"xp /(\d+)xb (0x[0-9a-f]+)", line)
        if not found:
            return "unknown command"
        self.left -= 1
        return self.xp(int(found[2], 16), int(found[1]))

    def xp(self, address: int, count: int) -> str:
        """Eight bytes a row; a dump has whole pages or none, and no more than one is asked for."""
        try:
            raw = self.prog.read(address, count, True)
        except FaultError:
            return f"{address:016x}: Cannot access memory\r\n"
        rows = [
            f"{address + at:016x}: {' '.join(map(hex2, raw[at : at + 8]))}\r\n"
            for at in range(0, count, 8)
        ]
        return "".join(rows)


hex2 = [f"0x{byte:02x}" for byte in range(256)].__getitem__
