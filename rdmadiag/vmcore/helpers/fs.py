"""
Files and mounts
----------------

Which processes hold a file open, and which file systems are mounted from a disk.
"""

from collections.abc import Iterator

from drgn import Object, Program, offsetof

from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.walk import list_entries, rbtree_entries, take_steps

__all__ = (
    "disk_mounts",
    "files_table_entries",
    "for_each_init_mount",
    "mount_path",
    "task_files_table",
)

_MAX_FILES = 65536
_MAX_DEPTH = 4096
_A_STEP = 64
"""Entries of a table of files that take as long as a node of a list."""


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
    take_steps(prog, 1 + count // _A_STEP)
    raw = prog.read(table.fd.value_(), count * 8)
    return [file for file in memoryview(raw).cast("Q") if file]


def disk_mounts(prog: Program) -> Iterator[tuple[str, str]]:
    """
    Iterate over the mounted file systems that are on a disk, as the first process sees them.

    :return: Iterator of (disk, where it is mounted): ``("nvme0n1", "/data")``, the disk also of a partition.
    """
    for mount in for_each_init_mount(prog):
        if bdev := mount.mnt.mnt_sb.s_bdev.read_():
            yield c_string(bdev.bd_disk.disk_name), mount_path(mount)


def for_each_init_mount(prog: Program) -> Iterator[Object]:
    """
    Iterate over the mounts that the first process sees. drgn's own walk has no end in a list that runs in a circle.

    :return: Iterator of ``struct mount *`` objects.
    """
    ns = prog["init_task"].nsproxy.mnt_ns
    # Since Linux kernel commit 2eea9ce4310d ("mounts: keep list of mounts in an rbtree") (in v6.8), they are in a
    # tree. The list is asked for first: the namespace had another member "mounts", a number, before that.
    try:
        mounts = list_entries("struct mount", ns.list, "mnt_list")
    except AttributeError:
        mounts = rbtree_entries("struct mount", ns.mounts, "mnt_node")
    # A reader of /proc/mounts marks its place in the list with an entry that is no mount (v5.8 to v6.8).
    return (mount for mount in mounts if mount.mnt.mnt_sb)


def mount_path(mount: Object) -> str:
    """
    Return where a file system is mounted.

    :param mount: ``struct mount *``
    :raises ValueError: if its parents have no end
    """
    names, dentry = list[str](), mount.mnt.mnt_root.read_()
    for _ in range(_MAX_DEPTH):
        take_steps(mount.prog_)
        if dentry == mount.mnt.mnt_root:
            parent = mount.mnt_parent.read_()
            if mount == parent:
                break
            dentry, mount = mount.mnt_mountpoint.read_(), parent
            continue
        above = dentry.d_parent.read_()
        if dentry == above:
            break
        names.append(c_string(dentry.d_name.name))
        dentry = above
    else:
        raise ValueError(f"a mount point lies deeper than {_MAX_DEPTH} folders")
    return "/" + "/".join(reversed(names))
