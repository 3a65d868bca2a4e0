"""
What hangs on a connection or a controller: the processes of sockets, the disks and mounts of namespaces.

All raise what of ``READ_ERRORS`` reading them does.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress

from drgn import Object

from rdmadiag.facts.model import Fields
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.errors import READ_ERRORS
from rdmadiag.vmcore.helpers.fs import disk_mounts, files_table_entries, task_files_table
from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.helpers.nvme import nvme_ctrl_for_each_ns, nvme_ns_disk_name
from rdmadiag.vmcore.helpers.rds_sock import for_each_rds_sock

__all__ = ("disks_of", "mounts_of", "processes_of")


def processes_of(view: View, sockets: set[int]) -> list[Fields]:
    """
    Return {pid, comm} of the processes that hold sockets open.

    :param sockets: Addresses of ``struct rds_sock``.
    """
    found: dict[int, str] = {}
    for address in sockets:
        found |= _holders_of(view, Object(view.prog, "struct rds_sock *", address))
    return [{"pid": pid, "comm": found[pid]} for pid in sorted(found)]


def _holders_of(view: View, rs: Object) -> dict[int, str]:
    holders = view.once("holders of files", lambda: _holders(view))
    files = list(_files(rs))
    if not holders.keys() >= set(files):
        raise LookupError(f"the socket at {rs.value_():#x} is not on the list of sockets")
    return dict(holder for file in files for holder in holders[file])


def _files(rs: Object) -> Iterator[int]:
    """Iterate over the addresses of a socket's ``struct file``: one, or none when it was closed meanwhile."""
    sock = rs.rs_sk.sk_socket.read_()
    if sock and (file := int(sock.file.value_())):
        yield file


def _holders(view: View) -> dict[int, list[tuple[int, str]]]:
    """Return the processes by the addresses of the files of RDS sockets that they have open."""
    found: dict[int, list[tuple[int, str]]] = {}
    with suppress(*READ_ERRORS):  # a socket that is not found is missed by who asks for it
        for file in nested(for_each_rds_sock(view.prog), _files):
            found[file] = []
    seen = {0}
    for row in view.tasks:
        # What cannot be read is not told: this is a list of those concerned, not of all that are.
        with suppress(*READ_ERRORS):
            table = task_files_table(row.task)
            if table not in seen:
                seen.add(table)
                for file in found.keys() & files_table_entries(view.prog, table):
                    found[file].append((row.pid, row.comm))
    return found


def disks_of(nvme: Object) -> list[str]:
    """
    Return the disks behind a controller.

    :param nvme: ``struct nvme_ctrl``
    """
    return sorted({nvme_ns_disk_name(ns) for ns in nvme_ctrl_for_each_ns(nvme)})


def mounts_of(view: View, disks: list[str]) -> list[str]:
    """Return where file systems of some disks are mounted."""
    mounts = view.once("mounts", lambda: _mounts(view)) if disks else {}
    return sorted({where for disk in disks for where in mounts.get(disk, ())})


def _mounts(view: View) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for disk, where in disk_mounts(view.prog):
        found[disk].append(where)
    return found
