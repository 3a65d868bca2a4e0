"""
Guests
------

Memory of a running guest, through its QEMU's monitor: the QEMU Machine Protocol (``docs/interop/qmp-spec.rst``) on
a UNIX socket. drgn speaks it; what is here is that a socket which is no monitor, or does not answer, ends in a
sentence, and that the guest is not changed: only its memory is read, never a device.

For VMCOREINFO drgn has QEMU dump one byte of memory (``dump-guest-memory``). QEMU halts the guest for it and lets it
go on itself, even if we are gone by then.
"""

import json
import re
import socket
import time
import weakref
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from drgn import BadDataError, FaultError, Program

from rdmadiag.errors import UserError
from rdmadiag.vmcore.deadline import Deadline
from rdmadiag.vmcore.faults import DrgnError, drgn_errors

__all__ = ("Guest",)

GREETING_SECONDS, SETUP_SECONDS, ANSWER_SECONDS = 3, 20, 10
_MAX_GREETING, _MAX_ANSWER, _MAX_REASON = 64 << 10, 8 << 20, 200
_RAM = re.compile(r"^\s*([0-9a-f]{16})-([0-9a-f]{16}) \(prio -?\d+, ram\):", re.MULTILINE)


class Guest:
    """
    A running guest.

    :param path: Socket of the monitor; QEMU serves one client at a time.
    :ivar vmcoreinfo: Text of the kernel's VMCOREINFO.
    :raises UserError: if it is no monitor, or its guest no Linux kernel that can be read
    """

    def __init__(self, path: Path) -> None:
        self._link = socket.socket(socket.AF_UNIX)
        weakref.finalize(self, self._link.close)
        try:
            _connect(self._link, path)
            self._deadline = Deadline(self._link)
            self._prog = self._hand_to_drgn()
            self._ram = _memory_ranges(self._ask("info mtree -f"))
        except _NoMonitorError as error:
            raise UserError(f"{path}: {error}") from error
        try:
            self.vmcoreinfo: bytes = self._prog["VMCOREINFO"].string_()
        except LookupError as error:
            raise UserError(f"{path}: {_NO_VMCOREINFO}") from error

    def read(self, address: int, count: int, _offset: int, _physical: bool) -> bytes:
        """
        Read physical memory: the interface of drgn's memory segments.

        Only what is RAM: to read a device's registers may change its state.

        :raises FaultError: if the guest has no memory there, or its monitor is gone or gives no answer
        """
        place = bisect_right(self._ram, (address, 1 << 64)) - 1
        if place < 0 or address + count > self._ram[place][1]:
            raise FaultError("the guest has no memory there", address)
        try:
            with drgn_errors(BadDataError, OSError), self._deadline.within(ANSWER_SECONDS):
                raw: bytes = self._prog.read(address, count, True)
        except DrgnError as error:
            # An answer that comes late would be taken for the next one's.
            with suppress(OSError):
                self._link.shutdown(socket.SHUT_RDWR)
            raise FaultError("the guest's monitor gives no answer", address) from error
        return raw

    def _hand_to_drgn(self) -> Program:
        """Return a program with the guest's memory; the socket stays open beside it."""
        prog = Program()
        began = time.monotonic()
        try:
            with drgn_errors(BadDataError, OSError), self._deadline.within(SETUP_SECONDS):
                prog.set_qemu_qmp(self._link.dup().detach())
        except DrgnError as error:
            late = time.monotonic() - began >= SETUP_SECONDS
            reason = "gives no answer" if late else f"answers wrongly: {str(error)[:_MAX_REASON]}"
            raise _NoMonitorError(f"the monitor {reason}") from error
        return prog

    def _ask(self, command: str) -> str:
        """Return what the human monitor says to a command."""
        arguments = {"command-line": command}
        message = {"execute": "human-monitor-command", "arguments": arguments}
        with suppress(OSError), self._deadline.within(ANSWER_SECONDS):
            self._link.sendall(json.dumps(message).encode() + b"\n")
            for line in _lines(self._link):
                answer = _object(line)
                if "event" not in answer:
                    return str(answer.get("return", ""))
        raise _NoMonitorError(f"the monitor gives no answer to {command!r}")


class _NoMonitorError(Exception):
    """Why a socket is of no use, in words."""


_NO_VMCOREINFO = (
    "the guest's kernel has not told QEMU where its VMCOREINFO is: that needs QEMU's option -device vmcoreinfo, and a "
    "Linux kernel with the module qemu_fw_cfg loaded"
)
_SILENT = (
    f"no QEMU monitor has greeted within {GREETING_SECONDS} s: it is none, or it serves another client (libvirt's, "
    "say); a second one is QEMU's option -qmp unix:PATH,server=on,wait=off"
)


def _connect(link: socket.socket, path: Path) -> None:
    """Connect to a monitor, and leave its greeting where it is: drgn wants to see it."""
    link.settimeout(GREETING_SECONDS)
    try:
        link.connect(str(path))
        _expect_greeting(link)
    except OSError as error:
        silent = isinstance(error, TimeoutError | BlockingIOError)
        reason = error.strerror or str(error)
        raise _NoMonitorError(_SILENT if silent else f"cannot be connected to: {reason}") from error
    link.setblocking(True)


def _expect_greeting(link: socket.socket) -> None:
    end = time.monotonic() + GREETING_SECONDS
    while b"\n" not in (seen := link.recv(_MAX_GREETING, socket.MSG_PEEK)):
        if not seen:
            raise _NoMonitorError("is closed by who listens there, without a word")
        if len(seen) == _MAX_GREETING:
            break
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.02)
    if "QMP" not in _object(seen.partition(b"\n")[0]):
        raise _NoMonitorError("is no QEMU monitor: what it says first is no QMP greeting")


def _object(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line; an empty one if it is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _lines(link: socket.socket) -> Iterator[bytes]:
    """Iterate over the lines that come, up to a size in all."""
    seen = bytearray()
    size = 0
    while size < _MAX_ANSWER and (new := link.recv(1 << 16)):
        size += len(new)
        seen += new
        *lines, rest = seen.split(b"\n") if b"\n" in new else [seen]
        yield from map(bytes, lines)
        seen = bytearray(rest)


def _memory_ranges(tree: str) -> list[tuple[int, int]]:
    """
    Return start and end of the guest's RAM, ascending.

    :param tree: What ``info mtree -f`` says: ``START-END (prio N, TYPE): NAME``, the end included.
    """
    found = {(int(start, 16), int(end, 16) + 1) for start, end in _RAM.findall(tree)}
    if not found:
        raise _NoMonitorError("the monitor names no memory of the guest")
    return _joined(sorted(found))


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that overlap or adjoin: several address spaces have the same memory."""
    joined = ranges[:1]
    for start, end in ranges[1:]:
        if start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined
