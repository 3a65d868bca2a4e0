"""Finding what a clue asks for, for one candidate."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

from rdmadiag.facts.model import Fact, Moment
from rdmadiag.facts.store import ANY_HOST, FactStore, sort_key
from rdmadiag.rules.conditions import condition
from rdmadiag.rules.schema import Clue, Window


class Match:
    """
    A clue that was found, as conditions and texts see it.

    A field of the fact is an item (``drop.reason``); besides there are ``seen`` (how many matched), ``moment``,
    ``rows`` (the fields of each), ``kinds`` (the kind of each), ``line`` (the raw text), ``host`` and ``kind``.
    """

    __slots__ = ("fact", "facts")

    def __init__(self, fact: Fact, facts: Sequence[Fact]) -> None:
        self.fact = fact
        self.facts = facts

    def __getitem__(self, name: str) -> Any:
        return self.fact.fields[name]

    @property
    def seen(self) -> int:
        """Number of facts that matched."""
        return len(self.facts)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Fields of all that matched."""
        return [f.fields for f in self.facts]

    def column(self, name: str) -> list[Any]:
        """Return one field of all that matched."""
        return [f.fields.get(name) for f in self.facts]

    @property
    def moment(self) -> Moment | None:
        """When the chosen one was seen."""
        return self.fact.time

    @property
    def line(self) -> str:
        """Raw text of the chosen one."""
        return self.fact.text

    @property
    def kind(self) -> str:
        """Kind of the chosen one."""
        return self.fact.kind

    @property
    def kinds(self) -> list[str]:
        """Kinds of all that matched."""
        return [f.kind for f in self.facts]

    @property
    def host(self) -> str:
        """Host it was seen on."""
        return self.fact.host


class Candidate(msgspec.Struct):
    """What a diagnosis may be about: the facts of its anchors that share host and key."""

    host: str
    key: dict[str, Any]
    anchors: dict[str, list[Fact]]


@lru_cache(maxsize=1024)
def kinds_of(clue_kind: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the kinds of a clue as a tuple."""
    return (clue_kind,) if isinstance(clue_kind, str) else clue_kind


def clue_kinds(clue: Clue) -> tuple[str, ...]:
    """Return the fact kinds a clue looks at."""
    return kinds_of(clue.kind if isinstance(clue.kind, str) else tuple(clue.kind))


def find(
    name: str, clue: Clue, candidate: Candidate, found: Mapping[str, Any], store: FactStore
) -> Match | None:
    """
    Look for *clue*.

    :param found: Names that its condition may use: the earlier clues, ``subject``, the host's log limits.
    """
    facts = _pool(name, clue, candidate, found, store)
    holds = condition(clue.when)
    facts = [f for f in facts if not clue.when or holds({**found, **f.fields, "fact": f.fields})]
    if clue.at_least > 1:
        facts = _dense(facts, clue.at_least, clue.within)
    if not facts:
        return None
    return Match(_pick(facts, clue, found), facts)


def _pool(
    name: str, clue: Clue, candidate: Candidate, found: Mapping[str, Any], store: FactStore
) -> list[Fact]:
    """Return the facts a clue may choose from: by anchor or index, then by window."""
    if clue.anchor:
        return candidate.anchors.get(name, [])
    join = _join(clue)
    host = ANY_HOST if clue.any_host else candidate.host
    values = [_key_value(there, candidate, found) for there in join.values()]
    if any(v is None for v in values):
        return []
    pools = [store.find(kind, host, tuple(join), values) for kind in clue_kinds(clue)]
    window, middle = _window(clue, found)
    if not clue.near:
        facts = [f for p in pools for f in p.facts]
    elif window and middle and window.lines:
        facts = [f for p in pools for f in p.facts if _in_lines(f, middle, window)]
    elif window and middle:
        facts = [f for p in pools for f in p.around(middle, window.before, window.after)]
    else:
        facts = []
    if window and middle and window.same_boot:
        facts = [f for f in facts if not _rebooted(middle, f)]
    return sorted(facts, key=sort_key) if len(pools) > 1 else facts


def _join(clue: Clue) -> dict[str, str]:
    if clue.join is None:
        return {}
    return clue.join if isinstance(clue.join, dict) else {name: name for name in clue.join}


def _key_value(there: str, candidate: Candidate, found: Mapping[str, Any]) -> Any:
    """Return what a join compares with: a key of the candidate, or ``clue.field`` of an earlier clue."""
    if there in candidate.key:
        return candidate.key[there]
    clue, _, field = there.partition(".")
    value: Any = found.get(clue)
    if value is None or not field:
        return None
    for part in field.split("."):
        try:
            value = value[part]
        except (KeyError, TypeError):
            return None
    return value


def _window(clue: Clue, found: Mapping[str, Any]) -> tuple[Window | None, Fact | None]:
    """Return the first of the clue's windows whose middle is known, and a fact at that middle."""
    windows = clue.near if isinstance(clue.near, list) else [clue.near] if clue.near else []
    for window in windows:
        middle = _middle(window, found.get(window.of))
        if middle is not None:
            return window, middle
    return None, None


def _middle(window: Window, match: Match | None) -> Fact | None:
    """Return the fact of *match*, set back by the seconds that the field *at* holds."""
    if match is None or match.moment is None:
        return None
    if not window.at:
        return match.fact
    age = match.fact.fields.get(window.at)
    if not isinstance(age, int | float):
        return None
    time = match.moment
    earlier = replace(
        time,
        wall=None if time.wall is None else time.wall - age,
        uptime=None if time.uptime is None else time.uptime - age,
    )
    return replace(match.fact, time=earlier)


def _in_lines(fact: Fact, middle: Fact, window: Window) -> bool:
    """Tell whether a fact stands on the side of *middle* that the window opens to, in the same input."""
    if fact.time is None or middle.time is None or fact.where.input != middle.where.input:
        return False
    later = fact.time.order - middle.time.order
    return (later > 0 and window.after != 0) or (later < 0 and window.before != 0)


def _rebooted(first: Fact, second: Fact) -> bool:
    """Tell whether two facts of one host are of different boots; unknown counts as no."""
    if first.host != second.host or first.time is None or second.time is None:
        return False
    told = first.where.input == second.where.input or (
        first.time.uptime is not None and second.time.uptime is not None
    )
    return told and first.time.boot != second.time.boot


def _dense(facts: list[Fact], at_least: int, within: float | None) -> list[Fact]:
    """Return *facts* if *at_least* of them lie within so many seconds somewhere, else none."""
    if len(facts) < at_least:
        return []
    if within is None:
        return facts
    for first, last in zip(facts, facts[at_least - 1 :], strict=False):
        gap = last.time.since(first.time) if first.time and last.time else None
        if gap is not None and gap <= within:
            return facts
    return []


def _pick(facts: list[Fact], clue: Clue, found: Mapping[str, Any]) -> Fact:
    if clue.pick == "last":
        return facts[-1]
    _, middle = _window(clue, found)
    if clue.pick == "nearest" and middle is not None and middle.time is not None:
        at = middle.time
        return min(facts, key=lambda f: _distance(f, at))
    return facts[0]


def _distance(fact: Fact, at: Moment) -> tuple[float, int]:
    """Return how far a fact is, in seconds and then in lines."""
    if fact.time is None:
        return float("inf"), 0
    gap = fact.time.since(at)
    return abs(gap) if gap is not None else float("inf"), abs(fact.time.order - at.order)


def evidence_of(
    matches: Mapping[str, Match | None], clues: Mapping[str, Clue]
) -> Iterator[tuple[str, Clue, Match]]:
    """Return the clues that were found and are to be shown."""
    for name, clue in clues.items():
        match = matches.get(name)
        if match is not None and clue.evidence:
            yield name, clue, match
