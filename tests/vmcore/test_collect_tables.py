"""Facts that only ``inspect`` asks for, read from sample dumps."""

from typing import Any

import pytest
from drgn import Object

from rdmadiag.facts.kinds import KINDS
from rdmadiag.report.columns import TABLES
from rdmadiag.vmcore.collect.run import collect_dump, kinds_on_demand
from rdmadiag.vmcore.helpers.rds_sock import cong_map_ports, for_each_rds_cong_map

from .samples import fresh, overlay, shared, word

NAME = "rds-mixed-queued"
ENDS = ("192.168.10.1", "192.168.10.2")
OTHER_ENDS = ("192.168.10.3", "192.168.10.4")


def rows(kind: str, name: str = NAME) -> list[dict[str, Any]]:
    found = collect_dump(shared(name), "dump", kinds=(kind,))
    assert {fact.kind for fact in found.facts} <= {kind}
    assert [one.status for one in found.coverage if one.kind == kind] == ["complete"]
    return [fact.fields for fact in found.facts]


def test_they_are_collected_only_when_asked_for() -> None:
    asked = {fact.kind for fact in collect_dump(shared(NAME), "dump").facts}
    assert not asked & kinds_on_demand()
    assert kinds_on_demand() <= {kind for kind, _ in TABLES.values()}


@pytest.mark.parametrize("kind", sorted(kinds_on_demand()))
def test_fields_are_those_that_are_declared(kind: str) -> None:
    found = collect_dump(shared(NAME), "dump", kinds=(kind,))
    for fact in found.facts:
        assert set(fact.fields) == set(KINDS[kind])
    assert found.facts or found.coverage[0].status == "absent"


def test_sockets() -> None:
    sockets = {row["lport"]: row for row in rows("rds.socket")}
    assert len(sockets) == 3
    assert all(row["laddr"].startswith("192.168.10.") for row in sockets.values())
    stuck = sockets[5003]
    assert (stuck["transport"], stuck["send_bytes"], stuck["receive_bytes"]) == (
        "infiniband",
        106496,
        0,
    )
    assert [one["comm"] for one in stuck["processes"]] == ["rdsapp"]


def test_messages_are_those_that_connections_count() -> None:
    found = rows("rds.message")
    messages = [row for row in found if row["queue"] != "receive_queue"]
    assert {(row["laddr"], row["faddr"]) for row in messages} == {ENDS, OTHER_ENDS}
    connections = rows("rds.ib_connection")
    assert len(messages) == sum(row["queued_messages"] for row in connections)
    assert sum(row["bytes"] for row in messages) == sum(row["queued_bytes"] for row in connections)
    stuck = [row for row in messages if row["sport"] == 5003 and row["queue"] == "send_queue"]
    numbers = [row["sequence"] for row in stuck]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_devices_and_pools() -> None:
    (device,) = rows("rds.ib_device")
    assert (device["device"], device["connections"]) == ("rxe0", 3)
    assert device["addresses"][0] == ENDS[0]
    assert [pool["pool"] for pool in device["pools"]] == ["mr_1m", "mr_8k"]
    assert all(pool["max_items"] > 0 for pool in device["pools"])


def test_counters() -> None:
    counters = {row["counter"]: row["value"] for row in rows("rds.counter")}
    # The guest ran on while the dump was taken.
    assert counters["recv_delivered"] == pytest.approx(counters["recv_queued"], abs=5)
    assert counters["copy_to_user"] == counters["recv_bytes_removed_from_socket"] > 0


def test_resources() -> None:
    resources = rows("rdma.resource")
    by_type = {kind: [row for row in resources if row["type"] == kind] for kind in ("QP", "CM_ID")}
    states = sorted(row["details"]["state"] for row in by_type["QP"])
    assert states == ["ERR", "RTS", "RTS", "RTS"]
    cms = [row["details"]["state"] for row in by_type["CM_ID"] if row["kernel"] == "rds_rdma"]
    assert sorted(cms) == ["CONNECT", "CONNECT", "DISCONNECT", "LISTEN", "LISTEN"]


def test_timers() -> None:
    timers = rows("timer", "nvme-rdma-reconnecting")
    due = [row["due_seconds"] for row in timers]
    assert due == sorted(due)
    works = {(row["work_function"], row["workqueue"], row["due_seconds"]) for row in timers}
    delayed = [
        row for row in rows("workqueue.work", "nvme-rdma-reconnecting") if row["state"] == "delayed"
    ]
    assert delayed
    assert {(row["function"], row["workqueue"], row["due_seconds"]) for row in delayed} <= works
    sleepers = {row["pid"] for row in timers if row["function"] == "process_timeout"}
    assert sleepers
    assert None not in sleepers


def test_congestion() -> None:
    assert [row["congested_ports"] for row in rows("rds.congestion_map")] == [[]] * 4
    dump = fresh(NAME)
    first = next(iter(for_each_rds_cong_map(dump.prog)))
    overlay(dump, int(first.m_page_addrs[0].value_()) + 500, b"\x02\x80")
    assert cong_map_ports(first) == [4001, 4015]


def test_a_list_of_sockets_that_points_to_itself() -> None:
    dump = fresh(NAME)
    address = int(rows("rds.socket")[0]["address"], 16)
    sock = Object(dump.prog, "struct rds_sock *", address)
    overlay(dump, sock.rs_item.address_, word(sock.rs_item.address_))
    found = collect_dump(dump, "dump", kinds=("rds.socket",))
    assert len(found.facts) == 1
    assert found.coverage[0].status == "partial"
    assert "circle" in found.coverage[0].reason
