"""Which sleeping tasks merely wait for something to do."""

import pytest

from rdmadiag.vmcore.collect.idle import is_idle

THREAD = ["__schedule", "schedule", "siw_run_sq", "kthread", "ret_from_fork"]


@pytest.mark.parametrize(
    ("state", "functions", "idle"),
    [
        ("S", THREAD, True),
        ("I", ["__schedule", "schedule", "worker_thread", "kthread"], True),
        ("D", THREAD, False),
        ("S", ["__schedule", "schedule", "deep", "main_loop", "kthread"], False),
        ("S", ["schedule", "schedule_timeout", "rds_recvmsg", "sock_recvmsg"], True),
        ("S", ["schedule", "schedule_timeout", "rds_sendmsg", "sock_sendmsg"], False),
        ("S", [], False),
        ("S", ["schedule", "__down_common", "down_interruptible", "isert_accept_np", "x"], True),
        (
            "S",
            ["schedule", "__wait_for_common", "wait_for_completion_interruptible", "deep"],
            False,
        ),
    ],
)
def test_is_idle(state: str, functions: list[str], idle: bool) -> None:
    assert is_idle(state, functions) is idle
