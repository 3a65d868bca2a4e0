"""Where NFS file systems are mounted, in a list and in a tree, and mounts of a damaged dump."""

import drgn
import pytest

from rdmadiag.vmcore.helpers.nfs import nfs_mounts
from rdmadiag.vmcore.walk import WalkError

from .fake_kernel import FakeKernel

SOURCE = """
struct qstr { u32 hash; u32 len; char *name; };
struct dentry { struct dentry *d_parent; struct qstr d_name; };
struct file_system_type { char *name; };
struct rpc_clnt { void *cl_xprt; };
struct nfs_server { struct rpc_clnt *client; };
struct super_block { struct file_system_type *s_type; void *s_fs_info; };
struct vfsmount { struct dentry *mnt_root; struct super_block *mnt_sb; };
struct mount {
    struct mount *mnt_parent; struct dentry *mnt_mountpoint; struct vfsmount mnt;
    struct list_head mnt_list; struct rb_node mnt_node;
};
struct rb_node { unsigned long color; struct rb_node *rb_right; struct rb_node *rb_left; };
struct rb_root { struct rb_node *rb_node; };
struct nsproxy { struct mnt_namespace *mnt_ns; };
struct task_struct { struct nsproxy *nsproxy; };
"""
LIST = "struct mnt_namespace { struct list_head list; u32 mounts; };"
TREE = "struct mnt_namespace { struct rb_root mounts; u32 nr_mounts; };"


class Mounted(FakeKernel):
    """A root file system, and NFS on /srv/data of it."""

    def __init__(self, namespace: str) -> None:
        super().__init__(SOURCE, namespace)
        self.space = self.new("struct mnt_namespace")
        self.set(self.variable("init_task", "struct task_struct").nsproxy, self._proxy())
        top = self.dentry(None, "/")
        self.data = self.dentry(self.dentry(top, "srv"), "data")
        self.root = self.mount("xfs", top, None, top)
        self.nfs = self.mount("nfs4", self.dentry(None, "/"), self.root, self.data)

    def _proxy(self) -> drgn.Object:
        return self.new("struct nsproxy", mnt_ns=self.space)

    def dentry(self, parent: drgn.Object | None, name: str) -> drgn.Object:
        made = self.new("struct dentry")
        self.set(made.d_parent, made if parent is None else parent)
        self.set(made.d_name.name, self.text(name))
        return made

    def mount(
        self, kind: str, root: drgn.Object, parent: drgn.Object | None, place: drgn.Object
    ) -> drgn.Object:
        type_ = self.new("struct file_system_type", name=self.text(kind))
        server = self.new("struct nfs_server", client=self.new("struct rpc_clnt", cl_xprt=root))
        made = self.new("struct mount", mnt_mountpoint=place)
        self.set(made.mnt_parent, made if parent is None else parent)
        self.set(made.mnt.mnt_root, root)
        self.set(made.mnt.mnt_sb, self.new("struct super_block", s_type=type_, s_fs_info=server))
        return made

    def places(self) -> list[str]:
        return [where for _, where in nfs_mounts(self.prog)]


def listed() -> Mounted:
    kernel = Mounted(LIST)
    cursor = kernel.new("struct mount")
    mounts = (kernel.root, cursor, kernel.nfs)
    kernel.list_init(kernel.space.list, *(mount.mnt_list for mount in mounts))
    return kernel


def test_list_with_a_readers_mark() -> None:
    assert listed().places() == ["/srv/data"]


def test_tree() -> None:
    kernel = Mounted(TREE)
    kernel.set(kernel.space.mounts.rb_node, kernel.root.mnt_node)
    kernel.set(kernel.root.mnt_node.rb_right, kernel.nfs.mnt_node)
    assert kernel.places() == ["/srv/data"]


def test_list_in_a_circle_ends() -> None:
    kernel = listed()
    kernel.set(kernel.root.mnt_list.next, kernel.root.mnt_list)
    with pytest.raises(WalkError, match="circle"):
        kernel.places()


def test_folders_in_a_circle_end() -> None:
    kernel = listed()
    kernel.set(kernel.data.d_parent.d_parent, kernel.data)
    with pytest.raises(ValueError, match="deeper than"):
        kernel.places()
