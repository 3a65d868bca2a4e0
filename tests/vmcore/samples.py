"""The sample dumps, and what drgn with full DWARF says of them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import drgn

from rdmadiag.vmcore.dump import Dump, open_dump

SAMPLES = Path(__file__).parents[2] / "sample_dumps"
RDS = ("rds-stuck-recv", "rds-healthy", "rds-mixed-queued", "rds-stuck-recv-612")
NVME = (
    "iwcm-connect-wait",
    "iwcm-delete-stuck-stock",
    "nvme-rdma-healthy",
    "nvme-rdma-reconnecting",
)
ALL = (*RDS, *NVME)


def path_of(name: str) -> Path:
    return SAMPLES / name / "vmcore"


@cache
def shared(name: str) -> Dump:
    """A dump that tests only read."""
    return open_dump(path_of(name))


def fresh(name: str) -> Dump:
    """A dump that a test may lay bytes over."""
    return open_dump(path_of(name))


@cache
def dwarf(name: str) -> dict[str, Any]:
    """Layouts, symbols and stacks, read with the debug packages of the kernel of a sample."""
    version = "6.12" if name.endswith("612") else "6.1"
    text = (Path(__file__).parent / "dwarf" / f"{version}.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


def overlay(dump: Dump, address: int, data: bytes) -> None:
    """Lay bytes over a place in a dump's memory."""
    overlay_prog(dump.prog, address, data)


def overlay_prog(prog: drgn.Program, address: int, data: bytes) -> None:
    """The same, before anything of the dump is interpreted."""

    def read(_address: int, count: int, offset: int, _physical: bool) -> bytes:
        return data[offset : offset + count]

    prog.add_memory_segment(address, len(data), read)


def word(value: int) -> bytes:
    return value.to_bytes(8, "little")
