"""
Globals
-------

Types of the kernel variables that are read.

BTF has no variables but the per-CPU ones before 2025 (pahole 1.28's ``global_var``), so where DWARF is
missing this table says what a symbol is. Whoever reads a variable that is not here adds a line. A type
ending in ``[]`` gets its length from the size of the symbol.
"""

from typing import NamedTuple

__all__ = ("GLOBALS", "Global", "globals_named")


class Global(NamedTuple):
    """
    A variable.

    :ivar type: Its C type.
    :ivar module: The module it is in, ``""`` for the kernel proper.
    :ivar file: The source file that defines it, for names that are static in several.
    """

    name: str
    type: str
    module: str = ""
    file: str = ""


GLOBALS: tuple[Global, ...] = (
    Global("__per_cpu_offset", "unsigned long []", file="arch/x86/kernel/setup_percpu.c"),
    Global("__num_online_cpus", "atomic_t"),
    Global("__cpu_online_mask", "struct cpumask"),
    Global("__cpu_possible_mask", "struct cpumask"),
    Global("__cpu_present_mask", "struct cpumask"),
    Global("nr_cpu_ids", "unsigned int"),
    Global("btf_modules", "struct list_head", file="kernel/bpf/btf.c"),
    Global("class_kset", "struct kset *", file="drivers/base/class.c"),
    Global("crash_notes", "note_buf_t *"),
    Global("crashing_cpu", "int", file="arch/x86/kernel/reboot.c"),
    Global("sysctl_hung_task_panic", "unsigned int", file="kernel/hung_task.c"),
    Global("init_css_set", "struct css_set", file="kernel/cgroup/cgroup.c"),
    Global("init_mm", "struct mm_struct", file="mm/init-mm.c"),
    Global("init_net", "struct net", file="net/core/net_namespace.c"),
    Global("init_pid_ns", "struct pid_namespace", file="kernel/pid.c"),
    Global("init_task", "struct task_struct", file="init/init_task.c"),
    Global("init_uts_ns", "struct uts_namespace", file="init/version.c"),
    Global("jiffies_64", "u64", file="kernel/time/timer.c"),
    Global("kthread_create_list", "struct list_head", file="kernel/kthread.c"),
    Global("modules", "struct list_head", file="kernel/module/main.c"),
    Global("net_namespace_list", "struct list_head", file="net/core/net_namespace.c"),
    Global("panic_cpu", "atomic_t", file="kernel/panic.c"),
    Global("panic_on_oops", "int", file="kernel/panic.c"),
    Global("prb", "struct printk_ringbuffer *", file="kernel/printk/printk.c"),
    Global("root_mountflags", "int", file="init/do_mounts.c"),
    Global("saved_command_line", "char *", file="init/main.c"),
    Global("slab_caches", "struct list_head", file="mm/slab_common.c"),
    Global("sysctl_hung_task_timeout_secs", "unsigned long", file="kernel/hung_task.c"),
    Global("system_freezable_wq", "struct workqueue_struct *", file="kernel/workqueue.c"),
    Global("system_highpri_wq", "struct workqueue_struct *", file="kernel/workqueue.c"),
    Global("system_long_wq", "struct workqueue_struct *", file="kernel/workqueue.c"),
    Global("system_unbound_wq", "struct workqueue_struct *", file="kernel/workqueue.c"),
    Global("system_wq", "struct workqueue_struct *", file="kernel/workqueue.c"),
    Global("tainted_mask", "unsigned long", file="kernel/panic.c"),
    Global("unbound_pool_hash", "struct hlist_head []", file="kernel/workqueue.c"),
    Global("worker_pool_idr", "struct idr", file="kernel/workqueue.c"),
    Global("workqueues", "struct list_head", file="kernel/workqueue.c"),
    # What drgn's own helpers read
    Global("avenrun", "unsigned long []", file="kernel/sched/loadavg.c"),
    Global("block_class", "struct class", file="block/genhd.c"),
    Global("cgrp_dfl_root", "struct cgroup_root", file="kernel/cgroup/cgroup.c"),
    Global("init_ipc_ns", "struct ipc_namespace"),
    Global("irq_desc_tree", "struct xarray", file="kernel/irq/irqdesc.c"),
    Global("max_low_pfn", "unsigned long"),
    Global("mem_section", "struct mem_section **", file="mm/sparse.c"),
    Global("min_low_pfn", "unsigned long"),
    Global("mod_tree", "struct mod_tree_root", file="kernel/module/main.c"),
    Global("node_data", "struct pglist_data *[]"),
    Global("node_states", "nodemask_t []", file="mm/page_alloc.c"),
    Global("nr_node_ids", "unsigned int", file="mm/page_alloc.c"),
    Global("page_offset_base", "unsigned long"),
    Global("panic_on_warn", "int", file="kernel/panic.c"),
    Global("pci_root_buses", "struct list_head", file="drivers/pci/probe.c"),
    Global("root_task_group", "struct task_group", file="kernel/sched/core.c"),
    Global("slab_kset", "struct kset *", file="mm/slub.c"),
    Global("sparse_irqs", "struct maple_tree", file="kernel/irq/irqdesc.c"),
    Global("swapper_spaces", "struct address_space *[]", file="mm/swap_state.c"),
    Global("sysfs_root_kn", "struct kernfs_node *", file="fs/sysfs/mount.c"),
    Global("taint_flags", "struct taint_flag []", file="kernel/panic.c"),
    Global("task_state_array", "char *[]", file="fs/proc/array.c"),
    Global("task_struct_cachep", "struct kmem_cache *", file="kernel/fork.c"),
    Global("total_swap_pages", "long", file="mm/swapfile.c"),
    Global("_totalram_pages", "atomic_long_t", file="mm/page_alloc.c"),
    Global("uidhash_table", "struct hlist_head []", file="kernel/user.c"),
    Global("vm_committed_as", "struct percpu_counter"),
    Global("vm_node_stat", "atomic_long_t []", file="mm/vmstat.c"),
    Global("vm_zone_stat", "atomic_long_t []", file="mm/vmstat.c"),
    Global("vmalloc_base", "unsigned long"),
    Global("vmap_area_list", "struct list_head", file="mm/vmalloc.c"),
    Global("vmap_area_root", "struct rb_root", file="mm/vmalloc.c"),
    Global("vmemmap_base", "unsigned long"),
    # RDS
    Global("rds_conn_hash", "struct hlist_head []", "rds", "net/rds/connection.c"),
    Global("rds_ib_devices", "struct list_head", "rds_rdma", "net/rds/ib.c"),
    Global("ib_nodev_conns", "struct list_head", "rds_rdma", "net/rds/ib.c"),
    Global("rds_wq", "struct workqueue_struct *", "rds", "net/rds/threads.c"),
    Global("rds_sock_list", "struct list_head", "rds", "net/rds/af_rds.c"),
    Global("rds_cong_tree", "struct rb_root", "rds", "net/rds/cong.c"),
    Global("rds_stats", "struct rds_statistics", "rds", "net/rds/stats.c"),
    Global("rds_ib_stats", "struct rds_ib_statistics", "rds_rdma", "net/rds/ib_stats.c"),
    Global("rds_tcp_stats", "struct rds_tcp_statistics", "rds_tcp", "net/rds/tcp_stats.c"),
    # RDMA core
    Global("devices", "struct xarray", "ib_core", "drivers/infiniband/core/device.c"),
    Global("clients", "struct xarray", "ib_core", "drivers/infiniband/core/device.c"),
    Global("dev_list", "struct list_head", "rdma_cm", "drivers/infiniband/core/cma.c"),
    Global("listen_any_list", "struct list_head", "rdma_cm", "drivers/infiniband/core/cma.c"),
    Global("cma_wq", "struct workqueue_struct *", "rdma_cm", "drivers/infiniband/core/cma.c"),
    Global("iwcm_wq", "struct workqueue_struct *", "iw_cm", "drivers/infiniband/core/iwcm.c"),
    Global("ib_wq", "struct workqueue_struct *", "ib_core", "drivers/infiniband/core/device.c"),
    # NVMe
    Global("nvme_subsystems", "struct list_head", "nvme_core", "drivers/nvme/host/core.c"),
    Global("nvme_rdma_ctrl_list", "struct list_head", "nvme_rdma", "drivers/nvme/host/rdma.c"),
    Global("device_list", "struct list_head", "nvme_rdma", "drivers/nvme/host/rdma.c"),
    Global("nvmet_rdma_queue_list", "struct list_head", "nvmet_rdma", "drivers/nvme/target/rdma.c"),
    Global("nvme_wq", "struct workqueue_struct *", "nvme_core", "drivers/nvme/host/core.c"),
    Global("nvme_reset_wq", "struct workqueue_struct *", "nvme_core", "drivers/nvme/host/core.c"),
    Global("nvme_delete_wq", "struct workqueue_struct *", "nvme_core", "drivers/nvme/host/core.c"),
    # Other users of RDMA
    Global("sunrpc_net_id", "unsigned int", "sunrpc", "net/sunrpc/sunrpc_syms.c"),
    Global("nfsd_net_id", "unsigned int", "nfsd", "fs/nfsd/nfsctl.c"),
    Global("srp_client", "struct ib_client", "ib_srp", "drivers/infiniband/ulp/srp/ib_srp.c"),
    Global("srpt_dev_list", "struct list_head", "ib_srpt", "drivers/infiniband/ulp/srpt/ib_srpt.c"),
    Global("ig", "struct iser_global", "ib_iser", "drivers/infiniband/ulp/iser/iscsi_iser.c"),
    Global(
        "ipoib_client", "struct ib_client", "ib_ipoib", "drivers/infiniband/ulp/ipoib/ipoib_main.c"
    ),
    # What the collectors read
    Global("tick_nsec", "unsigned long", file="kernel/time/ntp.c"),
    Global("shadow_timekeeper", "struct timekeeper", file="kernel/time/timekeeping.c"),
    Global("timekeeper_data", "struct tk_data []", file="kernel/time/timekeeping.c"),
    Global("tk_core", "struct tk_data", file="kernel/time/timekeeping.c"),
    Global("runqueues", "struct rq", file="kernel/sched/core.c"),
    Global("timer_bases", "struct timer_base []", file="kernel/time/timer.c"),
    Global("conn_drop_reasons", "char *[]", "rds", "net/rds/connection.c"),
    Global("rds_cp_wqs", "struct workqueue_struct *[]", "rds", "net/rds/threads.c"),
)

_BY_NAME: dict[str, list[Global]] = {}
for _one in GLOBALS:
    _BY_NAME.setdefault(_one.name, []).append(_one)


def globals_named(name: str) -> list[Global]:
    """Return the variables with a name."""
    return _BY_NAME.get(name, [])
