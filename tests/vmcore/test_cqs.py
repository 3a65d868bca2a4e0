"""Completion queues and vectors on the layouts of drivers and kernels that no dump at hand has."""

import pytest

from rdmadiag.vmcore.collect.rds_vectors import collect
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.helpers.ib_cq import (
    ib_cq_cons_index,
    ib_cq_eq,
    ib_cq_irq,
    ib_cq_number,
    ib_cq_unpolled,
)

from .fake_kernel import FakeKernel
from .rds_kernel import RdsKernel

CORE = """
struct ib_device { char name[64]; struct module *owner; };
struct ib_cq { struct ib_device *device; int cqe; };
"""
MLX5 = """
struct mlx5_core_cq { u32 cqn; u32 irqn; u32 cons_index; struct mlx5_eq_comp *eq; };
struct mlx5_ib_cq { struct ib_cq ibcq; struct mlx5_core_cq mcq; };
struct mlx5_eq { u32 cons_index; u32 vecidx; u32 irqn; u8 eqn; };
struct mlx5_eq_comp { struct mlx5_eq core; };
"""
MLX4 = """
struct mlx4_cq { u32 cons_index; u16 irq; int cqn; };
struct mlx4_ib_cq { struct ib_cq ibcq; struct mlx4_cq mcq; };
"""
SOFT = """
struct rxe_queue_buf { u32 index_mask; u32 producer_index; u32 consumer_index; };
struct rxe_queue { struct rxe_queue_buf *buf; u32 index_mask; };
struct rxe_cq { struct ib_cq ibcq; struct rxe_queue *queue; };
struct siw_cq { struct ib_cq base_cq; u32 cq_put; u32 cq_get; };
"""
OF_HARDWARE = (ib_cq_number, ib_cq_irq, ib_cq_cons_index, ib_cq_eq)


def queue(driver, type_, embedded, *sources):
    """A kernel with one completion queue: the driver's structure and a ``struct ib_cq *`` into it."""
    kernel = FakeKernel(CORE, *sources)
    device = kernel.new("struct ib_device", owner=kernel.new("struct module", name=driver))
    found = kernel.new(type_)
    kernel.set(found.member_(embedded).device, device)
    return kernel, found, found.member_(embedded).address_of_()


def test_mlx5():
    kernel, mlx5, cq = queue("mlx5_ib", "struct mlx5_ib_cq", "ibcq", MLX5)
    assert ib_cq_eq(cq) is None
    eq = kernel.new("struct mlx5_eq_comp")
    for place, value in (
        (mlx5.mcq.cqn, 0x487),
        (mlx5.mcq.irqn, 61),
        (mlx5.mcq.cons_index, 9),
        (mlx5.mcq.eq, eq),
        (eq.core.eqn, 21),
        (eq.core.vecidx, 4),
        (eq.core.cons_index, 7),
    ):
        kernel.set(place, value)
    assert [read(cq) for read in OF_HARDWARE[:3]] == [0x487, 61, 9]
    assert ib_cq_eq(cq) == {"eqn": 21, "vecidx": 4, "cons_index": 7}
    with pytest.raises(LookupError):
        ib_cq_unpolled(cq)


def test_mlx5_without_the_types_of_mlx5_core():
    only_ib = MLX5.split("struct mlx5_eq {")[0]
    kernel, mlx5, cq = queue("mlx5_ib", "struct mlx5_ib_cq", "ibcq", only_ib)
    kernel.set(mlx5.mcq.eq, mlx5)
    with pytest.raises(LookupError):
        ib_cq_eq(cq)


def test_mlx4():
    kernel, mlx4, cq = queue("mlx4_ib", "struct mlx4_ib_cq", "ibcq", MLX4)
    for place, value in ((mlx4.mcq.cqn, 0x419), (mlx4.mcq.irq, 130), (mlx4.mcq.cons_index, 3)):
        kernel.set(place, value)
    assert [read(cq) for read in OF_HARDWARE[:3]] == [0x419, 130, 3]
    with pytest.raises(LookupError):
        ib_cq_eq(cq)


def test_soft_roce_over_the_end_of_the_ring():
    kernel, rxe, cq = queue("rdma_rxe", "struct rxe_cq", "ibcq", SOFT)
    buffer = kernel.new("struct rxe_queue_buf", producer_index=2, consumer_index=1022)
    kernel.set(rxe.queue, kernel.new("struct rxe_queue", buf=buffer, index_mask=1023))
    assert ib_cq_unpolled(cq) == 4
    for read in OF_HARDWARE:
        with pytest.raises(LookupError):
            read(cq)


def test_soft_iwarp_with_counters_that_wrapped():
    kernel, siw, cq = queue("siw", "struct siw_cq", "base_cq", SOFT)
    kernel.set(siw.cq_put, 5)
    kernel.set(siw.cq_get, (1 << 32) - 2)
    assert ib_cq_unpolled(cq) == 7


class WithVectors(RdsKernel):
    """A kernel whose connections have more members, and whose CPU 2 is offline."""

    members = ""

    def edit(self, text: str) -> str:
        return text.replace("bool i_active_side;", f"bool i_active_side; {self.members}")

    def online(self) -> None:
        for name, bits in (("possible", 0b1111), ("online", 0b1011)):
            mask = self.variable(f"__cpu_{name}_mask", "struct cpumask")
            self.set(mask.bits[0], bits)
        self.set(self.variable("nr_cpu_ids", "unsigned int"), 4)


def vectors(layout, members, **values):
    class Kernel(WithVectors):
        pass

    Kernel.members = members
    kernel = Kernel(layout, "struct cpumask { unsigned long bits[1]; };")
    kernel.online()
    conn = kernel.connection(laddr="10.0.0.1", faddr="10.0.0.2", state=3)
    cp = kernel.path(conn)
    ic = kernel.at(
        kernel.type("struct rds_ib_connection"), kernel.member(cp, "transport_data").value_()
    )
    for name, value in values.items():
        kernel.set(ic.member_(name), value)
    (fact,) = collect(View(kernel.dump(), "dump")).facts
    assert fact.fields["problems"] == []
    return {
        name: fact.fields[name]
        for name in ("send_vector", "recv_vector", "irq", "send_cpu", "recv_cpu", "offline")
    }


def test_vectors_of_uek4():
    members = "int i_scq_vector; int i_rcq_vector;"
    assert vectors("rds_uek4", members, i_scq_vector=3, i_rcq_vector=-1) == {
        "send_vector": 3, "recv_vector": None, "irq": None, "send_cpu": None, "recv_cpu": None, "offline": [],
    }  # fmt: skip


def test_one_vector_for_both_of_uek5():
    members = "int i_cq_vector; unsigned int i_irqn;"
    assert vectors("rds_uek5", members, i_cq_vector=2, i_irqn=64) == {
        "send_vector": 2, "recv_vector": 2, "irq": 64, "send_cpu": None, "recv_cpu": None, "offline": [],
    }  # fmt: skip


def test_preferred_cpus_of_the_newest_uek():
    members = (
        "int i_scq_vector; int i_rcq_vector; int i_preferred_send_cpu; int i_preferred_recv_cpu;"
    )
    unbound = 8192  # WORK_CPU_UNBOUND: any CPU
    found = vectors(
        "rds_uek_new", members, i_rcq_vector=1, i_preferred_send_cpu=unbound, i_preferred_recv_cpu=2
    )
    assert found == {
        "send_vector": 0, "recv_vector": 1, "irq": None, "send_cpu": None, "recv_cpu": 2, "offline": [2],
    }  # fmt: skip


def test_connection_whose_transport_cannot_be_read_costs_itself_only():
    kernel = RdsKernel("rds_uek5", "struct cpumask { unsigned long bits[1]; };")
    WithVectors.online(kernel)
    kernel.connection(laddr="10.0.0.1", faddr="10.0.0.2", state=3)
    broken = kernel.connection(laddr="10.0.0.1", faddr="10.0.0.3", state=3)
    kernel.set(broken.c_trans, broken.address_ + (1 << 40))
    found = collect(View(kernel.dump(), "dump"))
    assert [fact.fields["faddr"] for fact in found.facts] == ["10.0.0.2"]
    assert found.coverage[0].status == "partial"
    assert f"the connection at {broken.address_:#x}" in found.coverage[0].reason
