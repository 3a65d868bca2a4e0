"""What the loader of event rules refuses, and says about it; overriding, compiling, time limits."""

import msgspec
import pytest
import yaml

from rdmadiag.data import data_dir
from rdmadiag.errors import RuleError
from rdmadiag.gather import Gatherer
from rdmadiag.logs.compiled import compile_events, read_compiled
from rdmadiag.logs.samples import check_samples
from rdmadiag.logs.timed import GIVEN_UP, PATIENCE
from rdmadiag.logs.vocabulary import Vocabulary
from rdmadiag.rules.precompiled import COMPILED

RULE = {
    "event": "hca.tilted",
    "subsystem": "test",
    "meaning": "It leans.",
    "pattern": "(?P<driver>tilter) %{device:device}: tilted by %{int:angle} degrees",
    "samples": {
        "match": [{"text": "tilter 0000:01:00.0: tilted by 12 degrees", "fields": {"angle": 12}}],
        "miss": ["tilter 0000:01:00.0: upright"],
    },
}


@pytest.fixture
def rules(tmp_path):
    """Return a function that writes an event file and gives its folder of rules."""

    def write(*rules, **content):
        (tmp_path / "events").mkdir(exist_ok=True)
        text = yaml.safe_dump({"events": list(rules), **content}, sort_keys=False)
        (tmp_path / "events" / "mine.yaml").write_text(text)
        return tmp_path

    return write


def test_a_rule_of_ones_own(rules):
    [found] = Vocabulary.load([rules(RULE)]).match("tilter 0000:01:00.0: tilted by 7 degrees")
    assert found.rule.event == "hca.tilted"
    assert found.fields == {"driver": "tilter", "device": "0000:01:00.0", "angle": 7}


def without(name):
    return {**RULE, "samples": {**RULE["samples"], name: []}}


CATASTROPHIC = [
    r"tilted (?:a+)+b",
    r"tilted (?P<x>\w+\s*)*$",
    r"tilted (?:(?:x|y)*z?)*!",
    r"tilted (?:ab{1,}){2,}",
]
BAD = {
    "no line that must match": (without("match"), "events[0].samples.match"),
    "no line that must not match": (without("miss"), "events[0].samples.miss"),
    "required field `meaning`": ({k: v for k, v in RULE.items() if k != "meaning"}, "events[0]"),
    "unknown field `literals`": ({**RULE, "literals": ["x"]}, "events[0]"),
    "Expected `str": ({**RULE, "meaning": 3}, "events[0].meaning"),
    "Invalid enum value": ({**RULE, "fields": {"driver": "integer"}}, "events[0].fields"),
    "unknown type 'intt'": ({**RULE, "pattern": "tilted %{intt:x}"}, "events[0].pattern"),
    "the name 'x' is used twice": (
        {**RULE, "pattern": "tilted %{int:x} %{int:x}"},
        "events[0].pattern",
    ),
    "missing )": ({**RULE, "pattern": "tilted (x"}, "events[0].pattern"),
    "longer than": ({**RULE, "pattern": "tilted " * 400}, "events[0].pattern"),
    "no fixed part": (
        {**RULE, "pattern": r"\w+: (?:tilted|leant) (?P<angle>\d+)"},
        "events[0].pattern",
    ),
    "no fixed part of 4": ({**RULE, "literal": "by"}, "events[0].literal"),
    "no line with the literal": (
        {**RULE, "literal": ["tilted", "leant over"]},
        "events[0].samples.match",
    ),
    "the pattern has no such group": (
        {**RULE, "fields": {"speed": "int"}},
        "events[0].fields.speed",
    ),
    "the rule has no such field": (
        {**RULE, "values": {"speed": {"1": "slow"}}},
        "events[0].values.speed",
    ),
    "the rule has no such fields": (
        {**RULE, "difference": {"gap": ["a", "b"]}},
        "events[0].difference.gap",
    ),
    "is not a name": ({**RULE, "event": "HCA error"}, "events[0].event"),
}


@pytest.mark.parametrize("says", BAD)
def test_refusals(rules, says):
    rule, key = BAD[says]
    with pytest.raises(RuleError) as refusal:
        Vocabulary.load([rules(rule)])
    text = str(refusal.value)
    assert says in text
    assert "mine.yaml: " in text
    assert key in text


@pytest.mark.parametrize("pattern", CATASTROPHIC)
def test_catastrophic_patterns_are_refused(rules, pattern):
    with pytest.raises(
        RuleError, match=r"mine.yaml: events\[0\].pattern: a repeat inside a repeat"
    ):
        Vocabulary.load([rules({**RULE, "pattern": pattern})])


@pytest.mark.parametrize(
    "pattern", [r"tilted (?:ab+c)?d", r"tilted (?:ab){1,3} by \d+", r"tilted [(a+)+] x+"]
)
def test_harmless_repeats_are_not(rules, pattern):
    Vocabulary.load([rules({**RULE, "pattern": pattern})])


SLOW = ".*.*.*.*.*.*.*.*.*.*.*.*=.*degrees"
SLOW_RULE = {
    **RULE,
    "pattern": f"tilter {SLOW}",
    "literal": "tilter ",
    "samples": {"match": [{"text": "tilter a=degrees"}], "miss": ["x"]},
}
SLOW_DRIVER = {
    "tilter": {
        "subsystem": "test",
        "prefix": "tilter",
        "literals": ["tilter"],
        "own": f"tilter {SLOW}",
    }
}


@pytest.mark.parametrize(
    ("given", "rule"),
    [({"events": [SLOW_RULE]}, "hca.tilted"), ({"drivers": SLOW_DRIVER}, "rdma.message")],
)
def test_a_pattern_that_is_slow_all_the_same_is_given_up(rules, monkeypatch, given, rule):
    monkeypatch.setattr("rdmadiag.logs.timed.TIMEOUT", 0.05)
    vocabulary = Vocabulary.load([rules(*given.pop("events", ()), **given)])
    for n in range(200):  # each of them would take a while
        [found] = vocabulary.match(f"tilter {n}" + "a b " * 2000)
        assert (found.rule.event, found.fields) == (GIVEN_UP, {"rule": rule})
    assert vocabulary.timeouts == PATIENCE


def test_what_was_given_up_is_said(rules, monkeypatch, tmp_path):
    monkeypatch.setattr("rdmadiag.logs.timed.TIMEOUT", 0.05)
    log = tmp_path / "messages"
    line = "Sep 29 22:32:33 n1 kernel: tilter " + "a b " * 2000
    log.write_text(f"{line}\n" * 20 + "Sep 29 22:32:34 n1 kernel: tilter a=degrees\n")
    found = Gatherer([rules(SLOW_RULE)]).gather([str(log)])
    assert "the pattern of hca.tilted takes too long: not tried on 21 messages" in [
        p.what for p in found.inputs[0].problems
    ]
    assert [c.status for c in found.coverage if c.kind == "hca.tilted"] == ["partial"]
    assert GIVEN_UP not in {f.kind for f in found.facts}


@pytest.mark.parametrize("pattern", ["(" * 900 + "tilted" + ")" * 900, "tilted(?<!"])
def test_a_pattern_that_does_not_compile_is_named(rules, pattern):
    with pytest.raises(RuleError, match=r"events\[0\].pattern"):
        Vocabulary.load([rules({**RULE, "pattern": pattern, "literal": "tilted"})])
    bad = {"tilter": {"subsystem": "test", "prefix": pattern, "literals": ["tilter"]}}
    with pytest.raises(RuleError, match=r"drivers.tilter.prefix"):
        Vocabulary.load([rules(drivers=bad)])


def test_broken_yaml_names_file_and_line(tmp_path):
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "mine.yaml").write_text("events:\n- event: [\n")
    with pytest.raises(RuleError, match=r"mine.yaml:\d+: not YAML"):
        Vocabulary.load([tmp_path])


def test_unknown_table_and_driver(rules):
    with pytest.raises(RuleError, match="no table 'angles'"):
        Vocabulary.load([rules({**RULE, "values": {"angle": "angles"}})])
    with pytest.raises(RuleError, match="no driver 'tilter'"):
        Vocabulary.load(
            [
                rules(
                    messages={
                        "tilter.c": {"driver": "tilter", "formats": {"QP %d has tilted": "f"}}
                    }
                )
            ]
        )


def test_drivers_need_literals(rules):
    bad = {"tilter": {"subsystem": "test", "prefix": "tilter: ", "literals": ["ti"]}}
    with pytest.raises(RuleError, match=r"drivers.tilter.literals"):
        Vocabulary.load([rules(drivers=bad)])
    bad["tilter"] |= {"literals": ["tilter"], "own": "(x+)+"}
    with pytest.raises(RuleError, match=r"drivers.tilter.own: a repeat"):
        Vocabulary.load([rules(drivers=bad)])


def test_tables_decode(rules):
    found = rules({**RULE, "values": {"angle": "angles"}}, tables={"angles": {"7": "a little"}})
    vocabulary = Vocabulary.load([found])
    assert (
        vocabulary.match("tilter x: tilted by 7 degrees")[0].fields["angle_meaning"] == "a little"
    )
    assert "angle_meaning" not in vocabulary.match("tilter x: tilted by 8 degrees")[0].fields


def test_later_rules_replace_and_go_first(rules):
    pattern = "RDS/IB: connection <%{ip:laddr},%{ip:faddr},%{int:tos}> dropped due to 'qp event'"
    mine = {
        **RULE,
        "event": "rds.qp_event_drop",
        "pattern": pattern,
        "literal": "dropped due to",
        "samples": {
            "match": [
                {"text": "RDS/IB: connection <10.0.0.1,10.0.0.2,0> dropped due to 'qp event'"}
            ],
            "miss": ["x"],
        },
    }
    dirs = [data_dir("rules"), rules(mine, RULE)]
    vocabulary = Vocabulary.load(dirs)
    line = "RDS/IB: connection <10.0.0.1,10.0.0.2,0> dropped due to '{}'"
    assert [m.rule.event for m in vocabulary.match(line.format("qp event"))] == [
        "rds.qp_event_drop"
    ]
    assert [m.rule.event for m in vocabulary.match(line.format("hb timeout"))] == [
        "rds.connection_dropped"
    ]
    again = Vocabulary.load([dirs[1], rules({**RULE, "meaning": "Again."})])
    assert [m.rule.meaning for m in again.match("tilter x: tilted by 7 degrees")] == ["Again."]


def test_check_tells_samples_that_go_wrong(rules):
    wrong = {
        **RULE,
        "samples": {
            "match": [
                {"text": "tilter a: tilted by 3 degrees", "fields": {"angle": 4, "speed": 1}},
                {"text": "tilter a: leant by 3 degrees"},
            ],
            "miss": ["tilter a: tilted by 5 degrees"],
        },
    }
    faults = [f.rpartition("mine.yaml: ")[2] for f in check_samples([rules(wrong)])]
    assert faults == [
        "events[0].samples.match[0].fields.angle: is 3, not 4",
        "events[0].samples.match[0].fields.speed: is None, not 1",
        "events[0].samples.match[1]: not matched by this rule, but by nothing: tilter a: leant by 3 degrees",
        "events[0].samples.miss[0]: matched: tilter a: tilted by 5 degrees",
    ]


def test_compiled_rules_are_used_while_they_fit(rules, monkeypatch):
    folder = rules(RULE)
    monkeypatch.setattr("rdmadiag.rules.precompiled.data_dir", lambda _name: folder)
    (folder / "events" / COMPILED).write_bytes(compile_events(folder))
    compiled = read_compiled(folder)
    assert [r.event for r in compiled.rules] == ["hca.tilted"]
    rules({**RULE, "event": "hca.leaning"})
    monkeypatch.setattr("rdmadiag.rules.precompiled._digests", {})
    assert read_compiled(folder) is None
    assert Vocabulary.load([folder]).event_kinds == {"hca.leaning", "rdma.message"}


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"\n[]", b"0" * 32 + b"\n[[], [], [], {}]", b"\xff"]
)
def test_a_damaged_compiled_file_is_not_used(rules, content, monkeypatch):
    folder = rules(RULE)
    monkeypatch.setattr("rdmadiag.rules.precompiled.data_dir", lambda _name: folder)
    (folder / "events" / COMPILED).write_bytes(content)
    assert read_compiled(folder) is None
    assert "hca.tilted" in Vocabulary.load([folder]).event_kinds


def test_compiled_and_yaml_give_the_same(rules):
    from rdmadiag.logs.compiler import compile_rules

    compiled = compile_rules(data_dir("rules"))
    again = msgspec.json.decode(msgspec.json.encode(compiled), type=type(compiled))
    assert again == compiled


def test_a_folder_without_events_gives_nothing(tmp_path):
    assert Vocabulary.load([tmp_path]).event_kinds == {"rdma.message"}
