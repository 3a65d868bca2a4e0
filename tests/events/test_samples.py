"""The samples inside every shipped event rule."""

import pytest

from rdmadiag.data import data_dir
from rdmadiag.logs.compiled import event_files
from rdmadiag.logs.samples import check_rule
from rdmadiag.rules.load import read_yaml
from rdmadiag.rules.schema import EventFile

RULES = [
    pytest.param(rule, f"{path.name}: events[{number}]", id=f"{path.stem}-{number}-{rule.event}")
    for path in event_files(data_dir("rules"))
    for number, rule in enumerate(read_yaml(path, EventFile).events)
]


@pytest.mark.parametrize(("rule", "where"), RULES)
def test_samples(vocabulary, rule, where):
    assert list(check_rule(vocabulary, rule, where)) == []


@pytest.mark.parametrize(("rule", "where"), RULES)
def test_the_prefilter_finds_every_sample(vocabulary, rule, where):
    for sample in rule.samples.match:
        raw = " ".join(sample.text.split()).encode()
        hits = [n for n, literal in enumerate(vocabulary.literals) if literal in raw]
        companions = [vocabulary.companions[n] for n in hits]
        assert any(not c or any(x in raw for x in c) for c in companions), sample.text


@pytest.mark.parametrize(("rule", "where"), RULES)
def test_rules_say_what_they_mean(rule, where):
    assert rule.meaning.endswith("."), where
    assert rule.event.startswith("hca.") == {"driver", "device"}.issubset(names(rule)), where


def names(rule):
    from rdmadiag.logs.compiler import compile_pattern

    return {*compile_pattern(rule, "")[1], *rule.set}


def test_every_table_is_used():
    files = [read_yaml(path, EventFile) for path in event_files(data_dir("rules"))]
    used = {
        t for f in files for rule in f.events for t in rule.values.values() if isinstance(t, str)
    }
    assert {name for f in files for name in f.tables} - used == set()
