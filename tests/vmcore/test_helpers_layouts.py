"""Helpers for sockets, pools and disks on the layouts of several kernels."""

import drgn
import pytest

from rdmadiag.vmcore.helpers.nvme import nvme_ctrl_for_each_ns, nvme_ns_disk_name
from rdmadiag.vmcore.helpers.rds_ib_device import (
    for_each_rds_ib_device,
    rds_ib_device_pools,
    rds_ib_pool_counts,
)
from rdmadiag.vmcore.helpers.rds_sock import (
    for_each_rds_sock,
    rds_sock_bound,
    rds_sock_connected,
    rds_sock_for_each_inc,
)
from rdmadiag.vmcore.helpers.workqueue import pool_for_each_pending_work, workqueue_name

from .fake_kernel import FakeKernel

INC = "struct rds_incoming { u64 first; struct list_head i_item; };"
SOCK_UEK4 = """
struct rds_sock { u64 first; __be32 rs_bound_addr; __be32 rs_conn_addr; __be16 rs_bound_port;
  __be16 rs_conn_port; struct list_head rs_recv_queue; struct list_head rs_item; };
"""
SOCK_NEW = """
struct sockaddr_in6 { u16 sin6_family; __be16 sin6_port; __be32 sin6_flowinfo; struct in6_addr sin6_addr; };
struct rds_sock { struct sockaddr_in6 rs_bound_sin6; struct in6_addr rs_conn_addr; __be16 rs_conn_port;
  struct list_head rs_recv_queue; struct list_head rs_item; };
"""
POOL = """
struct rds_ib_mr_pool { atomic_t item_count; atomic_t dirty_count; atomic_t free_pinned;
  unsigned long max_items; unsigned long max_items_soft; unsigned long max_free_pinned; };
"""
DEVICE_OLD = "struct rds_ib_device { struct list_head list; struct rds_ib_mr_pool *mr_pool; };"
DEVICE_NEW = """
struct rds_ib_device { struct list_head list; struct rds_ib_mr_pool *mr_1m_pool; struct rds_ib_mr_pool *mr_8k_pool; };
"""
DISK = "struct gendisk { char disk_name[32]; }; struct nvme_ctrl { struct list_head namespaces; };"
NS_OLD = "struct nvme_ns { struct list_head list; struct gendisk *disk; };"
NS_NEW = """
struct nvme_ns_head { struct gendisk *disk; };
struct nvme_ns { struct list_head list; struct gendisk *disk; struct nvme_ns_head *head; };
"""


PWQ_612 = "struct pool_workqueue { u64 first; };"
PWQ_NEW = "struct pool_workqueue { u64 first; struct work_struct mayday_cursor; };"
WORKLIST = """
enum work_bits { WORK_STRUCT_PWQ_BIT = 2, WORK_STRUCT_PWQ_SHIFT = 3 };
struct worker_pool { struct list_head worklist; };
"""


def mapped(address: bytes) -> bytes:
    return bytes(10) + b"\xff\xff" + address


@pytest.mark.parametrize("layout", [SOCK_UEK4, SOCK_NEW], ids=["uek4", "new"])
def test_sockets(layout):
    kernel = FakeKernel(layout, INC)
    here, there = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
    rs, inc = kernel.new("struct rds_sock"), kernel.new("struct rds_incoming")
    if layout is SOCK_UEK4:
        kernel.set(rs.rs_bound_addr, here)
        kernel.set(rs.rs_bound_port, b"\x11\x44")
        kernel.set(rs.rs_conn_addr, there)
    else:
        kernel.set(rs.rs_bound_sin6.sin6_addr, mapped(here))
        kernel.set(rs.rs_bound_sin6.sin6_port, b"\x11\x44")
        kernel.set(rs.rs_conn_addr, mapped(there))
    kernel.set(rs.rs_conn_port, b"\x00\x50")
    kernel.list_init(kernel.variable("rds_sock_list", "struct list_head"), rs.rs_item)
    kernel.list_init(rs.rs_recv_queue, inc.i_item)
    (found,) = for_each_rds_sock(kernel.prog)
    assert rds_sock_bound(found) == ("10.0.0.1", 4420)
    assert rds_sock_connected(found) == ("10.0.0.2", 80)
    assert [one.value_() for one in rds_sock_for_each_inc(found)] == [inc.address_]


@pytest.mark.parametrize(
    ("layout", "names"), [(DEVICE_OLD, ["mr_pool"]), (DEVICE_NEW, ["mr_1m_pool", "mr_8k_pool"])]
)
def test_pools(layout, names):
    kernel = FakeKernel(layout, POOL)
    device = kernel.new("struct rds_ib_device")
    for number, name in enumerate(names, 1):
        pool = kernel.new("struct rds_ib_mr_pool", max_items=8)
        kernel.set(pool.item_count.counter, number)
        kernel.set(device.member_(name), pool.address_)
    kernel.list_init(kernel.variable("rds_ib_devices", "struct list_head"), device.list)
    (found,) = for_each_rds_ib_device(kernel.prog)
    pools = rds_ib_device_pools(found)
    assert list(pools) == names
    counts = [rds_ib_pool_counts(pool) for pool in pools.values()]
    assert [one["item_count"] for one in counts] == list(range(1, len(names) + 1))
    assert {one["max_items"] for one in counts} == {8}


@pytest.mark.parametrize(
    ("layout", "shared", "name"),
    [(NS_OLD, False, "nvme0n1"), (NS_NEW, False, "nvme0n1"), (NS_NEW, True, "nvme9n1")],
)
def test_disks(layout, shared, name):
    kernel = FakeKernel(DISK, layout)
    ctrl, ns = kernel.new("struct nvme_ctrl"), kernel.new("struct nvme_ns")
    disk = kernel.new("struct gendisk")
    kernel.set(disk.disk_name, b"nvme0n1\0")
    kernel.set(ns.disk, disk.address_)
    if layout is NS_NEW:
        head, other = kernel.new("struct nvme_ns_head"), kernel.new("struct gendisk")
        kernel.set(other.disk_name, b"nvme9n1\0")
        kernel.set(head.disk, other.address_ if shared else 0)
        kernel.set(ns.head, head.address_)
    kernel.list_init(ctrl.namespaces, ns.list)
    assert [nvme_ns_disk_name(one) for one in nvme_ctrl_for_each_ns(ctrl)] == [name]


@pytest.mark.parametrize("layout", [PWQ_612, PWQ_NEW], ids=["6.12", "new"])
def test_the_mark_of_a_rescuer_is_no_work(layout):
    kernel = FakeKernel(layout, WORKLIST)
    pool, work = kernel.new("struct worker_pool"), kernel.new("struct work_struct")
    pwq = kernel.new("struct pool_workqueue")
    works = [work.entry]
    kernel.set(work.data.counter, pwq.address_ | 1 << 2)
    if layout is PWQ_NEW:
        kernel.set(pwq.mayday_cursor.data.counter, pwq.address_ | 1 << 2)
        works.insert(0, pwq.mayday_cursor.entry)
    kernel.list_init(pool.worklist, *works)
    found = pool_for_each_pending_work(pool.address_of_())
    assert [one.value_() for one in found] == [work.address_]


def test_a_workqueue_that_a_module_only_declares_has_a_name():
    kernel = FakeKernel("struct workqueue_struct { u64 first; char name[24]; };")
    wq = kernel.new("struct workqueue_struct", name="krdsd")
    declared = kernel.prog.pointer_type(kernel.prog.struct_type("workqueue_struct"))
    assert workqueue_name(drgn.Object(kernel.prog, declared, wq.address_)) == "krdsd"
