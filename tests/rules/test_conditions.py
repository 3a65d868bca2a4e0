"""Conditions: what they can say, and what nothing in a rule file can do."""

import pytest

from rdmadiag.errors import RuleError
from rdmadiag.rules.conditions import condition, template
from rdmadiag.rules.functions import callee, duration, in_stack
from rdmadiag.rules.sandbox import fields_in, names_in

STACK = [
    "__schedule",
    "schedule",
    "destroy_cm_id",
    "iw_destroy_cm_id",
    "_destroy_id",
    "nvme_rdma_alloc_queue",
]


def test_frames_in_order_with_gaps() -> None:
    assert in_stack(
        STACK, "schedule", "iw_destroy_cm_id", "nvme_rdma_free_queue|nvme_rdma_alloc_queue"
    )
    assert not in_stack(STACK, "iw_destroy_cm_id", "destroy_cm_id")
    assert not in_stack(STACK, "cm_destroy_id")
    assert not in_stack(None, "schedule")
    assert not in_stack("schedule", "schedule")


def test_callee_is_the_next_inner_frame() -> None:
    assert callee(STACK, "destroy_cm_id|iw_cm_disconnect") == "schedule"
    assert callee(STACK[2:], "destroy_cm_id") == ""
    assert callee(STACK, "iw_cm_disconnect") == "?"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.000032, "32 us"),
        (0, "less than 1 s"),
        (0.24, "0.24 s"),
        (41.68, "41.7 s"),
        (636, "11 min"),
        (40000, "11.1 h"),
        (300000, "3.5 days"),
        (None, "an unknown time"),
    ],
)
def test_duration(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_missing_names_are_false_all_the_way_down() -> None:
    assert not condition("drop.ring.in_flight > 0")({"drop": None})
    assert not condition("drop.ring.in_flight")({})
    assert condition("not drop.ring")({})


@pytest.mark.parametrize(
    "attack",
    [
        "''.__class__.__mro__",
        "().__class__.__base__.__subclasses__()",
        "fact.__init__.__globals__",
        "cycler.__init__.__globals__.os.popen('id')",
        "lipsum.__globals__",
        "range(100000000) | list",
        "open('/etc/passwd')",
        "'%s' % fact.__class__",
        "9 ** 9 ** 9 ** 9",
        "('a' * 99999999999) or true",
    ],
)
def test_nothing_in_a_condition_runs_code(attack: str) -> None:
    assert condition(attack)({"fact": {}}) is False


def test_a_condition_that_is_none_names_its_file() -> None:
    with pytest.raises(RuleError, match=r"x\.yaml: clues\.a: not an expression"):
        condition("a ==", "x.yaml: clues.a")


def test_a_text_that_is_none_names_its_file() -> None:
    with pytest.raises(RuleError, match=r"x\.yaml: not a template"):
        template("{{ a", "x.yaml")


def test_texts_take_fields_as_text() -> None:
    assert template("{{ a }}")({"a": "<script>{{ 7 * 7 }}"}) == "<script>{{ 7 * 7 }}"


def test_free_names_of_conditions_and_texts() -> None:
    assert names_in("a.b == 1 and c") == {"a", "c"}
    assert names_in("{% if a %}{{ b.c }}{% endif %}") == {"a", "b"}


def test_a_comparison_with_what_was_not_found_does_not_spoil_the_rest() -> None:
    assert condition("clue.rows > 1 or other")({"clue": None, "other": 1})
    assert condition("clue.column('pid') or other")({"clue": None, "other": 1})
    assert not condition("clue.seconds >= 0")({"clue": None})
    assert template("{% if clue.seen > 1 %}many{% else %}one{% endif %}")({"clue": None}) == "one"


def test_a_sleeping_stack_without_the_scheduler() -> None:
    text = template("{{ f | sleeps_in(2) }}")
    assert text({"f": STACK}) == "destroy_cm_id <- iw_destroy_cm_id"
    assert text({"f": ["__schedule", "schedule"]}) == "__schedule <- schedule"
    assert text({"f": None}) == ""


def test_who_had_memory_allocated() -> None:
    text = template("{{ f | memory_user }}")
    assert text({"f": ["kasan_save_stack", "__kasan_kmalloc", "__kmalloc", "siw_x"]}) == "siw_x"
    assert text({"f": ["kasan_save_stack", "kfree"]}) == ""


def test_what_a_text_takes_of_its_names() -> None:
    assert fields_in("{{ a.b }}{% if c.column('d') and e.f.g %}{% endif %}") == {
        ("a", "b"),
        ("c", "column"),
        ("c", "d"),
        ("e", "f"),
    }


@pytest.mark.parametrize(
    ("release", "known"),
    [
        ("4.14.35-1902.300.11.el7uek.x86_64", True),
        ("4.14.35-1844.2.1.el7uek.x86_64", True),
        ("4.14.35-1844.2.0.el7uek.x86_64", False),
        ("4.14.35-1844.1.99.el7uek.x86_64", False),
        ("4.1.12-124.9.2.el6uek.x86_64", False),
        ("4.1.12-124.24.10.el6uek.x86_64", True),
        ("5.4.17-2102.el8uek.x86_64", True),
        ("4.14.35", False),
        ("6.1.0-56-amd64", False),
        (None, False),
    ],
)
def test_a_release_of_a_series(release: str | None, known: bool) -> None:
    text = "release_at_least(r, '4.1.12-124.24.3', '4.14.35-1844.2.1', '5.4.17-0')"
    assert condition(text)({"r": release}) is known
