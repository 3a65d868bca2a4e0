"""Controllers of NVMe over RDMA: their queues, their works, and what they are blocked on."""

from functools import partial

from rdmadiag.facts.model import Collected, Fact
from rdmadiag.vmcore.collect.nvme_bound import add_bound
from rdmadiag.vmcore.collect.nvme_controllers import Controller, find_controllers
from rdmadiag.vmcore.collect.nvme_fields import (
    add_behind,
    add_core,
    add_disks,
    add_works,
    controller_text,
)
from rdmadiag.vmcore.collect.nvme_queues import add_blocked, read_queues
from rdmadiag.vmcore.collect.nvme_untyped import collect_untyped
from rdmadiag.vmcore.collect.rows import Row, isolated
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.damage import object_damage
from rdmadiag.vmcore.helpers.nvme_rdma import nvme_rdma_ctrl_works

KINDS = ("nvme.rdma_controller",)
_KIND = KINDS[0]


def collect(view: View) -> Collected:
    """Return an ``nvme.rdma_controller`` fact for each controller, set up or still being created."""
    if coverage := view.not_here(
        _KIND, "nvme_rdma", "nvme_rdma_ctrl_list", "struct nvme_rdma_ctrl"
    ):
        return collect_untyped(view, coverage)
    problems: list[str] = []
    found = find_controllers(view, problems).values()
    facts = isolated(found, partial(_fact, view), problems, _name)
    return Collected(facts=facts, coverage=[view.covered(_KIND, problems, facts)])


def _name(controller: Controller) -> str:
    return f"the controller at {controller.object.value_():#x}"


def _fact(view: View, controller: Controller) -> Fact:
    ctrl = controller.object
    if damage := object_damage(ctrl):
        raise ValueError(damage)
    row, address = Row(), int(ctrl.value_())
    row.fields |= {"address": hex(address), "listed": controller.listed}
    add_core(ctrl.ctrl, row)
    add_disks(view, ctrl.ctrl, row)
    queues = row.value("queues", lambda: read_queues(view, ctrl)) or []
    row.fields |= {
        "queue_count": len(queues),
        "queues": [queue.fields for queue in queues],
        "queues_live": sum("NVME_RDMA_Q_LIVE" in queue.fields["flag_names"] for queue in queues),
    }
    works = nvme_rdma_ctrl_works(ctrl)
    add_works(view, works, ctrl.reconnect_work, row)
    blocked = add_blocked(view, queues, row)
    add_behind(view, works, row)
    add_bound(view, ctrl.reconnect_work, blocked, row)
    row.fields["problems"] = row.problems
    return view.fact(
        _KIND, row.fields, "struct nvme_rdma_ctrl", address, controller_text(row.fields)
    )
