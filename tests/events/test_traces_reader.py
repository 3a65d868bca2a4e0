"""How reports are kept apart, put together, bounded, and found through the prefilter."""

import random
import string
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from logtext import HUNG, KASAN, record

from rdmadiag.logs.starters import STARTERS, may_open
from rdmadiag.logs.stream import PATIENCE
from rdmadiag.logs.traces import MAX_ALIKE, TRACE_FIELDS, TRACE_KINDS, Traces

OTHERS = [
    "ib_srpt receiving failed for ioctx 00000000f00dcafe with status 5",
    "usb 1-1: new high-speed USB device number 3",
    "nvme nvme4: Reconnecting in 10 seconds...",
]


def read(lines, host="node9"):
    reader = Traces("x")
    for number, line in enumerate(lines, 1):
        reader.feed(record(line, number, host))
    return reader.finish()


def shown(facts):
    return [(f.kind, f.fields, f.where.line) for f in facts]


def test_lines_of_others_between_frames_do_not_part_a_report():
    lines = HUNG.strip("\n").splitlines()
    mixed = []
    for number, line in enumerate(lines):
        mixed += [line, f"[ 9000.10{number:04d}] {OTHERS[number % 3]}"]
    [plain], [found] = read(lines), read(mixed)
    assert found.fields == plain.fields


def test_caller_ids_tell_two_reports_apart():
    first = [f"[ 1.0000{n:02d}][ T101] {x}" for n, x in enumerate(("INFO: task a:5 blocked for more than 120 seconds.", "Call Trace:", " schedule+0x1/0x2", " rds_a+0x1/0x2 [rds]", " ret_from_fork+0x1/0x2"))]  # fmt: skip
    second = [f"[ 1.0000{n:02d}][    C3] {x}" for n, x in enumerate(("watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [b:6]", "Call Trace:", " siw_b+0x1/0x2 [siw]", " siw_c+0x1/0x2 [siw]", " ret_from_fork+0x1/0x2"))]  # fmt: skip
    mixed = [line for pair in zip(first, second, strict=True) for line in pair]
    facts = read(mixed)
    assert [(f.kind, f.fields["subsystem"]) for f in facts] == [
        ("kernel.hung_task", "rds"),
        ("kernel.soft_lockup", "siw"),
    ]
    assert all(f.fields["complete"] for f in facts)
    assert facts[0].fields["task"] == "a"


def test_two_hosts_in_one_file_are_apart():
    reader = Traces("x")
    lines = HUNG.strip("\n").splitlines()
    for number, line in enumerate(lines):
        for host in ("node1", "node2"):
            reader.feed(record(line, 2 * number + (host == "node2"), host))
    facts = reader.finish()
    assert [f.host for f in facts] == ["node1", "node2"]
    assert facts[0].fields == facts[1].fields


def test_ten_hung_tasks_in_a_row_are_ten_facts():
    lines = [
        line.replace("3123", str(4000 + n))
        for n in range(10)
        for line in HUNG.strip("\n").splitlines()
    ]
    facts = read(lines)
    assert [f.fields["pid"] for f in facts] == list(range(4000, 4010))
    assert all(f.fields["complete"] for f in facts)


def test_a_report_waits_for_a_bounded_number_of_lines():
    reader = Traces("x")
    reader.feed(record("INFO: task a:1 blocked for more than 120 seconds.", 1))
    assert reader.wants()
    number = 1
    while reader.wants():
        number += 1
        reader.feed(record("an ordinary line", number))
        assert number < PATIENCE + 10
    assert number > PATIENCE / 2
    assert [f.fields["functions"] for f in reader.finish()] == [[]]


def test_a_report_does_not_wait_for_long():
    lines = [
        "[ 10.0] INFO: task a:1 blocked for more than 120 seconds.",
        "[ 300.0]  schedule+0x1/0x2",
    ]
    assert [f.kind for f in read(lines)] == ["kernel.hung_task", "kernel.trace"]


def test_frames_are_bounded():
    [fact] = read(["Oops: 0000 [#1] SMP", *(f" f{n}+0x1/0x2" for n in range(5000))])
    assert len(fact.fields["frames"]) == 256


def test_reports_of_one_kind_are_bounded_and_counted():
    reader = Traces("x")
    for number in range(MAX_ALIKE + 30):
        for line in HUNG.strip("\n").splitlines():
            reader.feed(record(line, number))
    assert len(reader.finish()) == MAX_ALIKE
    assert reader.dropped == 30


def test_streams_are_bounded():
    reader = Traces("x")
    for number in range(2000):
        reader.feed(
            record(
                f"[ 1.0][T{number}] INFO: task a:{number} blocked for more than 120 seconds.",
                number,
            )
        )
    assert len(reader._streams) <= 65
    assert len(reader.finish()) + reader.dropped == 2000


def filtered(lines):
    """Feed only what the prefilter finds and what is asked for."""
    reader = Traces("x")
    for number, line in enumerate(lines, 1):
        this = record(line, number)
        if reader.wants() or any(s.encode() in this.raw for s in STARTERS):
            reader.feed(this)
    return reader.finish()


def test_the_prefilter_changes_nothing():
    generator = random.Random(5)
    pieces = [
        HUNG,
        KASAN,
        "\n".join(OTHERS),
        "INFO: task b:2 blocked for more than 120 seconds.",
        "\n".join(["x y z"] * 80),
    ]
    for _ in range(50):
        lines = [x for p in generator.choices(pieces, k=8) for x in p.strip("\n").splitlines()]
        # stamps would go backwards: without them only the order counts
        lines = [line.split("] ", 1)[-1] for line in lines]
        assert shown(filtered(lines)) == shown(read(lines))


def test_starters_are_long_enough_and_single():
    assert len(set(STARTERS)) == len(STARTERS)
    assert min(map(len, STARTERS)) >= 3
    assert not may_open("Started Session 12 of user root.")


FRAGMENTS = st.sampled_from(
    [
        *HUNG.strip("\n").splitlines(),
        *KASAN.strip("\n").splitlines(),
        *OTHERS,
        *STARTERS,
        *("...", "--", "", " ", "crash> bt", "PID: 1 TASK: 1 CPU: 1 COMMAND: \"x\"", "#0 [ffffc90012345a58] a at ffffffff64", "[ib_core]"),
        *("Kernel panic - not syncing: x", "unreferenced object 0x1 (size 3):", "workqueue a: flags=0x0", "    pending: a, b"),
    ]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(FRAGMENTS, st.text(string.printable, max_size=60)), max_size=60))
def test_any_lines_in_any_order_give_sound_facts(lines):
    lines = [line.replace("\n", " ").replace("\r", " ") for line in lines]
    for fact in read(lines):
        assert fact.kind in TRACE_KINDS
        assert set(fact.fields) <= TRACE_FIELDS
        assert isinstance(fact.fields["complete"], bool)
        assert all(
            isinstance(x, str)
            for x in fact.fields["frames"] + fact.fields["functions"] + fact.fields["modules"]
        )
        assert 1 <= fact.where.line <= len(lines)


@pytest.mark.parametrize("kind", sorted(TRACE_KINDS))
def test_kinds_are_named(kind):
    assert kind == "task" or kind.startswith("kernel.")
