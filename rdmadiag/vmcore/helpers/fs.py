"""
Files and mounts
----------------

Which processes hold a file open, and which file systems are mounted from a disk.
"""

from collections.abc import Iterator

from drgn import Object, Program, offsetof
from drgn.helpers.linux.fs import for_each_mount, mount_dst

from rdmadiag.vmcore.helpers.text import c_string

__all__ = ("disk_mounts", "files_table_entries", "task_files_table")

_MAX_FILES = 65536


def task_files_table(task: Object) -> int:
    """
    Return the address of a task's table of open files, which threads share; 0 when it has none.

    :param task: ``struct task_struct *``
    """
    # Only the pointer is read: of most tasks nothing else is wanted.
    offset = offsetof(task.type_.type, "files")
    return int(task.prog_.read_word(int(task.value_()) + offset))


def files_table_entries(prog: Program, address: int) -> list[int]:
    """Return the addresses of the ``struct file`` in a table of open files."""
    table = Object(prog, "struct files_struct *", address).fdt.read_()
    count = min(int(table.max_fds.value_()), _MAX_FILES)
    raw = prog.read(table.fd.value_(), count * 8)
    return [file for file in memoryview(raw).cast("Q") if file]


def disk_mounts(prog: Program) -> Iterator[tuple[str, str]]:
    """
    Iterate over the mounted file systems that are on a disk, as the first process sees them.

    :return: Iterator of (disk, where it is mounted): ``("nvme0n1", "/data")``, the disk also of a partition.
    """
    for mount in for_each_mount(prog):
        if bdev := mount.mnt.mnt_sb.s_bdev.read_():
            yield (
                c_string(bdev.bd_disk.disk_name),
                mount_dst(mount).decode(errors="backslashreplace"),
            )
