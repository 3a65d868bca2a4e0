"""Stacks as facts carry them, and a cheap test of which stacks are worth unwinding."""

import re
from array import array
from bisect import bisect_right
from typing import NamedTuple

from drgn import Object

from rdmadiag.vmcore.dump import Dump
from rdmadiag.vmcore.frames import Stack as Frames
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
from rdmadiag.vmcore.helpers.sched import task_stack_words

__all__ = ("Stack", "Stacks", "is_rdma_module", "subsystem_of")

# Modules of the RDMA stack, its users and its drivers; "-" in a name is "_" here.
_RDMA = re.compile(
    r"rds|rds_\w+|rdma_\w+|ib_\w+|iw_\w+|siw|mlx[45]_\w+|irdma|i40iw|bnxt_re|cxgb[34]|hns_roce\w*|qedr|"
    r"hfi1|ocrdma|vmw_pvrdma|efa|erdma|mana_ib|usnic_verbs|nvmet?|nvmet?_\w+|rpcrdma|xprtrdma|svcrdma|"
    r"ko2iblnd|smc|rtrs_\w+|rnbd_\w+|9pnet_rdma|sunrpc_rdma|mthca|libiscsi"
)
_SUFFIX = re.compile(r"\.(?:isra|part|constprop|cold|llvm|lto_priv)\b.*")
_SUBSYSTEMS = {
    "rds_rdma": "rds",
    "rds_tcp": "rds",
    "iw_cm": "iwcm",
    "nvme_core": "nvme",
    "nvme_fabrics": "nvme",
    "nvmet_rdma": "nvmet",
    "ib_uverbs": "uverbs",
    "rdma_ucm": "ucma",
    "rdma_rxe": "rxe",
    "ib_ipoib": "ipoib",
}


def is_rdma_module(name: str) -> bool:
    """Return whether a module belongs to the RDMA stack, its users or its drivers."""
    return bool(_RDMA.fullmatch(name.replace("-", "_")))


def subsystem_of(module: str) -> str:
    """Return the name of the subsystem that an RDMA module is part of."""
    name = module.replace("-", "_")
    return _SUBSYSTEMS.get(name, name)


class Stack(NamedTuple):
    """
    A task's stack.

    :ivar frames: As the kernel prints them, innermost first.
    :ivar functions: Names of the functions, without guesses and compiler suffixes.
    :ivar modules: Modules of those functions, each once, innermost first.
    :ivar rdma_module: The innermost RDMA module, ``""`` when there is none.
    :ivar rdma_function: The innermost function of it.
    :ivar problem: Why the stack ends too early, ``""`` when it does not.
    """

    frames: list[str]
    functions: list[str]
    modules: list[str]
    rdma_module: str
    rdma_function: str
    problem: str = ""


def stack_of(frames: Frames) -> Stack:
    """Return what the frames of a stack tell."""
    sure = [frame for frame in frames if frame.name and not frame.guess]
    functions = [_SUFFIX.sub("", frame.name) for frame in sure]
    modules = list(dict.fromkeys(frame.module for frame in sure if frame.module))
    rdma = next(
        (
            (frame.module, function)
            for frame, function in zip(sure, functions, strict=True)
            if frame.module and is_rdma_module(frame.module)
        ),
        ("", ""),
    )
    problem = frames.problem or ("" if frames else "no frame was found")
    return Stack([str(frame) for frame in frames], functions, modules, *rdma, problem)


class Stacks:
    """
    Unwinds stacks of a dump, each once.

    :ivar problems: What could not be read.
    """

    def __init__(self, dump: Dump) -> None:
        self.problems: list[str] = []
        self._dump = dump
        self._known: dict[int, Stack] = {}
        ranges = sorted(
            pair for one in dump.modules if is_rdma_module(one.name) for pair in one.ranges
        )
        self._starts = array("Q", [pair[0] for pair in ranges])
        self._ends = [pair[1] for pair in ranges]
        self._span = (ranges[0][0], max(self._ends)) if ranges else (1, 0)

    def of(self, task: Object) -> Stack:
        """
        Return a task's stack.

        :param task: ``struct task_struct *``
        """
        address = int(task.value_())
        if address not in self._known:
            self._known[address] = stack_of(self._dump.stack(task))
        return self._known[address]

    def is_rdma_text(self, address: int) -> bool:
        """Return whether an address is in an RDMA module."""
        index = bisect_right(self._starts, address) - 1
        return index >= 0 and address < self._ends[index]

    def may_be_rdma(self, task: Object) -> bool:
        """
        Return whether a sleeping task's stack holds an address of an RDMA module.

        :param task: ``struct task_struct *``
        """
        low, high = self._span
        code = self._dump.code_address
        try:
            words = task_stack_words(task)[1]
        except READ_ERRORS as error:
            self.problems.append(
                f"the stack of the task at {task.value_():#x} cannot be read: {why(error)}"
            )
            return False
        return any(low <= code(word) < high and self.is_rdma_text(code(word)) for word in words)
