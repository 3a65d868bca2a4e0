"""
All RDMA CM identifiers that can be reached, and whose they are.

An identifier is on the list of its device until its last owner has destroyed it. A destroyer that waits for
the last reference has taken it off the list already, so the users' own pointers are followed too; those may
dangle, and such an identifier counts only while it has a reference.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from drgn import Object, cast, container_of

from rdmadiag.facts.model import Fields
from rdmadiag.vmcore.collect.rds_paths import rds_paths
from rdmadiag.vmcore.collect.sleeps import sleep_of
from rdmadiag.vmcore.collect.tasktable import TaskRow
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.addresses import ip_address
from rdmadiag.vmcore.helpers.damage import object_damage
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.helpers.nvme import nvme_ctrl_name
from rdmadiag.vmcore.helpers.nvme_rdma import (
    for_each_nvme_rdma_ctrl,
    nvme_rdma_ctrl_for_each_queue,
    nvme_rdma_queue_index,
)
from rdmadiag.vmcore.helpers.rdma_cm import (
    cma_device_for_each_id,
    for_each_cma_device,
    rdma_id_private,
    rdma_id_refcount,
    rdma_id_state,
)
from rdmadiag.vmcore.helpers.rds_ib import path_ib_connection

__all__ = ("IdTable", "RdmaId", "id_table", "owner_of", "setup_task")

_SETUP_SPAN = 1024
"""How far into its user's object a completion may be, where the object's type is not known."""


class RdmaId(NamedTuple):
    """
    An identifier.

    :ivar object: ``struct rdma_id_private *``
    :ivar listed: Whether it is on the list of its device.
    """

    object: Object
    address: int
    listed: bool


class IdTable:
    """
    Identifiers by address of their ``struct rdma_id_private``.

    :ivar problems: Why some may be missing.
    """

    def __init__(self, view: View) -> None:
        self.problems: list[str] = []
        self._ids: dict[int, RdmaId] = {}
        self._view = view
        self._guard("the devices of the RDMA CM", self._read_devices)
        self._guard("the NVMe controllers", self._read_queues)
        self._guard("the RDS connections", self._read_connections)
        self._guard("those who destroy one", self._read_destroyers)

    def __iter__(self) -> Iterator[RdmaId]:
        return iter(self._ids.values())

    def __len__(self) -> int:
        return len(self._ids)

    def at(self, address: int) -> RdmaId | None:
        """Return the identifier at an address."""
        return self._ids.get(address)

    def live(self, cm_id: Object) -> RdmaId | None:
        """
        Return the identifier that a pointer leads to, ``None`` when the pointer dangles.

        :param cm_id: ``struct rdma_cm_id *``
        """
        if not cm_id:
            return None
        id_priv = rdma_id_private(cm_id)
        address = int(id_priv.value_())
        known = self._ids.get(address)
        if known is None and not object_damage(id_priv) and rdma_id_refcount(id_priv):
            known = self._ids[address] = RdmaId(id_priv, address, listed=False)
        return known

    def _guard(self, what: str, read: Callable[[], None]) -> None:
        try:
            read()
        except READ_ERRORS as error:
            self.problems.append(f"{what}: {why(error)}")

    def _read_devices(self) -> None:
        for cma_dev in for_each_cma_device(self._view.prog):
            self._guard("a device of the RDMA CM", partial(self._read_device, cma_dev))

    def _read_device(self, cma_dev: Object) -> None:
        for id_priv in cma_device_for_each_id(cma_dev):
            address = int(id_priv.value_())
            self._ids[address] = RdmaId(id_priv, address, listed=True)

    def _read_queues(self) -> None:
        if self._view.dump.presence("nvme_rdma") == "absent":
            return
        try:
            self._view.prog.type("struct nvme_rdma_ctrl")
            controllers = for_each_nvme_rdma_ctrl(self._view.prog)
        except LookupError:
            return  # a module without types: its identifiers on the device lists are found all the same
        for queue in nested(controllers, nvme_rdma_ctrl_for_each_queue):
            self._guard("a queue", partial(self._read_queue, queue))

    def _read_connections(self) -> None:
        if self._view.dump.presence("rds_rdma") == "absent":
            return
        for one in rds_paths(self._view, self.problems, "infiniband"):
            self._guard("a connection", partial(self._read_path, one.path))

    def _read_path(self, cp: Object) -> None:
        if ic := path_ib_connection(cp):
            self.live(ic.i_cm_id.read_())

    def _read_destroyers(self) -> None:
        """Follow the tasks in ``_destroy_id()`` that wait for the last reference of an identifier."""
        type_ = self._view.prog.type("struct rdma_id_private")
        for task in self._view.interesting:
            innermost = self._view.stacks.of(task.task).rdma_function
            sleep = sleep_of(self._view, task) if innermost == "_destroy_id" else None
            if sleep and sleep.type == "struct completion":
                completion = Object(self._view.prog, "struct completion *", sleep.address)
                self._add_destroyed(container_of(completion, type_, "comp"))

    def _add_destroyed(self, id_priv: Object) -> None:
        # Another completion below _destroy_id() is in no identifier.
        handler = int(id_priv.id.event_handler.value_())
        if rdma_id_state(id_priv) == "DESTROYING" and self._view.is_function(handler):
            address = int(id_priv.value_())
            self._ids.setdefault(address, RdmaId(id_priv, address, listed=False))

    def _read_queue(self, queue: Object) -> None:
        self.live(queue.cm_id.read_())


def id_table(view: View) -> IdTable:
    """Return the identifiers of a dump."""
    return view.once("ids", lambda: IdTable(view))


def setup_task(view: View, rdma_id: RdmaId) -> TaskRow | None:
    """
    Return the task that waits until an identifier's connection is set up.

    Users of the RDMA CM wait on a completion in the object that they gave it as context, so this needs none
    of the user's types. Such objects may be side by side (queues of a controller): the nearest is meant.
    """
    tasks = view.once("setup tasks", lambda: _setup_tasks(view))
    return tasks.get(int(rdma_id.object.id.context.value_()))


def _setup_tasks(view: View) -> dict[int, TaskRow]:
    """Return the waiting tasks by the context of the identifier that each waits for."""
    contexts = sorted(_contexts(view))
    found: dict[int, TaskRow] = {}
    for task in view.interesting:
        sleep = sleep_of(view, task)
        if sleep and sleep.type == "struct completion":
            index = bisect_right(contexts, sleep.address) - 1
            if index >= 0 and sleep.address - contexts[index] < _SETUP_SPAN:
                found.setdefault(contexts[index], task)
    return found


def _contexts(view: View) -> Iterator[int]:
    for rdma_id in id_table(view):
        with suppress(*READ_ERRORS):
            yield int(rdma_id.object.id.context.value_())


def owner_of(view: View, rdma_id: RdmaId) -> Fields:
    """
    Return whose an identifier is: the module of its event handler, and what that module uses it for.

    ``controller`` and ``queue`` (NVMe), ``connection`` (RDS) where the module's types are in the dump.
    """
    handler = int(rdma_id.object.id.event_handler.value_())
    ulp = view.module_name(handler)
    owner: Fields = {"ulp": ulp, "handler": view.function_name(handler)}
    reader = {"nvme_rdma": _nvme_owner, "rds_rdma": _rds_owner}.get(ulp)
    if reader:
        # A module without types only has its name.
        with suppress(*READ_ERRORS):
            owner |= reader(rdma_id.object.id.context.read_())
    return owner


def _nvme_owner(context: Object) -> Fields:
    queue = cast("struct nvme_rdma_queue *", context)
    return {
        "controller": nvme_ctrl_name(queue.ctrl.ctrl),
        "queue": nvme_rdma_queue_index(queue),
    }


def _rds_owner(context: Object) -> Fields:
    conn = cast("struct rds_connection *", context)
    ends = ip_address(conn.c_laddr), ip_address(conn.c_faddr), int(conn.c_tos.value_())
    return {"connection": "<{},{},{}>".format(*ends)}
