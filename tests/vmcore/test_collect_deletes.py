"""Works that delete controllers which nobody holds, and what is behind a connection or a controller."""

from drgn import Object, cast, container_of

from rdmadiag.facts.store import FactStore
from rdmadiag.rules.engine import run_rules
from rdmadiag.rules.load import load_diagnoses, rule_dirs
from rdmadiag.vmcore.collect.run import collect_dump
from rdmadiag.vmcore.dump import Dump

from .samples import fresh, overlay, shared

DELETES = "iwcm-delete-stuck-stock"
RULE = "nvme-rdma-delete-use-after-free"


def deletes(dump: Dump) -> tuple[list[dict], object]:
    found = collect_dump(dump, "dump")
    results = run_rules(load_diagnoses(rule_dirs(())), FactStore(found))
    rows = [fact.fields for fact in found.facts if fact.kind == "nvme.delete_work"]
    return rows, next(one for one in results if one.rule.id == RULE)


def controller_of(dump: Dump, work: str) -> Object:
    pointer = Object(dump.prog, "struct work_struct *", int(work, 16))
    return container_of(pointer, "struct nvme_ctrl", "delete_work")


def test_deletes_with_their_references_are_no_finding() -> None:
    rows, result = deletes(shared(DELETES))
    assert len({row["controller"] for row in rows}) == 3
    assert all(row["refcount"] > 0 and row["damage"] == "" for row in rows)
    assert all(row["worker_pid"] and row["flushers"] == [217] for row in rows)
    assert result.outcome == "ruled-out"


def test_a_controller_without_a_reference_is_suspected() -> None:
    dump = fresh(DELETES)
    rows, _ = deletes(shared(DELETES))
    kref = controller_of(dump, rows[0]["work"]).device.kobj.kref
    overlay(dump, cast("void *", kref.address_of_()).value_(), bytes(4))
    changed, result = deletes(dump)
    assert [row["refcount"] for row in changed if row["work"] == rows[0]["work"]] == [0]
    assert [one.verdict for one in result.fired] == ["probable"]
    assert result.fired[0].candidate.key == {"work": rows[0]["work"]}


def test_a_controller_whose_memory_is_freed_is_suspected() -> None:
    dump = fresh(DELETES)
    rows, _ = deletes(shared(DELETES))
    nvme = controller_of(dump, rows[0]["work"])
    work = int(rows[0]["work"], 16)
    # The work itself still reads as one: its worker has its function and its queue.
    start = nvme.value_()
    overlay(dump, start, b"\x6b" * (work - start))
    end = start + nvme.type_.type.size
    overlay(dump, work + 32, b"\x6b" * (end - work - 32))
    changed, result = deletes(dump)
    (row,) = [row for row in changed if row["work"] == rows[0]["work"]]
    assert "freed" in row["damage"]
    assert row["controller"] is None
    assert [one.verdict for one in result.fired] == ["probable"]
