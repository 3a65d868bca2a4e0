"""All works of a dump that run, and those of the RDMA queues that wait: for a worker, behind one, for a timer."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from drgn import Object, Program

from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
from rdmadiag.vmcore.helpers.timekeeping import seconds_until
from rdmadiag.vmcore.helpers.timer import for_each_delayed_work
from rdmadiag.vmcore.helpers.wait import completion_for_each_task
from rdmadiag.vmcore.helpers.workqueue import (
    barrier_task,
    for_each_worker_pool,
    for_each_workqueue,
    pool_for_each_pending_work,
    pool_for_each_worker,
    pwq_for_each_inactive_work,
    work_is_barrier,
    work_pwq,
    worker_for_each_scheduled_work,
    workqueue_flag_names,
    workqueue_for_each_flusher,
    workqueue_for_each_pwq,
    workqueue_max_active,
    workqueue_name,
)

__all__ = ("Queue", "QueuedWork", "WorkTable", "Worker")

_RDMA_QUEUE = re.compile(
    r"krdsd|rds|rdma|^ib[-_]|infiniband|iw_cm|^iw_|siw|nvme|mlx[45]|rxe|cxgb|irdma|bnxt_re|xprt|svcrdma|"
    r"iser|srp|ipoib|gid-cache|qedr|hns|hfi1|smc"
)


class Queue(NamedTuple):
    """
    A workqueue.

    :ivar object: ``struct workqueue_struct *``
    """

    object: Object
    address: int
    name: str
    flags: list[str]
    max_active: int

    @property
    def rdma(self) -> bool:
        """Whether it is a queue of the RDMA stack by its name."""
        return bool(_RDMA_QUEUE.search(self.name))


class Worker(NamedTuple):
    """
    A worker that runs a work.

    :ivar task: Address of its ``struct task_struct``.
    :ivar work: Address of the ``struct work_struct``.
    :ivar function: Address of the work's function.
    :ivar last_active: ``jiffies`` when it last became idle: before it took the work.
    """

    object: Object
    task: int
    work: int
    function: int
    queue: Queue | None
    pwq: int
    last_active: int


class QueuedWork(NamedTuple):
    """A work that waits: ``pending`` for a worker, ``inactive`` for its queue, ``delayed`` for its timer."""

    work: int
    function: int
    queue: Queue | None
    pwq: int
    state: str
    due_seconds: float | None


def _turned(waiters: dict[int, list[int]]) -> dict[int, int]:
    return {task: what for what, tasks in waiters.items() for task in tasks}


class WorkTable:
    """
    Works and who runs them.

    :ivar workers: Workers that run a work.
    :ivar queued: Works that wait, of RDMA queues or with a function of an RDMA module.
    :ivar flushers: Tasks that wait for the end of a work, by the work's address.
    :ivar flushed_work: The same the other way round: the work that a task waits for.
    :ivar queue_flushers: Tasks that wait for the end of all works of a queue, by the queue's address.
    """

    def __init__(
        self,
        prog: Program,
        is_rdma_text: Callable[[int], bool],
        is_function: Callable[[int], bool],
    ) -> None:
        self.problems: list[str] = []
        self.workers: list[Worker] = []
        self.by_task: dict[int, Worker] = {}
        self.queued: list[QueuedWork] = []
        self.flushers: dict[int, list[int]] = defaultdict(list)
        self.queue_flushers: dict[int, list[int]] = defaultdict(list)
        self._is_rdma_text = is_rdma_text
        self._is_function = is_function
        self._queues: dict[int, Queue] = {}
        self._guard("workqueues", partial(self._read_queues, prog))
        self._guard("worker pools", partial(self._read_pools, prog))
        self._guard("timers", partial(self._read_delayed, prog))
        self.by_work = {one.work: one for one in self.workers}
        self.queued_by_work = {one.work: one for one in self.queued}
        self.flushed_work = _turned(self.flushers)
        self._flushed_queue = _turned(self.queue_flushers)
        self._on_pwq: dict[int, list[Worker]] = defaultdict(list)
        self._on_queue: dict[int, list[Worker]] = defaultdict(list)
        for one in self.workers:
            self._on_pwq[one.pwq].append(one)
            if one.queue:
                self._on_queue[one.queue.address].append(one)

    def queues(self) -> Iterable[Queue]:
        """Return the workqueues."""
        return self._queues.values()

    def ahead(self, work: QueuedWork) -> Worker | None:
        """Return the worker that a work waits behind, where one at a time is served."""
        if not work.queue or work.queue.max_active != 1 or work.state == "delayed":
            return None
        ordered = "__WQ_ORDERED" in work.queue.flags
        ahead = self.workers_of(work.queue) if ordered else self._on_pwq.get(work.pwq, [])
        return ahead[0] if ahead else None

    def workers_of(self, queue: Queue) -> list[Worker]:
        """Return the workers that run a work of a queue."""
        return self._on_queue.get(queue.address, [])

    def flushed_queue(self, task: int) -> Queue | None:
        """Return the queue that a task flushes as a whole."""
        return self._queues.get(self._flushed_queue.get(task, 0))

    def _guard(self, what: str, read: Callable[[], None]) -> None:
        try:
            read()
        except READ_ERRORS as error:
            self.problems.append(f"{what}: {why(error)}")

    def _read_queues(self, prog: Program) -> None:
        for wq in for_each_workqueue(prog):
            self._guard(f"workqueue at {wq.value_():#x}", partial(self._add_queue, wq))

    def _add_queue(self, wq: Object) -> None:
        address = int(wq.value_())
        queue = Queue(
            wq, address, workqueue_name(wq), workqueue_flag_names(wq), workqueue_max_active(wq)
        )
        self._queues[address] = queue
        for flusher in workqueue_for_each_flusher(wq):
            tasks = completion_for_each_task(flusher.done)
            self.queue_flushers[address] += [int(task.value_()) for task in tasks]
        if queue.rdma:
            for pwq in workqueue_for_each_pwq(wq):
                self._add_queued(pwq_for_each_inactive_work(pwq), "inactive", queue, pwq)
        if rescuer := wq.rescuer.read_():
            self._add_worker(rescuer)

    def _read_pools(self, prog: Program) -> None:
        for pool in self._pools(prog):
            what = f"worker pool at {pool.value_():#x}"
            self._guard(what, partial(self._read_workers, pool))
            self._guard(what, partial(self._read_pending, pool))

    def _pools(self, prog: Program) -> Iterable[Object]:
        """Return all pools: from their table, or from the queues where it cannot be read."""
        pools: dict[int, Object] = {}
        try:
            for pool in for_each_worker_pool(prog):
                pools[int(pool.value_())] = pool
        except READ_ERRORS as error:
            self.problems.append(f"the table of worker pools: {why(error)}")
            for queue in self.queues():
                self._guard(f"workqueue {queue.name}", partial(self._add_pools, queue, pools))
        return pools.values()

    def _add_pools(self, queue: Queue, pools: dict[int, Object]) -> None:
        for pwq in workqueue_for_each_pwq(queue.object):
            pool = pwq.pool.read_()
            pools[int(pool.value_())] = pool

    def _read_workers(self, pool: Object) -> None:
        for worker in pool_for_each_worker(pool):
            self._add_worker(worker)

    def _read_pending(self, pool: Object) -> None:
        self._add_queued(pool_for_each_pending_work(pool), "pending")

    def _add_worker(self, worker: Object) -> None:
        work = int(worker.current_work.value_())
        task = int(worker.task.value_())
        if not work or task in self.by_task:
            return
        pwq = worker.current_pwq.read_()
        function = int(worker.current_func.value_())
        if not self._is_function(function):
            self.problems.append(
                f"the worker at {worker.value_():#x} runs {function:#x}, which is no function"
            )
            return
        found = Worker(
            worker,
            task,
            work,
            function,
            self._queue_of(pwq),
            int(pwq.value_()),
            int(worker.last_active.value_()),
        )
        self.workers.append(found)
        self.by_task[task] = found
        self._add_queued(worker_for_each_scheduled_work(worker), "pending", before=work)

    def _queue_of(self, pwq: Object | None) -> Queue | None:
        return self._queues.get(int(pwq.wq.value_())) if pwq else None

    def _add_queued(
        self,
        works: Iterable[Object],
        state: str,
        queue: Queue | None = None,
        pwq: Object | None = None,
        before: int = 0,
    ) -> None:
        """Add the works of a list; a barrier in it belongs to the work *before* it."""
        for work in works:
            if work_is_barrier(work):
                self.flushers[before].append(int(barrier_task(work).value_()))
                continue
            before = int(work.value_())
            on = pwq or work_pwq(work)
            self._add_work(
                work, state, queue or self._queue_of(on), int(on.value_()) if on else 0, None
            )

    def _add_work(
        self, work: Object, state: str, queue: Queue | None, pwq: int, due: float | None
    ) -> None:
        function = int(work.func.value_())
        if self._is_rdma_text(function) or (queue and queue.rdma):
            self.queued.append(QueuedWork(int(work.value_()), function, queue, pwq, state, due))

    def _read_delayed(self, prog: Program) -> None:
        for dwork in for_each_delayed_work(prog):
            queue = self._queues.get(int(dwork.wq.value_()))
            work = dwork.work.address_of_()
            self._add_work(work, "delayed", queue, 0, seconds_until(dwork.timer))
