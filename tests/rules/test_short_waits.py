"""A wait that is no longer than an ordinary operation takes confirms no diagnosis, nor does one of unknown length."""

from typing import Any

import pytest

from rdmadiag.facts.model import Fact
from rdmadiag.rules.load import load_diagnoses, rule_dirs
from tests.rules.make import run, state

RULES = load_diagnoses(rule_dirs(()))


def task(*functions: str, **fields: Any) -> Fact:
    defaults = {"pid": 700, "state": "D", "functions": ["schedule", *functions], "modules": []}
    return state("task", **(defaults | fields))


def connect_wait(seconds: float | None) -> list[Fact]:
    found = {"connect_wait": True, "address": "0xffff888000000000", "owner": {"ulp": "rdma_ucm"}}
    waits = {"destroy_task": 700, "destroy_wait_seconds": seconds, "setup_wait_seconds": None}
    return [
        state("iwcm.cm_id", **found, **waits, waiters=0),
        task("destroy_cm_id", "iw_destroy_cm_id", wait_seconds=seconds),
    ]


def destroy_id(seconds: float | None) -> list[Fact]:
    return [
        state("rdma_cm.id", address="0xffff888000000000", destroy_task=700),
        task("wait_for_completion", "_destroy_id", modules=["rdma_cm"], wait_seconds=seconds),
    ]


def drain(seconds: float | None) -> list[Fact]:
    return [task("wait_for_completion", "__ib_drain_sq", "ib_drain_qp", wait_seconds=seconds)]


def delete(seconds: float | None) -> list[Fact]:
    functions = ("blk_mq_freeze_queue_wait", "nvme_rdma_delete_ctrl", "nvme_do_delete_ctrl")
    return [task(*functions, modules=["nvme_rdma"], wait_seconds=seconds)]


@pytest.mark.parametrize(
    ("rule", "facts", "seconds", "verdict"),
    [
        ("iwcm-connect-wait", connect_wait, 0.7, None),
        ("iwcm-connect-wait", connect_wait, 2.5, "confirmed"),
        ("iwcm-connect-wait", connect_wait, None, "probable"),
        ("rdmacm-destroy-stuck", destroy_id, 0.7, None),
        ("rdmacm-destroy-stuck", destroy_id, 2.5, "confirmed"),
        ("rdmacm-destroy-stuck", destroy_id, None, "probable"),
        ("rdma-drain-stuck", drain, 0.7, None),
        ("rdma-drain-stuck", drain, 2.5, "probable"),
        ("rdma-drain-stuck", drain, 10.5, "confirmed"),
        ("nvme-rdma-delete-stuck", delete, 0.0, None),
        ("nvme-rdma-delete-stuck", delete, 12.0, "probable"),
        ("nvme-rdma-delete-stuck", delete, None, "probable"),
    ],
)
def test_short_waits(rule: str, facts: Any, seconds: float | None, verdict: str | None) -> None:
    fired = run(RULES[rule], *facts(seconds))[rule].fired
    assert [one.verdict for one in fired] == ([verdict] if verdict else [])
