"""What hangs on a connection or a controller: the processes of sockets, the disks and mounts of namespaces."""

from collections import defaultdict
from contextlib import suppress

from drgn import Object

from rdmadiag.facts.model import Fields
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.errors import READ_ERRORS
from rdmadiag.vmcore.helpers.fs import disk_mounts, files_table_entries, task_files_table
from rdmadiag.vmcore.helpers.nvme import nvme_ctrl_for_each_ns, nvme_ns_disk_name

__all__ = ("disks_of", "mounts_of", "processes_of")


def processes_of(view: View, sockets: set[int]) -> list[Fields] | None:
    """
    Return {pid, comm} of the processes that hold sockets open; ``None`` when that cannot be read.

    :param sockets: Addresses of ``struct rds_sock``.
    """
    found: dict[int, str] = {}
    try:
        for address in sockets:
            found |= _holders_of(view, Object(view.prog, "struct rds_sock *", address))
    except READ_ERRORS:
        return None
    return [{"pid": pid, "comm": found[pid]} for pid in sorted(found)]


def _holders_of(view: View, rs: Object) -> dict[int, str]:
    holders = view.once("holders of files", lambda: _holders(view))
    sock = rs.rs_sk.sk_socket.read_()
    # A socket that was closed meanwhile has no file any more.
    return dict(holders.get(int(sock.file.value_()), ())) if sock else {}


def _holders(view: View) -> dict[int, list[tuple[int, str]]]:
    """Return the processes by the addresses of the files that they have open."""
    found: dict[int, list[tuple[int, str]]] = defaultdict(list)
    seen = {0}
    for row in view.tasks:
        # What cannot be read is not told: this is a list of those concerned, not of all that are.
        with suppress(*READ_ERRORS):
            table = task_files_table(row.task)
            if table not in seen:
                seen.add(table)
                for file in files_table_entries(view.prog, table):
                    found[file].append((row.pid, row.comm))
    return found


def disks_of(nvme: Object) -> list[str] | None:
    """
    Return the disks behind a controller; ``None`` when they cannot be read.

    :param nvme: ``struct nvme_ctrl``
    """
    try:
        return sorted({nvme_ns_disk_name(ns) for ns in nvme_ctrl_for_each_ns(nvme)})
    except READ_ERRORS:
        return None


def mounts_of(view: View, disks: list[str] | None) -> list[str] | None:
    """Return where file systems of some disks are mounted; ``None`` when that cannot be read."""
    if not disks:
        return None if disks is None else []
    mounts = view.once("mounts", lambda: _mounts(view))
    return None if mounts is None else sorted({where for disk, where in mounts if disk in disks})


def _mounts(view: View) -> list[tuple[str, str]] | None:
    try:
        return list(disk_mounts(view.prog))
    except READ_ERRORS:
        return None
