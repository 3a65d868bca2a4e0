"""``fix list`` and ``fix check``."""

import json
from pathlib import Path

import pytest

from rdmadiag.commands.fix import check_inputs, list_fixes
from rdmadiag.errors import UserError
from rdmadiag.facts.model import Fact, Where
from rdmadiag.knowledge.base import Knowledge
from rdmadiag.knowledge.kernels import parse_kernel
from rdmadiag.knowledge.status import KernelEvidence
from rdmadiag.knowledge.survey import survey_facts, survey_kernel

OLD = "4.1.12-124.18.6.el6uek.x86_64"


def test_list_of_a_kernel():
    text, status = list_fixes(OLD)
    assert status == 0
    assert text.startswith(f"{OLD}: UEK UEK4, starts from upstream 4.1.12\n")
    assert "missing: ORA-28733324\n" in text
    assert "present:" not in text
    assert text.rstrip().endswith("--all shows the others.")


def test_list_of_a_kernel_with_the_fix():
    text, _ = list_fixes("4.1.12-124.24.3.el6uek.x86_64")
    assert "ORA-28733324" not in text


def test_list_by_the_distribution_own_version():
    text, _ = list_fixes("6.1.0-56-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-2 (2026-10-01)")
    assert "Debian, is upstream 6.1.192" in text
    assert "missing: ORA-28733324" in text
    assert "UP-aee2424246f9" not in text


def test_list_as_json(known: Knowledge):
    rows = json.loads(list_fixes(OLD, format="json", everything=True)[0])
    assert len(rows) == len(known.fixes)
    by_id = {row["id"]: row for row in rows}
    assert by_id["ORA-28733324"]["status"] == "missing"
    assert by_id["ORA-28733324"]["orabug"] == ["28733324"]
    assert rows[0]["status"] == "missing"
    assert all(row["why"] for row in rows)


def test_list_of_no_kernel():
    with pytest.raises(UserError, match="no kernel release"):
        list_fixes("what?")


def test_survey_counts_all(known: Knowledge):
    rows = survey_kernel(known, KernelEvidence(parse_kernel("6.12.117")))
    assert len(rows) == len(known.fixes)
    order = [row.verdict.status for row in rows]
    assert order == sorted(order, key=["missing", "unknown", "present"].index)


STUCK = """\
Aug 14 03:15:12 host1 kernel: [612013.100330] INFO: task kworker/u98:3:20451 blocked for more than 120 seconds.
Aug 14 03:15:12 host1 kernel: [612013.100371]       Tainted: G           OE   4.14.35-1902.300.11.el7uek.x86_64 #2
Aug 14 03:15:12 host1 kernel: [612013.100455] kworker/u98:3   D    0 20451      2 0x80000080
Aug 14 03:15:12 host1 kernel: [612013.100470] Workqueue: nvme-wq nvme_rdma_reconnect_ctrl_work [nvme_rdma]
Aug 14 03:15:12 host1 kernel: [612013.100474] Call Trace:
Aug 14 03:15:12 host1 kernel: [612013.100484]  __schedule+0x2bc/0x895
Aug 14 03:15:12 host1 kernel: [612013.100489]  schedule+0x36/0x7c
Aug 14 03:15:12 host1 kernel: [612013.100499]  destroy_cm_id+0xfe/0x220 [iw_cm]
Aug 14 03:15:12 host1 kernel: [612013.100511]  iw_destroy_cm_id+0xe/0x10 [iw_cm]
Aug 14 03:15:12 host1 kernel: [612013.100521]  rdma_destroy_id+0x224/0x300 [rdma_cm]
Aug 14 03:15:12 host1 kernel: [612013.100530]  nvme_rdma_alloc_queue+0x181/0x1b0 [nvme_rdma]
Aug 14 03:15:12 host1 kernel: [612013.100544]  nvme_rdma_reconnect_ctrl_work+0x45/0x1a0 [nvme_rdma]
Aug 14 03:15:12 host1 kernel: [612013.100550]  process_one_work+0x169/0x3a6
Aug 14 03:15:12 host1 kernel: [612013.100555]  worker_thread+0x4d/0x3e5
Aug 14 03:15:12 host1 kernel: [612013.100560]  kthread+0x105/0x138
Aug 14 03:15:12 host1 kernel: [612013.100565]  ret_from_fork+0x24/0x49
"""

QUIET = """\
Aug 14 03:11:40 host1 kernel: [611801.220144] nvme nvme1: starting error recovery
Aug 14 03:11:50 host1 kernel: [611811.220144] nvme nvme1: Successfully reconnected (1 attempt)
"""

CQ_ERROR = """\
Sep 29 22:32:33 cell1 kernel: [471472.784371] mlx4_core 0000:46:00.0: CQ access violation on CQN 000419 syndrome=0x2 vendor_error_syndrome=0x0
Sep 29 22:32:33 cell1 kernel: [471472.784403] RDS/IB: connection <192.168.10.43,192.168.10.1,0> dropped due to 'qp event'
Sep 29 22:33:40 cell1 kernel: [471539.784403] RDS/IB: re-connect <192.168.10.43,192.168.10.1,0> stalling for more than 1 min...(drops=1 err=0)
"""


def log(folder: Path, text: str) -> str:
    path = folder / "messages"
    path.write_text(text)
    return str(path)


def test_check_of_a_log(tmp_path: Path):
    text, status = check_inputs([log(tmp_path, STUCK)], width=200)
    assert status == 1
    assert text.startswith("confident: OBS-iwcm-connect-wait\n")
    assert "messages:1" in text
    assert "Fix missing" in text


def test_check_of_a_quiet_log(tmp_path: Path):
    text, status = check_inputs([log(tmp_path, QUIET)])
    assert (text, status) == ("0 known faults fit by their messages or stacks.\n", 0)


def test_check_as_json(tmp_path: Path):
    text, status = check_inputs([log(tmp_path, STUCK)], format="json")
    row = json.loads(text)[0]
    assert status == 1
    assert row["id"] == "OBS-iwcm-connect-wait"
    assert (row["host"], row["rank"], row["line"], row["kind"]) == (
        "host1",
        "confident",
        1,
        "kernel.hung_task",
    )


def test_lines_that_only_tell_together(tmp_path: Path):
    text, status = check_inputs([log(tmp_path, CQ_ERROR)])
    assert status == 1
    assert "likely: ORA-28733324" in text
    two = "".join(CQ_ERROR.splitlines(keepends=True)[:2])
    text, status = check_inputs([log(tmp_path, two)])
    assert (status, "likely" in text) == (0, False)
    assert "likely" not in check_inputs([log(tmp_path, two)], hints=True)[0]
    assert "hint: ORA-28733324" in check_inputs([log(tmp_path, two)], hints=True)[0]


def test_check_of_nothing(tmp_path: Path):
    with pytest.raises(UserError):
        check_inputs([str(tmp_path / "none")])


STACK = ["schedule", "destroy_cm_id", "rdma_destroy_id", "nvme_rdma_alloc_queue"]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"state": "D", "wait_seconds": 200.0}, True),
        ({"state": "D", "wait_seconds": None}, True),
        ({"state": None}, True),  # a stack pasted from crash
        ({"state": "S", "wait_seconds": 200.0}, True),
        ({"state": "S", "wait_seconds": 2.0}, False),
        ({"state": "R", "wait_seconds": None}, False),
    ],
)
def test_a_task_counts_when_it_waits(known: Knowledge, fields: dict[str, object], found: bool):
    fact = Fact("task", {"functions": STACK, **fields}, Where("vmcore"))
    assert bool(survey_facts(known, [fact], {})) is found


def test_the_same_fault_on_two_hosts_and_many_times(known: Knowledge):
    facts = [
        Fact("kernel.hung_task", {"functions": STACK}, Where("log", line=n), host=host)
        for n, host in enumerate(["a", "b", "a", "a"])
    ]
    rows = survey_facts(known, facts, {})
    assert [(row.host, row.count, row.fact.where.line) for row in rows] == [
        ("a", 3, 0),
        ("b", 1, 1),
    ]


def test_names_of_inputs_reach_no_terminal_raw(tmp_path: Path):
    path = tmp_path / "mess\x1b[31mages"
    path.write_text(STUCK)
    text, _ = check_inputs([str(path)], width=400)
    assert "\x1b" not in text
    assert "mess\\x1b[31mages:1" in text


def test_undecodable_names_of_inputs(tmp_path: Path):
    path = tmp_path / "mess\udce9ages"
    path.write_text(STUCK)
    text, _ = check_inputs([str(path)], width=400)
    text.encode()
    row = json.loads(check_inputs([str(path)], format="json")[0])[0]
    assert row["input"].endswith("mess\\xe9ages")
