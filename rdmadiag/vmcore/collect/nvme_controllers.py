"""Where the controllers of NVMe over RDMA are found: on their list, by their identifiers, by their works."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from drgn import Object, cast

from rdmadiag.vmcore.collect.ids import RdmaId, id_table
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
from rdmadiag.vmcore.helpers.nvme_rdma import (
    for_each_nvme_rdma_ctrl,
    nvme_rdma_ctrl_works,
    nvme_rdma_work_ctrl,
)

__all__ = ("Controller", "find_controllers")

_MODULE = "nvme_rdma"


class Controller(NamedTuple):
    """
    A controller.

    :ivar object: ``struct nvme_rdma_ctrl *``
    :ivar listed: Whether it is on ``nvme_rdma_ctrl_list``.
    """

    object: Object
    listed: bool


def find_controllers(view: View, problems: list[str]) -> dict[int, Controller]:
    """Return the controllers by address; what cannot be followed is added to *problems*."""
    found: dict[int, Controller] = {}
    try:
        for ctrl in for_each_nvme_rdma_ctrl(view.prog):
            found[int(ctrl.value_())] = Controller(ctrl, listed=True)
    except READ_ERRORS as error:
        problems.append(f"the list of controllers is broken: {why(error)}")
    # One that is still being created is on no list, but its queues have identifiers. One that is freed
    # already may still have a work.
    for rdma_id in id_table(view):
        what = f"the user of the id at {rdma_id.address:#x}"
        _add_unlisted(found, problems, what, partial(_user_of_id, view, rdma_id))
    known = {
        work.address_
        for controller in found.values()
        for work in nvme_rdma_ctrl_works(controller.object).values()
    }
    for work, function in _works(view):
        if work.value_() in known:
            continue
        what = f"the controller of the work at {work.value_():#x}"
        _add_unlisted(found, problems, what, partial(nvme_rdma_work_ctrl, work, function))
    return found


def _add_unlisted(
    found: dict[int, Controller],
    problems: list[str],
    what: str,
    read: Callable[[], Object | None],
) -> None:
    try:
        ctrl = read()
    except READ_ERRORS as error:
        problems.append(f"{what}: {why(error)}")
        return
    if ctrl is not None:
        found.setdefault(int(ctrl.value_()), Controller(ctrl, listed=False))


def _works(view: View) -> Iterator[tuple[Object, str]]:
    """Iterate over the works that run or wait, with the names of their functions."""
    works = view.works
    pairs = [(one.work, one.function) for one in works.workers]
    pairs += [(one.work, one.function) for one in works.queued]
    for work, function in pairs:
        yield Object(view.prog, "struct work_struct *", work), view.function_name(function)


def _user_of_id(view: View, rdma_id: RdmaId) -> Object | None:
    cm_id = rdma_id.object.id
    if view.module_name(int(cm_id.event_handler.value_())) != _MODULE:
        return None
    return cast("struct nvme_rdma_queue *", cm_id.context.read_()).ctrl.read_()
