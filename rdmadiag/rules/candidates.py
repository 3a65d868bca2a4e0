"""Which subjects a diagnosis may be about: facts of its anchor clues, grouped by host and key."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from rdmadiag.facts.model import Fact
from rdmadiag.facts.store import FactStore, sort_key, value_of
from rdmadiag.rules.clues import Candidate, clue_kinds
from rdmadiag.rules.conditions import condition
from rdmadiag.rules.schema import Diagnosis

Key = tuple[Any, ...]
MAX_TRIES = 20
"""How many facts of an anchor are tried each by itself: the last ones."""


def candidates(rule: Diagnosis, store: FactStore) -> list[Candidate]:
    """Return the candidates of *rule*, in the order of their first fact; those of one subject are neighbours."""
    groups: dict[tuple[str, Key], dict[str, list[Fact]]] = {}
    vague: list[tuple[str, Key, str, Fact]] = []
    for name, fact in _anchors(rule, store):
        renamed = rule.clues[name].key
        key = tuple(value_of(fact, renamed.get(k, k)) for k in rule.key)
        if None in key:
            vague.append((fact.host, key, name, fact))
        else:
            groups.setdefault((fact.host, key), defaultdict(list))[name].append(fact)
    _place(vague, groups)
    return [
        Candidate(host, dict(zip(rule.key, key, strict=True)), anchors)
        for (host, key), facts in groups.items()
        for anchors in _tries(rule, {n: sorted(f, key=sort_key) for n, f in facts.items()})
    ]


def _tries(rule: Diagnosis, anchors: dict[str, list[Fact]]) -> Iterator[dict[str, list[Fact]]]:
    """Yield *anchors* as they are to be tried: once, or once for each fact of the clue that says so."""
    name = next((n for n in anchors if rule.clues[n].each), None)
    if name is None:
        yield anchors
        return
    for fact in anchors[name][-MAX_TRIES:]:
        yield {**anchors, name: [fact]}


def _anchors(rule: Diagnosis, store: FactStore) -> Iterable[tuple[str, Fact]]:
    for name, clue in rule.clues.items():
        facts = store.of(clue_kinds(clue)) if clue.anchor else []
        if facts:  # a condition is compiled only when there is something to try it on
            holds = condition(clue.when)
            for fact in facts:
                if not clue.when or holds({**fact.fields, "fact": fact.fields}):
                    yield name, fact


def _place(
    vague: list[tuple[str, Key, str, Fact]], groups: dict[tuple[str, Key], dict[str, list[Fact]]]
) -> None:
    """
    Put facts that lack parts of the key (a message without TOS, a stack) to every group they fit, else to one of
    their own.

    The groups are sought once for each distinct host and partial key, so that many such facts stay linear.
    """
    whole = list(groups)
    cache: dict[tuple[str, Key], list[tuple[str, Key]]] = {}
    for host, key, name, fact in vague:
        if (host, key) not in cache:
            fitting = [g for g in whole if g[0] == host and _fits(key, g[1])]
            cache[host, key] = fitting or [(host, key)]
        for group in cache[host, key]:
            groups.setdefault(group, defaultdict(list))[name].append(fact)


def _fits(vague: Key, whole: Key) -> bool:
    return all(v is None or v == w for v, w in zip(vague, whole, strict=True))
