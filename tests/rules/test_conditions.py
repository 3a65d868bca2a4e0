"""Conditions: what they can say, and what nothing in a rule file can do."""

import time

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
        (0.0021, "2 ms"),
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
        "fact.__init__.__globals__",
        "lipsum.__globals__",
        "'%s' % fact.__class__",
        "'%999999999d' % 1",
        "'a' * 99999999999",
        "fact.text | map('center', 999999999) | list",
        "fact.text | map(attribute='__class__') | first",
        "who.__code__",
        "fact.text.center.__self__",
    ],
)
def test_nothing_in_a_condition_runs_code(attack: str) -> None:
    assert _result(attack) is False


def _result(source: str) -> bool | str:
    """Return what a condition says of a fact, or why it is none; the fact stays as it is."""
    fact = {"text": "aaaaaaaaaa", "rows": [1, 2, 3]}
    names = {"fact": fact, "gap": lambda *_: 1.0}
    try:
        return condition(source, "x")(names)
    except RuleError as error:
        return str(error)
    finally:
        assert names["fact"] == {"text": "aaaaaaaaaa", "rows": [1, 2, 3]}


@pytest.mark.parametrize(
    ("attack", "what"),
    [
        ("().__class__.__base__.__subclasses__()", ".__subclasses__()"),
        ("cycler.__init__.__globals__.os.popen('id')", ".popen()"),
        ("9 ** 9 ** 9", "pow"),
        ("range(100000000) | list", "range()"),
        ("open('/etc/passwd')", "open()"),
        ("'x'.center(999999999)", ".center()"),
        ("fact.text['center'](999999999)", "such a call"),
        ("'{:>999999999}'.format(1)", ".format()"),
        ("'x'.encode('nope')", ".encode()"),
        ("fact.clear()", ".clear()"),
        ("fact.update({'a': 1})", ".update()"),
        ("fact.rows.append(1)", ".append()"),
        ("namespace(a=1)", "namespace()"),
        ("1e999 | int", "a number beyond all"),
        ("'x' | center(999999999)", "No filter named 'center'"),
        ("[1] | batch(99999999, 'x') | list", "No filter named 'batch'"),
        ("'x' | attr('__class__')", "No filter named 'attr'"),
        ("fact.rows | random", "No filter named 'random'"),
        ("(" * 3000 + "1" + ")" * 3000, "recursion"),
        ("not " * 1900 + "1", "recursion"),
        ("x" + "|default" * 250, "nested parentheses"),
        ("9" * 5000, "4300 digits"),
        ("1" + "~1" * 5000, "longer than 8,000 characters"),
    ],
)
def test_what_is_not_for_rules(attack: str, what: str) -> None:
    assert what in str(_result(attack))


@pytest.mark.parametrize(
    ("attack", "what"),
    [
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "macro"),
        ("{% block a %}{{ self.a() }}{% endblock %}", "block"),
        ("{% include 'x' %}", "include"),
        ("{% import 'x' as x %}", "import"),
        ("{% extends 'x' %}", "extends"),
        ("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "a loop"),
        ("{% for x in y %}" * 3 + "{% endfor %}" * 3, "a loop inside 2 others"),
        ("{% for x in y %}" * 25 + "{% endfor %}" * 25, "a loop inside 2 others"),
        ("{% if 1 %}" * 200 + "{% endif %}" * 200, "indentation"),
        ("{% filter upper %}x{% endfilter %}", "filterblock"),
        ("{% call who() %}{% endcall %}", "callblock"),
        ("{% set x %}x{% endset %}", "assignblock"),
        ("{% set f = fact.text.center %}{{ f(9) }}", "f()"),
        ("{{ fact.rows.pop() }}", ".pop()"),
    ],
)
def test_what_is_not_for_texts(attack: str, what: str) -> None:
    with pytest.raises(RuleError, match="x: not a template") as refusal:
        template(attack, "x")
    assert what in str(refusal.value)


@pytest.mark.parametrize(
    "bomb",
    [
        "{% set x = fact.text %}" + "{% set x = x ~ x %}" * 40 + "{{ x }}",
        "{% set x = fact.text %}" + "{% set x = x + x %}" * 40 + "{{ x }}",
        "{% set x = fact.rows %}" + "{% set x = x + x %}" * 40 + "{{ x | length }}",
        "{% set x = fact.text %}" + "{% set x = x | list | join(x) %}" * 9 + "{{ x }}",
        "{{ " + "fact.text" + " | join('aaaaaaaaaa')" * 40 + " }}",
        "{% set x = 99999999999 %}" + "{% set x = x * x %}" * 40 + "{{ x > 1 }}",
        "{% for x in fact.long %}{% for y in fact.long %}{% endfor %}{% endfor %}",
        "{% for x in fact.long %}{{ fact.long }}{% endfor %}",
        "{% for x in fact.long %}" + "{{ fact.text }}" * 50 + "{% endfor %}",
    ],
)
def test_a_text_may_do_so_much(bomb: str) -> None:
    names = {"fact": {"text": "aaaaaaaaaa", "rows": [1, 2, 3], "long": list(range(5000))}}
    started = time.process_time()
    assert "more than 1,000,000 steps" in template(bomb)(names)
    assert time.process_time() - started < 10
    assert template("{{ fact.text ~ 1 }}")(names) == "aaaaaaaaaa1"


@pytest.mark.parametrize(
    "text",
    [
        "{{ fact.text | truncate(-5) }}",
        "{{ in_stack(fact.rows, 1) }}",
        "{{ callee(fact.rows, none) }}",
        "{{ release_at_least('1.2.3-4', 5) }}",
        "{{ 1 / 0 }}",
        "{{ [1, 'a'] | sort }}",
        "{{ fact.rows | sum(start='') }}",
    ],
)
def test_values_that_do_not_suit_a_text_are_said(text: str) -> None:
    said = template(text, "x")({"fact": {"text": "aaaaaaaaaa", "rows": [1, 2, 3]}})
    assert said.startswith("(text of x could not be made: ")
    assert _result(text.strip("{} ")) is False


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
