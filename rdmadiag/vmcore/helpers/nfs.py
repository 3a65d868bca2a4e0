"""
NFS client
----------

Which RPC transport a file system is behind, and what a process that waits for a file waits for; of
``include/linux/nfs_fs_sb.h`` and ``fs/nfs/internal.h``.
"""

from collections.abc import Iterator

from drgn import Object, Program, cast, container_of

from rdmadiag.vmcore.helpers.fs import for_each_init_mount, mount_path
from rdmadiag.vmcore.helpers.text import c_string

__all__ = (
    "direct_io_inode",
    "inode_rpc_xprt",
    "nfs_mounts",
    "page_wait_inode",
    "super_block_rpc_xprt",
)


def super_block_rpc_xprt(sb: Object) -> Object | None:
    """
    Return the first transport of an NFS file system, ``None`` for another file system.

    :param sb: ``struct super_block *``
    :return: ``struct rpc_xprt *``
    """
    if not c_string(sb.s_type.name).startswith("nfs"):
        return None
    server = cast("struct nfs_server *", sb.s_fs_info)
    return server.client.cl_xprt.read_()


def inode_rpc_xprt(inode: Object) -> Object | None:
    """
    Return the first transport of the NFS file system that an inode is on, ``None`` on another file system.

    :param inode: ``struct inode *``
    :return: ``struct rpc_xprt *``
    """
    return super_block_rpc_xprt(inode.i_sb.read_())


def nfs_mounts(prog: Program) -> Iterator[tuple[Object, str]]:
    """
    Iterate over the mounted NFS file systems, as the first process sees them.

    :return: Iterator of (``struct rpc_xprt *``, where it is mounted).
    """
    for mount in for_each_init_mount(prog):
        if (xprt := super_block_rpc_xprt(mount.mnt.mnt_sb.read_())) is not None:
            yield xprt, mount_path(mount)


def direct_io_inode(completion: Object) -> Object:
    """
    Return the file that a process in ``nfs_direct_wait()`` reads or writes.

    :param completion: ``struct completion *`` that it waits on.
    :return: ``struct inode *``
    """
    return container_of(completion, "struct nfs_direct_req", "completion").inode.read_()


def page_wait_inode(prog: Program, entry: int) -> Object | None:
    """
    Return the file of the page that a process waits for, ``None`` when the page is of no file any more.

    :param entry: Address of the ``struct wait_queue_entry`` of ``folio_wait_bit()``.
    :return: ``struct inode *``
    """
    wait = prog.type("struct wait_page_queue")
    queue = container_of(Object(prog, "struct wait_queue_entry *", entry), wait, "wait")
    # Since v5.16 it waits for a folio; before that, for a page.
    page = queue.folio if wait.has_member("folio") else queue.page
    mapping = page.mapping.read_()
    # The two lowest bits tell anonymous and movable pages, which are of no file.
    if not mapping or int(mapping.value_()) & 3:
        return None
    return mapping.host.read_() or None
