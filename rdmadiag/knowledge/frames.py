"""
How telling a function on a stack is.

A frame that every sleeping task has (``schedule``) says nothing, a kernel primitive (``mutex_lock``) little, and
a function that is named by many entries less than one that only one entry names.
"""

import re
from collections import Counter
from collections.abc import Iterable
from math import log2

from rdmadiag.lazy import Lazy

STRONG = 0.5
"""From this weight on a frame counts as one that points somewhere."""

_WEAK = 0.15

_NOTHING = Lazy(
    r"""
    (?:__|io_|preempt_)?schedule(?:_\w+)? | __switch_to(?:_asm)? | context_switch | \w*worker_thread
    | process_(?:one_work|scheduled_works) | rescuer_thread | kthread | ret_from_\w+ | kernel_thread\w*
    | (?:__)?(?:do|el\d\w*|ia32|x64|arm64|se|__se)_sys\w* | do_syscall\w* | __x64_sys_\w+ | __arm64_sys_\w+
    | (?:k)?sys_\w+ | SyS_\w+ | SYSC_\w+ | entry_\w+ | system_call\w* | el\d\w*_(?:svc|sync|irq)\w* | invoke_syscall
    | (?:__)?vfs_(?:read|write|ioctl|writev)| new_sync_write | __fput | ____fput | task_work_run | exit_to_user_mode\w*
    | dump_(?:stack|backtrace)\w* | show_(?:stack|regs)\w* | print_(?:report|address_description)\w*
    | \w*kasan_\w* | __asan_\w+ | check_memory_region | __warn\w* | warn_slowpath_\w+ | report_bug | handle_bug
    | fixup_bug | (?:asm_)?exc_\w+ | invalid_op | do_(?:error_)?trap | die\w* | __die\w* | oops_(?:begin|end|exit)
    | no_context | \w*page_fault\w* | bad_area\w* | panic | \w*crash_kexec\w* | machine_kexec\w* | nmi_\w+ | end_repeat_nmi
    | \w*_nmi\w* | crash_nmi_callback | watchdog_\w+ | \w*hrtimer_\w+ | sysvec_\w+ | asm_sysvec_\w+ | \w*apic_timer_interrupt
    | __do_softirq | handle_softirqs | do_softirq\w* | irq_exit\w* | __irq_exit\w* | run_ksoftirqd | smpboot_thread_fn
    | call_timer_fn | \w*run_timers | run_timer_\w+ | expire_timers | (?:__)?napi_poll | net_rx_action | do_IRQ
    | (?:__)?handle_irq_event\w* | handle_\w+_irq | common_interrupt | cpuidle_\w+ | do_idle | cpu_startup_entry
    | (?:__)?local_bh_enable\w* | tasklet_action\w* | _cond_resched | __cond_resched | might_sleep | asm_common_interrupt
    | start_secondary | secondary_startup_\w+ | __might_\w+ | ___might_sleep | debug_\w+ | start_kernel | rest_init
    """,
    re.VERBOSE,
)

_PRIMITIVE = Lazy(
    r"""
    (?:__)?wait_for_\w+ | (?:__)?mutex_\w+ | (?:__)?(?:rwsem|down|up)_\w+ | (?:__)?(?:flush|drain|destroy)_work\w*
    | start_flush_work | (?:__)?cancel_(?:delayed_)?work\w* | refcount_\w+ | __list_\w+ | (?:native_)?queued_\w+
    | _raw_\w+ | do_raw_spin_\w+ | (?:k|v|kv|kz)free\w* | vunmap | __vunmap | kmem_cache_\w+ | __kmem_cache_\w+ | slab_\w+
    | (?:__)?percpu_\w+ | (?:__)?blk_(?:mq_)?(?:freeze|cleanup|unfreeze)_queue | blk_execute_rq\w* | kobject_\w+
    | (?:put|get)_device | device_\w+ | really_probe | driver_\w+ | auxiliary_\w+ | pci_device_\w+ | bus_\w+ | dev_attr_\w+
    | seq_read\w* | kernfs_\w+ | sysfs_\w+ | sock_\w+ | __sys_\w+ | tcp_\w+ | ip6?_\w+ | udpv?6?_\w+ | inet6?_\w+ | skb_\w+
    | (?:atomic_|blocking_|raw_)?notifier_call_chain | finish_task_switch\w* | schedule_tail | mmdrop | exit_mmap
    | unmap_\w+ | zap_\w+ | do_madvise | madvise_\w+ | __mmu_notifier_\w+ | __lock_acquire | lock_acquire
    | mlx5_eq_async_int | irq_int_handler | strlen | nla_\w+ | netlink_\w+ | genl_\w+ | __wake_up\w* | remove_one
    | dma_unmap_\w+ | iommu_dma_\w+ | on_each_cpu\w* | smp_call_\w+ | __purge_vmap\w* | free_vmap\w* | remove_vm_area
    | del_gendisk | cleanup_net | ops_exit_list | disable_device | __ethtool_\w+ | duplex_show | __queue_work | queue_work\w*
    | delayed_work_timer_fn | check_flush_dependency | touch_wq_lockdep_map | alloc_workqueue | __alloc_\w+ | alloc_\w*pages\w*
    """,
    re.VERBOSE,
)

# The same function under another name: renamed, or split so that only one of the two is seen.
_RENAMED = {
    "flush_workqueue": "__flush_workqueue",
    "__cancel_work_timer": "__cancel_work_sync",
    "__list_del_entry_valid_or_report": "__list_del_entry_valid",
    "__list_add_valid_or_report": "__list_add_valid",
    "__wait_for_common": "wait_for_completion",
    "wait_for_common": "wait_for_completion",
    "do_wait_for_common": "wait_for_completion",
    "wait_for_completion_timeout": "wait_for_completion",
    "__mutex_lock_slowpath": "__mutex_lock",
    "nvme_init_ctrl_finish": "nvme_init_identify",
    "native_queued_spin_lock_slowpath": "queued_spin_lock_slowpath",
    "mlx5_cmd_do": "mlx5_cmd_exec",
    "_mlx5_core_destroy_rq": "mlx5_core_destroy_rq",
}
_SUFFIX = Lazy(r"\.(?:part|isra|constprop|cold|llvm|lto_priv)\b.*")
_OFFSET = Lazy(r"\+0x[0-9a-f]+.*|\s.*")


def canonical(function: str) -> str:
    """Return the one name that all names of a function stand for, without suffixes and offsets."""
    name = _SUFFIX.sub("", _OFFSET.sub("", function.strip()))
    return _RENAMED.get(name, name)


def slot(names: str) -> frozenset[str]:
    """Return the functions that one place of a signature allows (``a|b``)."""
    return frozenset(canonical(name) for name in names.split("|"))


def own(functions: Iterable[str]) -> list[str]:
    """Return the canonical functions of a stack, without those that every stack has."""
    names = (canonical(function) for function in functions)
    return [name for name in names if not _NOTHING.fullmatch(name)]


def is_primitive(name: str) -> bool:
    """Tell whether a function is a kernel primitive that all subsystems use."""
    return _PRIMITIVE.fullmatch(name) is not None or _NOTHING.fullmatch(name) is not None


class Weights:
    """Weights of functions by how many entries name them."""

    def __init__(self, stacks: Iterable[set[str]]) -> None:
        self._entries = Counter(name for names in stacks for name in names)

    def of(self, name: str) -> float:
        """Return how telling a function is: 0 nothing, 1 named by one entry alone."""
        if _NOTHING.fullmatch(name):
            return 0.0
        if _PRIMITIVE.fullmatch(name):
            return _WEAK
        return 1 / (1 + 0.35 * log2(max(self._entries[name], 1)))
