"""A kernel whose modules have no types at all, as before 5.11: what is said instead."""

import pytest

from rdmadiag.vmcore.collect import iwcm, rdma_cm, rds
from rdmadiag.vmcore.collect.view import View

from .fake_kernel import FakeKernel, fake_dump

MODULES = ("iw_cm", "rdma_cm", "rds", "rds_rdma")
VMLINUX = "struct workqueue_struct { u64 first; };"


def view_of(*sources):
    kernel = FakeKernel(VMLINUX, *sources)
    kernel.variable("rds_conn_hash", "struct hlist_head", 4)
    kernel.variable("dev_list", "struct list_head")
    kernel.variable("iwcm_wq", "u64")
    dump = fake_dump(kernel, *MODULES)
    for name in MODULES:
        dump.modules.named(name).has_types = False
    return View(dump, "dump")


@pytest.mark.parametrize(
    ("collector", "module", "type_"),
    [
        (rds, "rds_rdma", "struct rds_connection"),
        (rdma_cm, "rdma_cm", "struct rdma_id_private"),
        (iwcm, "iw_cm", "struct iwcm_id_private"),
    ],
)
def test_it_is_said_what_is_missing_and_how_to_give_it(collector, module, type_):
    found = collector.collect(view_of())
    (coverage,) = found.coverage
    assert (found.facts, coverage.status) == ([], "failed")
    assert coverage.reason == (
        f"module {module} is loaded and has no types (BTF) in the dump; "
        f"name its debug info with --debuginfo (could not find '{type_}')"
    )


def test_a_type_that_is_only_declared_is_none():
    view = view_of("struct rdma_id_private; struct holder { struct rdma_id_private *one; };")
    view.prog.register_type_finder("declared", _declared(view.prog), enable_index=0)
    (coverage,) = rdma_cm.collect(view).coverage
    assert "'struct rdma_id_private' is declared, not defined" in coverage.reason


def _declared(prog):
    incomplete = prog.struct_type("rdma_id_private")
    return lambda _prog, kinds, name, _file: incomplete if name == "rdma_id_private" else None
