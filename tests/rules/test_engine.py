"""The engine: candidates, joins, windows, absence, thresholds, outcomes."""

import sys
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parent))

from make import event, rule, run, state

from rdmadiag.facts.model import Coverage, Fact, Moment
from rdmadiag.facts.store import FactStore
from rdmadiag.rules.candidates import MAX_TRIES

DROP_WITHOUT_RETURN = rule(
    key=["laddr", "tos"],
    clues={
        "drop": {"kind": "drop", "anchor": True, "pick": "last"},
        "error": {"kind": "error", "near": {"of": "drop", "before": 5, "after": 1}},
        "back": {
            "kind": "up",
            "join": ["laddr", "tos"],
            "near": {"of": "drop", "after": None},
            "evidence": False,
        },
    },
    ruled_out=[{"when": "back", "because": "it came back {{ gap(drop, back) | duration }} later"}],
    verdict={"probable": "drop and error and log.after(drop) >= 60", "possible": "drop and error"},
)


def outcome(result: object) -> tuple[str, list[tuple[object, str]]]:
    fired = [(tuple(f.candidate.key.values()), f.verdict) for f in result.fired]
    return result.outcome, fired


def test_a_drop_with_an_error_before_it_fires_for_its_connection_only() -> None:
    facts = [
        event("error", 100.0),
        event("drop", 100.1, laddr="a", tos=0),
        event("drop", 500.0, laddr="b", tos=0),
    ]
    assert outcome(run(DROP_WITHOUT_RETURN, *facts, end=900.0)["test-rule"]) == (
        "fired",
        [(("a", 0), "probable")],
    )


def test_the_log_must_go_on_for_absence_to_count() -> None:
    facts = [event("error", 100.0), event("drop", 100.1, laddr="a", tos=0)]
    assert outcome(run(DROP_WITHOUT_RETURN, *facts, end=130.0)["test-rule"]) == (
        "fired",
        [(("a", 0), "possible")],
    )


def test_a_return_rules_it_out_and_says_so() -> None:
    facts = [
        event("error", 100.0),
        event("drop", 100.1, laddr="a", tos=0),
        event("up", 100.35, laddr="a", tos=0),
    ]
    result = run(DROP_WITHOUT_RETURN, *facts, end=900.0)["test-rule"]
    assert result.outcome == "ruled-out"
    assert "laddr a, tos 0: it came back 0.25 s later" in result.reason


def test_the_same_address_with_another_tos_is_another_connection() -> None:
    facts = [
        event("error", 100.0),
        event("drop", 100.1, laddr="a", tos=0),
        event("up", 101.0, laddr="a", tos=3),
    ]
    assert run(DROP_WITHOUT_RETURN, *facts, end=900.0)["test-rule"].outcome == "fired"


def test_a_return_before_the_drop_is_none() -> None:
    facts = [
        event("up", 50.0, laddr="a", tos=0),
        event("error", 100.0),
        event("drop", 100.1, laddr="a", tos=0),
    ]
    assert run(DROP_WITHOUT_RETURN, *facts, end=900.0)["test-rule"].outcome == "fired"


def test_order_decides_within_one_whole_second() -> None:
    """Syslog without uptime: both lines carry the same second, the line order is the order."""
    before = [
        event("up", wall=10.0, laddr="a", tos=0),
        event("error", wall=10.0),
        event("drop", wall=10.0, laddr="a", tos=0),
    ]
    assert run(DROP_WITHOUT_RETURN, *before)["test-rule"].outcome == "fired"
    after = [
        event("error", wall=10.0),
        event("drop", wall=10.0, laddr="a", tos=0),
        event("up", wall=10.0, laddr="a", tos=0),
    ]
    assert run(DROP_WITHOUT_RETURN, *after)["test-rule"].outcome == "ruled-out"


def test_an_error_outside_the_window_does_not_count() -> None:
    facts = [event("error", 90.0), event("drop", 100.1, laddr="a", tos=0)]
    result = run(DROP_WITHOUT_RETURN, *facts, end=900.0)["test-rule"]
    assert (result.outcome, "not found: error" in result.reason) == ("ruled-out", True)


def test_an_error_of_another_host_does_not_count() -> None:
    facts = [event("error", 100.0, host="node2"), event("drop", 100.1, laddr="a", tos=0)]
    assert run(DROP_WITHOUT_RETURN, *facts)["test-rule"].outcome == "ruled-out"


def test_a_reboot_ends_a_window() -> None:
    """The same uptime in another boot is another time."""
    first = event("error", 100.0)
    drop = event("drop", 100.1, laddr="a", tos=0)
    drop.time = type(drop.time)(uptime=100.1, boot=1, order=5)
    assert run(DROP_WITHOUT_RETURN, first, drop)["test-rule"].outcome == "ruled-out"


def boot(fact, number: int):
    fact.time = replace(fact.time, boot=number)
    return fact


def test_a_reboot_ends_a_window_on_the_wall_clock_too() -> None:
    """What comes up in the next boot has not recovered; the log of the first boot ends with the second."""
    within = {"of": "drop", "after": None, "same_boot": True}
    wanted = rule(
        clues={
            "drop": {"kind": "drop", "anchor": True},
            "back": {"kind": "up", "near": within},
            "later": {"kind": "up", "near": within | {"same_boot": False}},
        },
        verdict={
            "confirmed": "drop and not back and later and log.reboot(drop) == 500 and log.after(drop) == 500"
        },
    )
    drop = event("drop", 100.0, wall=5100.0)
    first = boot(event("start", 0.0, wall=5600.0), 1)
    up = boot(event("up", 20.0, wall=5620.0), 1)
    assert run(wanted, drop, first, up)["test-rule"].outcome == "fired"


EACH_DROP = rule(
    key=["laddr"],
    clues={
        "drop": {"kind": "drop", "anchor": True, "each": True},
        "error": {"kind": "error", "near": {"of": "drop", "before": 5}},
        "back": {"kind": "up", "join": ["laddr"], "near": {"of": "drop", "after": 60}},
    },
    verdict={"confirmed": "error and not back", "possible": "error"},
)


def test_of_several_occurrences_the_most_telling_counts() -> None:
    facts = [
        event("drop", 10.0, laddr="a"),
        event("error", 100.0),
        event("drop", 100.1, laddr="a"),
        event("error", 500.0),
        event("drop", 500.1, laddr="a"),
        event("up", 501.0, laddr="a"),
    ]
    result = run(EACH_DROP, *facts)["test-rule"]
    assert outcome(result) == ("fired", [(("a",), "confirmed")])
    assert result.fired[0].matches["drop"].moment.uptime == 100.1
    assert run(EACH_DROP, facts[0])["test-rule"].outcome == "ruled-out"


def test_only_the_last_occurrences_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    find = FactStore.find

    def counted(self: FactStore, *args: object):
        nonlocal looks
        looks += 1
        return find(self, *args)

    monkeypatch.setattr(FactStore, "find", counted)
    run(EACH_DROP, *(event("drop", float(n), laddr="a") for n in range(5000)))
    assert 0 < looks <= 2 * MAX_TRIES


def test_without_any_clock_the_order_of_lines_serves() -> None:
    def bare(kind: str, line: int, **fields: object):
        fact = event(kind, 0.0, **fields)
        fact.time = Moment(order=line)
        return fact

    def fires(*facts: object) -> bool:
        return run(DROP_WITHOUT_RETURN, *facts)["test-rule"].outcome == "fired"

    error, drop, up = (
        bare("error", 10),
        bare("drop", 11, laddr="a", tos=0),
        bare("up", 30, laddr="a", tos=0),
    )
    assert fires(error, drop)
    assert not fires(error, drop, up)
    assert not fires(bare("error", 10), bare("drop", 400, laddr="a", tos=0))


def test_the_log_of_a_boot_ends_with_the_last_that_is_said_in_it() -> None:
    wanted = rule(
        clues={"drop": {"kind": "drop", "anchor": True}},
        verdict={"confirmed": "log.after(drop) == 50"},
    )
    facts = [event("drop", 100.0), event("other", 150.0), boot(event("start", 1.0), 1)]
    assert run(wanted, *facts)["test-rule"].outcome == "fired"


def test_a_message_without_tos_joins_every_connection_it_fits() -> None:
    rejected = rule(
        key=["laddr", "tos"],
        clues={
            "down": {"kind": "down", "anchor": True},
            "reject": {"kind": "reject", "anchor": True, "pick": "last"},
        },
        verdict={"confirmed": "down and reject", "possible": "reject"},
    )
    facts = [
        state("down", laddr="a", tos=0),
        state("down", laddr="a", tos=1),
        state("down", laddr="b", tos=0),
        event("reject", 5.0, laddr="a"),
        event("reject", 6.0, laddr="z"),
    ]
    assert outcome(run(rejected, *facts)["test-rule"]) == (
        "fired",
        [(("a", 0), "confirmed"), (("a", 1), "confirmed"), (("z", None), "possible")],
    )


def test_a_threshold_needs_so_many_within_so_long() -> None:
    flapping = rule(
        key=["laddr"],
        clues={"drops": {"kind": "drop", "anchor": True, "at_least": 3, "within": 60}},
        verdict={"confirmed": "drops"},
    )
    slow = [event("drop", t, laddr="a") for t in (0.0, 50.0, 100.0, 150.0)]
    fast = [event("drop", t, laddr="a") for t in (0.0, 500.0, 520.0, 540.0)]
    assert run(flapping, *slow)["test-rule"].outcome == "ruled-out"
    assert run(flapping, *fast)["test-rule"].outcome == "fired"


def test_a_window_may_lie_at_the_start_of_a_state() -> None:
    """An error counts when the wait began, 40 s before the dump, not at the dump."""
    waiting = rule(
        clues={
            "conn": {"kind": "conn", "anchor": True},
            "error": {
                "kind": "error",
                "near": {"of": "conn", "at": "wait_seconds", "before": 5, "after": 5},
            },
        },
        verdict={"confirmed": "conn and error"},
    )
    conn = state("conn", at=1000.0, wait_seconds=40.0)
    assert run(waiting, conn, event("error", 959.0))["test-rule"].outcome == "fired"
    assert run(waiting, conn, event("error", 999.0))["test-rule"].outcome == "ruled-out"


def test_the_other_end_is_found_on_any_host() -> None:
    ends = rule(
        key=["laddr", "faddr"],
        clues={
            "stuck": {"kind": "stuck", "anchor": True},
            "peer": {
                "kind": "reject",
                "join": {"laddr": "faddr", "faddr": "laddr"},
                "any_host": True,
            },
        },
        verdict={"confirmed": "peer", "possible": "stuck"},
    )
    facts = [
        event("stuck", 1.0, laddr="a", faddr="b"),
        event("reject", 2.0, host="node2", laddr="b", faddr="a"),
    ]
    assert outcome(run(ends, *facts)["test-rule"]) == ("fired", [(("a", "b"), "confirmed")])


@pytest.mark.parametrize(("uptime", "wall", "found"), [(9e5, 1030.0, True), (2.0, 5000.0, False)])
def test_a_window_on_another_host_is_one_of_the_wall_clock(
    uptime: float, wall: float, found: bool
) -> None:
    """Their kernels were booted at other times."""
    ends = rule(
        clues={
            "stuck": {"kind": "stuck", "anchor": True},
            "peer": {"kind": "lost", "any_host": True, "near": {"of": "stuck", "after": 60}},
        },
        verdict={"confirmed": "peer"},
    )
    facts = [
        event("stuck", 1.0, wall=1000.0),
        event("lost", uptime, wall=wall, host="node2"),
    ]
    assert (run(ends, *facts)["test-rule"].outcome == "fired") is found


def test_a_join_may_use_a_field_of_an_earlier_clue() -> None:
    owner = rule(
        clues={
            "work": {"kind": "work", "anchor": True},
            "task": {"kind": "task", "join": {"pid": "work.pid"}},
        },
        verdict={"confirmed": "task.comm == 'kworker'"},
    )
    facts = [
        state("work", pid=7),
        state("task", pid=7, comm="kworker"),
        state("task", pid=8, comm="sh"),
    ]
    assert run(owner, *facts)["test-rule"].outcome == "fired"
    assert run(owner, state("work", pid=8), *facts[1:])["test-rule"].outcome == "ruled-out"


def test_a_comparison_with_an_unknown_value_is_not_true() -> None:
    old = rule(
        clues={"task": {"kind": "task", "anchor": True, "when": "wait_seconds > 5"}},
        verdict={"confirmed": "task"},
    )
    assert run(old, state("task", wait_seconds=None))["test-rule"].outcome == "ruled-out"
    assert run(old, state("task"))["test-rule"].outcome == "ruled-out"
    assert run(old, state("task", wait_seconds=6))["test-rule"].outcome == "fired"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("complete", "not-applicable"),
        ("absent", "not-applicable"),
        ("partial", "could-not-run"),
        ("failed", "could-not-run"),
    ],
)
def test_what_could_not_be_read_is_never_clean(status: str, expected: str) -> None:
    simple = rule(clues={"conn": {"kind": "conn", "anchor": True}}, verdict={"confirmed": "conn"})
    coverage = Coverage("conn", "vmcore", status, "because of a test")
    result = run(simple, coverage=(coverage,))["test-rule"]
    assert result.outcome == expected
    assert status == "complete" or "because of a test" in result.reason


def test_a_lost_kind_that_is_no_anchor_matters_only_with_a_candidate() -> None:
    two = rule(
        clues={"conn": {"kind": "conn", "anchor": True}, "error": {"kind": "error"}},
        verdict={"confirmed": "error"},
    )
    lost = (Coverage("error", "vmcore", "failed", "log buffer unreadable"),)
    assert run(two, coverage=lost)["test-rule"].outcome == "not-applicable"
    assert run(two, state("conn"), coverage=lost)["test-rule"].outcome == "could-not-run"


def test_a_general_finding_gives_way_to_the_one_that_explains_its_facts() -> None:
    special = rule(
        id="special",
        clues={"t": {"kind": "task", "anchor": True, "when": "pid == 7"}},
        verdict={"confirmed": "t"},
    )
    general = rule(
        id="general",
        key=["pid"],
        gives_way_to=["*"],
        clues={"t": {"kind": "task", "anchor": True}},
        verdict={"confirmed": "t"},
    )
    both = run([general, special], state("task", pid=7), state("task", pid=8))
    assert outcome(both["general"]) == ("fired", [((8,), "confirmed")])
    alone = run([general, special], state("task", pid=7))
    assert (alone["general"].outcome, alone["general"].reason) == (
        "ruled-out",
        "explained by special",
    )


def test_look_ups_are_by_index_not_by_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times the connections make ten times the look-ups, and each sees only its own facts."""
    seen: list[int] = []
    find = FactStore.find

    def counting(self: FactStore, *args: object) -> object:
        timed = find(self, *args)
        seen.append(len(timed.facts))
        return timed

    monkeypatch.setattr(FactStore, "find", counting)

    def work(count: int) -> int:
        seen.clear()
        facts = [
            event(kind, float(n), laddr=str(n), tos=0)
            for n in range(count)
            for kind in ("drop", "up")
        ]
        run(DROP_WITHOUT_RETURN, *facts)
        back = seen[1::2]
        assert max(back) == 1
        return len(seen)

    assert work(1000) <= 12 * work(100)


def test_an_anchor_may_say_that_its_facts_do_not_tell_the_key() -> None:
    """A task's own address is not the address of the identifier that the diagnosis is about."""
    found = rule(
        key=["address"],
        clues={
            "id": {"kind": "id", "anchor": True},
            "task": {
                "kind": "task",
                "anchor": True,
                "key": {"address": ""},
                "when": "not id or pid == id.pid",
            },
        },
        verdict={"confirmed": "id and task"},
    )
    facts = [state("id", address="0x1", pid=7), state("task", address="0x9", pid=7)]
    assert outcome(run(found, *facts)["test-rule"]) == ("fired", [(("0x1",), "confirmed")])


def test_what_a_finding_did_not_use_does_not_keep_it_from_giving_way() -> None:
    """The other task fits the group too, but the finding rests on the one it matched."""
    special = rule(
        id="special",
        clues={"t": {"kind": "task", "anchor": True, "when": "pid == 7"}},
        verdict={"confirmed": "t"},
    )
    general = rule(
        id="general",
        key=["address"],
        gives_way_to=["special"],
        clues={
            "id": {"kind": "id", "anchor": True, "evidence": False},
            "t": {
                "kind": "task",
                "anchor": True,
                "key": {"address": ""},
                "when": "not id or pid == id.pid",
            },
        },
        verdict={"confirmed": "t"},
    )
    claims_id = rule(
        id="claims", clues={"id": {"kind": "id", "anchor": True}}, verdict={"confirmed": "id"}
    )
    general = rule(**{**msgspec.to_builtins(general), "gives_way_to": ["special", "claims"]})
    facts = [state("id", address="0x1", pid=7), state("task", pid=7), state("task", pid=8)]
    assert run([special, claims_id, general], *facts)["general"].outcome == "ruled-out"


def test_a_window_of_lines_goes_by_the_order_in_one_input_and_not_by_time() -> None:
    back = {"kind": "up", "near": {"of": "drop", "after": None, "lines": True}}
    later_line = rule(
        clues={"drop": {"kind": "drop", "anchor": True}, "back": back}, verdict={"probable": "back"}
    )

    def fires(*facts: Fact) -> bool:
        return bool(run(later_line, *facts)["test-rule"].fired)

    assert fires(event("drop", wall=500.0), event("up", wall=100.0))
    assert not fires(event("up", wall=900.0), event("drop", wall=500.0))
    assert not fires(event("drop", wall=500.0), event("up", wall=100.0, input="other"))
