"""One occurrence counts once, however many inputs tell of it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pytest
from make import event, state

from rdmadiag.facts.merge import merge
from rdmadiag.facts.model import Collected, Coverage, Fact, InputInfo, Moment, Where


def merged(*facts: Fact, inputs: list[InputInfo] | None = None) -> list[Fact]:
    collected = Collected(inputs=inputs or [], facts=list(facts))
    merge(collected)
    return collected.facts


def test_syslog_and_dump_of_the_same_record_count_once() -> None:
    syslog = event("drop", 100.5, wall=5000.0, input="messages", laddr="a")
    buffer = event("drop", 100.5, input="vmcore", laddr="a")
    assert merged(syslog, buffer) == [syslog]


def test_a_whole_second_stamp_matches_a_fine_one() -> None:
    syslog = event("drop", wall=5000.0, input="messages", laddr="a")
    journal = event("drop", 100.5, wall=5000.62, input="journal", laddr="a")
    assert merged(syslog, journal) == [journal]


def test_two_occurrences_in_one_input_are_two() -> None:
    twice = [
        event("drop", 100.5, input="messages", laddr="a"),
        event("drop", 100.6, input="messages", laddr="a"),
    ]
    assert merged(*twice) == twice


def test_repeats_in_both_inputs_are_paired_one_to_one() -> None:
    left = [event("drop", wall=float(t), input="messages", laddr="a") for t in (10, 20, 30)]
    right = [event("drop", wall=float(t), input="messages.1", laddr="a") for t in (30, 40)]
    assert [f.time.wall for f in merged(*left, *right)] == [10, 20, 30, 40]


def test_other_fields_are_another_occurrence() -> None:
    facts = [event("drop", 1.0, input="x", laddr="a"), event("drop", 1.0, input="y", laddr="b")]
    assert len(merged(*facts)) == 2


def test_other_hosts_are_other_occurrences() -> None:
    facts = [
        event("drop", 1.0, input="x", host="n1", laddr="a"),
        event("drop", 1.0, input="y", host="n2", laddr="a"),
    ]
    assert len(merged(*facts)) == 2


def test_state_of_two_dumps_is_never_merged() -> None:
    assert len(merged(state("conn", input="d1", x=1), state("conn", input="d2", x=1))) == 2


def test_the_only_host_gives_its_name_to_inputs_without_one() -> None:
    info = InputInfo("vmcore", host="node1")
    assert [f.host for f in merged(event("drop", 1.0, host=""), inputs=[info])] == ["node1"]


def test_a_name_is_not_guessed_among_two_hosts() -> None:
    facts = merged(event("a", 1.0, host="n1"), event("b", 1.0, host="n2"), event("c", 1.0, host=""))
    assert sorted(f.host for f in facts) == ["", "n1", "n2"]


def test_boots_are_numbered_by_their_start_over_all_inputs() -> None:
    """The first boot of the second file is the second boot of the first one."""
    old = event("a", 50.0, wall=1050.0, input="messages.1")
    again = event("a", 10.0, wall=9010.0, input="messages.1")
    again.time = Moment(wall=9010.0, uptime=10.0, boot=1)
    later = event("b", 70.0, wall=9070.2, input="messages")
    facts = {f.where.input + f.kind + str(f.time.uptime): f for f in merged(old, again, later)}
    assert [
        facts[k].time.boot for k in ("messages.1a50.0", "messages.1a10.0", "messagesb70.0")
    ] == [0, 1, 1]


@pytest.mark.parametrize(
    ("laddr", "faddr", "host"),
    [
        ("10.0.0.1", "10.0.0.2", "db01"),
        ("10.0.0.2", "10.0.0.1", ""),  # the other end's
        ("10.0.0.7", "10.0.0.8", "db01"),
    ],
)
def test_log_without_host_is_the_named_hosts_unless_its_addresses_are_the_peers(
    laddr: str, faddr: str, host: str
) -> None:
    kind, ends = "rds.connection_dropped", {"laddr": "10.0.0.1", "faddr": "10.0.0.2"}
    facts = [
        Fact(kind, ends, Where("messages", 1, 0), "db01", Moment(1.0)),
        Fact(kind, {"laddr": laddr, "faddr": faddr}, Where("dmesg", 1, 0), "", Moment(900.0)),
    ]
    inputs = [InputInfo("messages", "log", "db01"), InputInfo("dmesg", "log")]
    collected = Collected(inputs, facts, [Coverage(kind, "dmesg", "complete")])
    merge(collected)
    assert [f.host for f in collected.facts] == ["db01", host]
    assert collected.inputs[1].host == collected.coverage[0].host == host
