"""
Running tasks
-------------

Registers of the tasks that were on a CPU when the machine stopped: from the NT_PRSTATUS notes, which the
kernel writes in ``crash_save_cpu()`` (``kernel/crash_core.c``) and QEMU for each virtual CPU.
"""

import struct
from typing import NamedTuple

from drgn import Architecture, Object
from drgn.helpers.linux.cpumask import for_each_online_cpu
from drgn.helpers.linux.sched import task_cpu

from rdmadiag.vmcore.chain_arm64 import LR
from rdmadiag.vmcore.orc import Reg
from rdmadiag.vmcore.unwind import Registers

__all__ = ("running_registers",)

_PID_AT, _REGS_AT = 32, 112
_X86_REGS, _ARM64_REGS = 27, 34
_KERNEL_HALF = 1 << 63


class _Notes(NamedTuple):
    """``pr_pid`` and ``pr_reg`` of a note: ``struct user_regs_struct`` of x86-64, ``struct user_pt_regs`` of arm64."""

    pid: int
    regs: tuple[int, ...]


def running_registers(task: Object, prstatus: list[bytes]) -> Registers:
    """
    Return the registers of a task that was running.

    The note of a CPU is found by the pid in it; QEMU writes no pid, and idle tasks share one, so else by
    the CPU's place among those that are online, if there are as many notes.

    :param task: ``struct task_struct *``
    :param prstatus: The notes.
    :raises LookupError: if there is no note of its CPU
    """
    platform = task.prog_.platform
    is_arm64 = platform is not None and platform.arch == Architecture.AARCH64
    count = _ARM64_REGS if is_arm64 else _X86_REGS
    notes = [_decode(note, count) for note in prstatus if len(note) >= _REGS_AT + 8 * count]
    pid = task.pid.value_()
    by_pid = [note for note in notes if note.pid == pid] if pid else []
    note = by_pid[0] if len(by_pid) == 1 else _by_cpu(task, notes)
    return _arm64(note.regs) if is_arm64 else _x86(note.regs)


def _x86(regs: tuple[int, ...]) -> Registers:
    others = {
        Reg.R10: regs[7],
        Reg.R13: regs[2],
        Reg.DI: regs[14],
        Reg.DX: regs[12],
        Reg.AX: regs[10],
    }
    user = bool(regs[17] & 3) or regs[16] < _KERNEL_HALF
    return Registers(regs[16], regs[19], regs[4], call=False, user=user, others=others)


def _arm64(regs: tuple[int, ...]) -> Registers:
    user = not regs[33] & 0xF or regs[32] < _KERNEL_HALF
    return Registers(regs[32], regs[31], regs[29], call=False, user=user, others={LR: regs[30]})


def _decode(note: bytes, count: int) -> _Notes:
    (pid,) = struct.unpack_from("<i", note, _PID_AT)
    return _Notes(pid, struct.unpack_from(f"<{count}Q", note, _REGS_AT))


def _by_cpu(task: Object, notes: list[_Notes]) -> _Notes:
    try:
        cpus = list(for_each_online_cpu(task.prog_))
        place = cpus.index(task_cpu(task))
    except ValueError as error:
        raise LookupError("its CPU is not online") from error
    if len(cpus) != len(notes):
        raise LookupError(f"the registers of {len(notes)} of {len(cpus)} CPUs are known")
    return notes[place]
