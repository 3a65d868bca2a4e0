"""What tasks wait on and whom, in fake kernels: locks, flushes, circles."""

import pytest

from rdmadiag.vmcore.collect.behind import behind_task, chain_of
from rdmadiag.vmcore.collect.tasks import collect
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.collect.waits import waits_on
from rdmadiag.vmcore.helpers.wait import mutex_for_each_waiter
from rdmadiag.vmcore.walk import WalkError, limited_steps

from .rds_kernel import HZ, NOW, RdsKernel

RWSEM = """
struct rw_semaphore { atomic64_t count; atomic64_t owner; struct list_head wait_list; };
"""


@pytest.fixture
def kernel():
    return RdsKernel("rds_uek4")


def view_of(kernel, *functions):
    return View(kernel.dump(stack=tuple((name, "") for name in functions)), "dump")


def row(view, task):
    return view.tasks.at(task.address_)


def on_stack(kernel, task, type_, place=64):
    """An object on a task's stack."""
    made = kernel.prog.type(type_)
    return kernel.at(made, task.thread.sp.value_() + place)


def sleep_on_lock(kernel, task, lock, waiter="struct mutex_waiter"):
    entry = on_stack(kernel, task, waiter)
    kernel.set(entry.task, task)
    kernel.list_init(lock.wait_list, entry.list)


def sleep_on_completion(kernel, task, completion):
    entry = on_stack(kernel, task, "struct swait_queue")
    kernel.set(entry.task, task)
    kernel.list_init(completion.wait.task_list, entry.task_list)


def test_mutex(kernel):
    waiter, owner = kernel.task(10, "waiter"), kernel.task(11, "owner")
    lock = kernel.variable("some_lock", "struct mutex")
    kernel.set(lock.owner.counter, owner.address_ | 1)
    sleep_on_lock(kernel, waiter, lock)
    view = view_of(kernel, "__mutex_lock")
    waits = waits_on(view, row(view, waiter))
    assert (waits["type"], waits["address"]) == ("struct mutex", hex(lock.address_))
    assert (waits["pid"], waits["pids"]) == (11, [11])
    assert waits["what"].endswith("held by pid 11")


class HeadlessKernel(RdsKernel):
    """A kernel whose locks have no list head, and whose tasks name the lock they wait for."""

    def edit(self, text):
        return text.replace("char comm[16];", "char comm[16]; unsigned long blocker;")

    def sleep(self, lock, kind, *tasks):
        entries = [on_stack(self, task, "struct mutex_waiter") for task in tasks]
        for task, entry in zip(tasks, entries, strict=True):
            self.set(entry.task, task)
            self.set(task.blocker, lock.address_ | kind)
        self.list_init(*(entry.list for entry in entries))
        self.set(lock.first_waiter, entries[0])


HEADLESS = """
struct mutex { atomic64_t owner; struct mutex_waiter *first_waiter; };
struct rw_semaphore { atomic64_t count; atomic64_t owner; struct mutex_waiter *first_waiter; };
"""


@pytest.mark.parametrize(
    ("type_", "kind"),
    [("struct mutex", 0), ("struct rw_semaphore", 2), ("struct rw_semaphore", 3)],
)
def test_a_lock_without_a_list_head_is_named_by_the_task(type_, kind):
    kernel = HeadlessKernel("rds_uek4", HEADLESS)
    first, second, owner = (kernel.task(pid, f"task{pid}") for pid in (10, 11, 12))
    lock = kernel.new(type_)
    kernel.set(lock.owner.counter, owner.address_)
    kernel.sleep(lock, kind, first, second)
    view = view_of(kernel, "__schedule")
    for task in (first, second):
        waits = waits_on(view, row(view, task))
        assert (waits["type"], waits["address"]) == (type_, hex(lock.address_))
    assert waits_on(view, row(view, owner)) is None


def test_waiters_of_a_mutex_without_a_list_head():
    kernel = HeadlessKernel("rds_uek4", HEADLESS)
    lock, free = kernel.new("struct mutex"), kernel.new("struct mutex")
    tasks = [kernel.task(pid, f"task{pid}") for pid in (10, 11, 12)]
    kernel.sleep(lock, 0, *tasks)
    found = [task.value_() for task in mutex_for_each_waiter(lock)]
    assert found == [task.address_ for task in tasks]
    assert list(mutex_for_each_waiter(free)) == []


def test_mutexes_in_a_circle(kernel):
    tasks = [kernel.task(pid, f"task{pid}") for pid in (20, 21, 22)]
    locks = [kernel.new("struct mutex") for _ in tasks]
    for number, task in enumerate(tasks):
        kernel.set(locks[number].owner.counter, tasks[(number + 1) % 3].address_ | 1)
        sleep_on_lock(kernel, task, locks[number])
    outside = kernel.task(30, "outside")
    lock = kernel.new("struct mutex")
    kernel.set(lock.owner.counter, tasks[0].address_ | 1)
    sleep_on_lock(kernel, outside, lock)
    view = view_of(kernel, "__mutex_lock")
    chain = chain_of(view, row(view, outside))
    assert [link["pid"] for link in chain.links] == [30, 20, 21, 22]
    assert chain.cycle == [20, 21, 22]
    assert chain_of(view, row(view, tasks[1])).cycle == [20, 21, 22]


def test_chain_that_ends(kernel):
    waiter, owner = kernel.task(10, "waiter"), kernel.task(11, "owner")
    lock = kernel.new("struct mutex")
    kernel.set(lock.owner.counter, owner.address_)
    sleep_on_lock(kernel, waiter, lock)
    view = view_of(kernel, "__mutex_lock")
    chain = chain_of(view, row(view, waiter))
    assert [link["comm"] for link in chain.links] == ["waiter", "owner"]
    assert chain.cycle == []


def test_several_waiters_of_one_lock(kernel):
    owner = kernel.task(11, "owner")
    tasks = [kernel.task(pid, "waiter") for pid in (40, 41, 42)]
    lock = kernel.new("struct mutex")
    kernel.set(lock.owner.counter, owner.address_ | 1)
    entries = [on_stack(kernel, task, "struct mutex_waiter") for task in tasks]
    for entry, task in zip(entries, tasks, strict=True):
        kernel.set(entry.task, task)
    kernel.list_init(lock.wait_list, *(entry.list for entry in entries))
    view = view_of(kernel, "__mutex_lock")
    assert {waits_on(view, row(view, task))["address"] for task in tasks} == {hex(lock.address_)}


def test_what_an_earlier_call_left_on_the_stack_is_no_wait(kernel):
    task = kernel.task(10, "waiter")
    entry = on_stack(kernel, task, "struct mutex_waiter")
    kernel.set(entry.task, task)
    lock = kernel.new("struct mutex")
    kernel.list_init(lock.wait_list)
    kernel.set(entry.list.next, lock.wait_list)
    kernel.set(entry.list.prev, lock.wait_list)
    view = view_of(kernel, "schedule")
    assert waits_on(view, row(view, task)) is None


def test_semaphore_for_reading_and_writing():
    kernel = RdsKernel("rds_uek4", RWSEM)
    waiter, owner = kernel.task(10, "waiter"), kernel.task(11, "owner")
    lock = kernel.new("struct rw_semaphore")
    kernel.set(lock.owner.counter, owner.address_)
    kernel.set(lock.count.counter, 1)
    sleep_on_lock(kernel, waiter, lock, "struct rwsem_waiter")
    view = view_of(kernel, "rwsem_down_write_slowpath")
    waits = waits_on(view, row(view, waiter))
    assert (waits["type"], waits["address"]) == ("struct rw_semaphore", hex(lock.address_))


def running_work(kernel, pid):
    task, work = kernel.task(pid, "kworker/u8:1"), kernel.new("struct work_struct")
    kernel.run(work, "some_work", task, 5)
    return task, work


def flush_queue(kernel, task):
    flusher = on_stack(kernel, task, "struct wq_flusher", 256)
    kernel.set(kernel.queue.first_flusher, flusher)
    sleep_on_completion(kernel, task, flusher.done)


def test_worker_that_flushes_its_own_queue(kernel):
    task, _ = running_work(kernel, 50)
    flush_queue(kernel, task)
    view = view_of(kernel, "wait_for_completion", "flush_workqueue")
    waits = waits_on(view, row(view, task))
    assert waits["what"] == "flush of workqueue krdsd, run by pid 50"
    assert chain_of(view, row(view, task)).cycle == [50]
    (fact,) = collect(view).facts
    assert fact.fields["deadlock"] == [50]


def test_flush_of_a_work_and_who_waits_behind_it(kernel):
    runner, work = running_work(kernel, 60)
    waiter = kernel.task(61, "rmmod")
    barrier = on_stack(kernel, waiter, "struct wq_barrier", 256)
    kernel.set(barrier.work.func, kernel.prog.symbol("wq_barrier_func").address)
    kernel.set(barrier.task, waiter)
    sleep_on_completion(kernel, waiter, barrier.done)
    kernel.list_init(kernel.worker.scheduled, barrier.work.entry)
    third = kernel.task(62, "sh")
    flush_queue(kernel, third)
    view = view_of(kernel, "wait_for_completion", "flush_work")
    waits = waits_on(view, row(view, waiter))
    assert (waits["type"], waits["address"]) == ("struct work_struct", hex(work.address_))
    assert waits["what"] == "flush of some_work, run by pid 60"
    behind = behind_task(view, runner.address_)
    assert [(one["pid"], one["what"]) for one in behind] == [
        (61, "flush of some_work"),
        (62, "flush of workqueue krdsd"),
    ]


def test_a_long_chain_of_flushes_is_followed_to_its_end(kernel):
    runner, work = running_work(kernel, 60)
    view = view_of(kernel)
    first, count = view.works.by_task[runner.address_], 3000
    for i in range(count):
        view.works.by_task[i] = first._replace(task=i, work=i, queue=None)
        view.works.flushers[i] = [i + 1]
    view.works.flushers[work.address_] = [0]
    assert len(behind_task(view, runner.address_)) == count + 1
    with limited_steps(kernel.prog, 10), pytest.raises(WalkError):
        behind_task(view, runner.address_)


def test_sleep_with_a_timeout_is_dated_by_the_worker():
    kernel = RdsKernel("rds_uek5")
    task, _ = running_work(kernel, 70)
    timer = on_stack(kernel, task, "struct process_timer", 128)
    kernel.set(timer.timer.function, kernel.prog.symbol("process_timeout").address)
    kernel.set(timer.task, task)
    view = view_of(kernel, "schedule_timeout")
    assert view.wait(row(view, task))[1] != "worker.last_active"  # the timer is not queued
    kernel.set(timer.timer.entry.pprev, task)
    assert view.wait(row(view, task)) == (5.0, "worker.last_active")


def test_sleep_with_a_timeout_before_timers_knew_their_task(kernel):
    task, _ = running_work(kernel, 70)
    timer = on_stack(kernel, task, "struct timer_list", 128)
    kernel.set(timer.function, kernel.prog.symbol("process_timeout").address)
    view = view_of(kernel, "schedule_timeout")
    assert view.wait(row(view, task)) == (5.0, "worker.last_active")


def test_age_of_a_task_that_never_ran_is_unknown(kernel):
    task = kernel.task(10, "waiter")
    view = view_of(kernel)
    assert view.wait(row(view, task))[0] is None
    assert "wait_seconds" not in str(waiting_task(view)["problems"])


def test_age_without_the_clock_says_what_could_not_be_read(kernel):
    kernel.set(kernel.task(10, "waiter").se.exec_start, 5)
    fields = waiting_task(view_of(kernel))
    assert (fields["wait_seconds"], fields["wait_clock"]) == (None, "")
    assert "wait_seconds: could not find 'runqueues'" in fields["problems"]


def waiting_task(view):
    (fact,) = collect(view).facts
    return fact.fields


def test_uptime_of_the_fake_kernel(kernel):
    view = view_of(kernel)
    assert (view.time.uptime, NOW % HZ) == (500.0, (-300 * HZ % (1 << 32)) % HZ)
