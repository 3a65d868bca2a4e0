"""RPC transports and calls, and which of them a task waits for."""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from drgn import Object, Program, container_of, offsetof

from rdmadiag.vmcore.collect.rows import until_broken
from rdmadiag.vmcore.collect.sleeps import Sleep, sleep_of
from rdmadiag.vmcore.collect.tasktable import TaskRow
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.addresses import sockaddr_ip
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
from rdmadiag.vmcore.helpers.nfs import direct_io_inode, inode_rpc_xprt, page_wait_inode
from rdmadiag.vmcore.helpers.sunrpc import (
    for_each_rpc_clnt,
    rpc_clnt_for_each_task,
    rpc_clnt_for_each_xprt,
    rpc_clnt_program,
    rpc_task_procedure,
    rpc_task_start,
    xprt_protocol,
    xprt_state_names,
)
from rdmadiag.vmcore.helpers.timekeeping import monotonic_nanoseconds
from rdmadiag.vmcore.helpers.xprtrdma import rpcrdma_xprt

__all__ = ("Call", "RpcTable", "RpcWait", "Transport", "rpc_table", "rpc_transport", "rpc_wait")


_PAGE_WAITS = ("folio_wait_bit", "wait_on_page_bit", "__lock_page", "__folio_lock")


class Call(NamedTuple):
    """
    A call that is not done.

    :ivar object: ``struct rpc_task *``
    :ivar xprt: Address of its ``struct rpc_xprt``, 0 before it has one.
    :ivar name: Program, version and procedure: ``nfs 4 GETATTR``.
    :ivar seconds: How long ago it was made.
    """

    object: Object
    xprt: int
    name: str
    seconds: float | None


class RpcWait(NamedTuple):
    """
    What a task waits for.

    :ivar type: Type of the object: ``struct rpc_task`` ...
    :ivar xprt: Address of the ``struct rpc_xprt`` that has to answer.
    """

    type: str
    address: int
    what: str
    xprt: int


class Transport(NamedTuple):
    """
    A transport, as far as those who wait for it are concerned.

    :ivar worker: The task that connects it now.
    """

    label: str
    worker: TaskRow | None


class RpcTable:
    """
    Clients' transports and calls.

    :ivar xprts: ``struct rpc_xprt *`` objects by address.
    :ivar programs: What each transport is used for, by its address.
    :ivar calls: Calls by the address of their ``struct rpc_task``.
    :ivar problems: Why some may be missing.
    """

    def __init__(self, view: View) -> None:
        self.problems: list[str] = []
        self.xprts: dict[int, Object] = {}
        self.programs: dict[int, set[str]] = {}
        self.calls: dict[int, Call] = {}
        self._calls_of: dict[int, list[Call]] = defaultdict(list)
        self._now: int | None = None
        self._guard("how long ago calls were made", partial(self._read_clock, view.prog))
        clients = for_each_rpc_clnt(view.prog)
        for clnt in until_broken(clients, self.problems, "the RPC clients"):
            self._guard(f"the RPC client at {clnt.value_():#x}", partial(self._read_client, clnt))

    def _guard(self, what: str, read: Callable[[], None]) -> None:
        try:
            read()
        except READ_ERRORS as error:
            self.problems.append(f"{what}: {why(error)}")

    def _read_clock(self, prog: Program) -> None:
        self._now = monotonic_nanoseconds(prog)

    def _read_client(self, clnt: Object) -> None:
        program, of = rpc_clnt_program(clnt), f"the RPC client at {clnt.value_():#x}"
        xprts = rpc_clnt_for_each_xprt(clnt)
        for xprt in until_broken(xprts, self.problems, f"the transports of {of}"):
            address = int(xprt.value_())
            self.xprts.setdefault(address, xprt)
            self.programs.setdefault(address, set()).add(program)
        tasks = rpc_clnt_for_each_task(clnt)
        for task in until_broken(tasks, self.problems, f"the calls of {of}"):
            self._guard(f"the call at {task.value_():#x}", partial(self._add_call, task, program))

    def _add_call(self, task: Object, program: str) -> None:
        seconds = None
        if self._now is not None:
            seconds = round(max(self._now - rpc_task_start(task), 0) / 1e9, 3)
        name = f"{program} {rpc_task_procedure(task)}".strip()
        call = Call(task, int(task.tk_xprt.value_()), name, seconds)
        self.calls[int(task.value_())] = call
        self._calls_of[call.xprt].append(call)

    def of(self, xprt: int) -> list[Call]:
        """Return the calls over the transport at an address."""
        return self._calls_of.get(xprt, [])


def rpc_table(view: View) -> RpcTable:
    """
    Return the transports and calls of a dump.

    :raises LookupError: without RPC or its types
    """
    return view.once("rpc", lambda: _table(view))


def _table(view: View) -> RpcTable:
    if view.dump.presence("sunrpc") == "absent":
        raise LookupError("module sunrpc is not loaded")
    view.prog.type("struct rpc_clnt")
    return RpcTable(view)


def rpc_transport(view: View, address: int) -> Transport:
    """
    Return a transport by the address of its ``struct rpc_xprt``.

    :raises ValueError: if no client has such a transport.
    """
    table = rpc_table(view)
    if address not in table.xprts:
        raise ValueError(f"no transport at {address:#x}")
    xprt = table.xprts[address]
    protocol, state = xprt_protocol(xprt), xprt_state_names(xprt)
    up = "connected" if "CONNECTED" in state else "not connected"
    label = f"the {protocol} transport to {sockaddr_ip(xprt.addr)} ({up})"
    return Transport(label, _connector(view, xprt) if protocol == "rdma" else None)


def _connector(view: View, xprt: Object) -> TaskRow | None:
    work = rpcrdma_xprt(xprt).rx_connect_worker.work
    worker = view.works.by_work.get(work.address_ or 0)
    return view.tasks.named(worker.task) if worker else None


def rpc_wait(view: View, task: TaskRow) -> RpcWait | None:
    """Return the call or the NFS file that a task waits for; ``None`` when it waits for another thing."""
    known = view.once("rpc waits", dict[int, "RpcWait | None"])
    if task.address not in known:
        known[task.address] = _wait(view, task)
    return known[task.address]


def _wait(view: View, task: TaskRow) -> RpcWait | None:
    try:
        table = rpc_table(view)
    except LookupError:
        return None
    if (sleep := sleep_of(view, task)) is None:
        return None
    functions = view.stacks.of(task.task).functions
    for find in (_by_call, _by_direct_io, _by_page):
        try:
            if (found := find(view, functions, sleep)) and found.xprt in table.xprts:
                return found
        except READ_ERRORS:
            continue
    return None


def _by_call(view: View, functions: list[str], sleep: Sleep) -> RpcWait | None:
    """Follow the key of a wait for a bit: who makes a call waits for one of its state."""
    if "rpc_wait_bit_killable" not in functions:
        return None
    word = _bit_word(view, sleep)
    address = word - offsetof(view.prog.type("struct rpc_task"), "tk_runstate")
    call = rpc_table(view).calls.get(address)
    return RpcWait("struct rpc_task", address, f"the call {call.name}", call.xprt) if call else None


def _bit_word(view: View, sleep: Sleep) -> int:
    """Return the address of the word whose bit a task waits for."""
    # Since v4.13 or so the types have their present names.
    try:
        type_, member = view.prog.type("struct wait_bit_queue_entry"), "wq_entry"
    except LookupError:
        type_, member = view.prog.type("struct wait_bit_queue"), "wait"
    start = sleep.entry - offsetof(type_, member)
    return int(Object(view.prog, type_, address=start).key.flags.value_())


def _by_direct_io(view: View, functions: list[str], sleep: Sleep) -> RpcWait | None:
    if sleep.type != "struct completion" or not any(f.startswith("nfs_") for f in functions):
        return None
    completion = Object(view.prog, "struct completion *", sleep.address)
    request = container_of(completion, "struct nfs_direct_req", "completion")
    xprt = inode_rpc_xprt(direct_io_inode(completion))
    what = "direct I/O of an NFS file"
    if xprt is None:
        return None
    return RpcWait("struct nfs_direct_req", int(request.value_()), what, int(xprt.value_()))


def _by_page(view: View, functions: list[str], sleep: Sleep) -> RpcWait | None:
    if not any(name.startswith(_PAGE_WAITS) for name in functions):
        return None
    inode = page_wait_inode(view.prog, sleep.entry)
    xprt = inode_rpc_xprt(inode) if inode is not None else None
    if inode is None or xprt is None:
        return None
    return RpcWait("struct inode", int(inode.value_()), "a page of an NFS file", int(xprt.value_()))
