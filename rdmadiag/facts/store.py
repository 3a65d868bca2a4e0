"""Facts by kind, host, key and time: every look-up the rules make goes through an index."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from rdmadiag.facts.model import Collected, Fact, Moment

ANY_HOST = "*"
NEAR_LINES = 20
"""Records so many lines apart are taken to be near in time when a log has no clock."""


def value_of(fact: Fact, name: str) -> Any:
    """Return a field by its dotted name; ``None`` when it is not there."""
    value: Any = fact.fields
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return tuple(value) if isinstance(value, list) else value


class FactStore:
    """All facts of a run; look-ups build the index they need on first use."""

    def __init__(self, collected: Collected) -> None:
        self.collected = collected
        self._by_kind: dict[str, list[Fact]] = defaultdict(list)
        for fact in collected.facts:
            self._by_kind[fact.kind].append(fact)
        self._boots: dict[str, dict[int, tuple[Moment, Moment]]] | None = None
        self._indexes: dict[tuple[str, tuple[str, ...], bool], dict[Any, Timed]] = {}

    def count(self) -> dict[str, int]:
        """Return the number of facts by kind."""
        return {kind: len(facts) for kind, facts in sorted(self._by_kind.items())}

    def of(self, kinds: Iterable[str]) -> list[Fact]:
        """Return all facts of *kinds*."""
        return [fact for kind in kinds for fact in self._by_kind.get(kind, ())]

    def boots(self, host: str) -> dict[int, tuple[Moment, Moment]]:
        """Return the first and the last moment that facts of *host* speak of, by boot."""
        if self._boots is None:
            self._boots = defaultdict(dict)
            for fact in sorted((f for fs in self._by_kind.values() for f in fs), key=sort_key):
                if fact.time is not None and not _bare(fact.time):
                    known = self._boots[fact.host]
                    first, _ = known.get(fact.time.boot, (fact.time, fact.time))
                    known[fact.time.boot] = (first, fact.time)
        return self._boots.get(host, {})

    def find(self, kind: str, host: str, names: Sequence[str], values: Sequence[Any]) -> "Timed":
        """
        Return the facts of *kind* on *host* whose fields *names* are *values*, in the order of time.

        :param host: A host's name, or :data:`ANY_HOST`.
        """
        names = tuple(names)
        anywhere = host == ANY_HOST
        index = self._indexes.get((kind, names, anywhere))
        if index is None:
            index = self._index(kind, names, anywhere)
            self._indexes[kind, names, anywhere] = index
        return index.get((host, *values), _NOTHING)

    def _index(self, kind: str, names: tuple[str, ...], anywhere: bool) -> dict[Any, "Timed"]:
        groups: dict[Any, list[Fact]] = defaultdict(list)
        for fact in self._by_kind.get(kind, ()):
            host = ANY_HOST if anywhere else fact.host
            groups[(host, *(value_of(fact, n) for n in names))].append(fact)
        return {key: Timed(facts) for key, facts in groups.items()}


class Timed:
    """Facts in the order of time, with windows by binary search on each of the two clocks."""

    def __init__(self, facts: list[Fact]) -> None:
        self.facts = sorted(facts, key=sort_key)
        self._hosts = {f.host for f in facts}
        walls = [
            (f.time.wall, i) for i, f in enumerate(self.facts) if f.time and f.time.wall is not None
        ]
        ups = [
            (f.time.boot, f.time.uptime, i)
            for i, f in enumerate(self.facts)
            if f.time and f.time.uptime is not None
        ]
        self._walls = sorted(walls)
        self._ups = sorted(ups)
        self._bare = sorted(
            (f.where.input, f.time.order, i)
            for i, f in enumerate(self.facts)
            if f.time and _bare(f.time)
        )

    def around(self, middle: Fact, before: float | None, after: float | None) -> list[Fact]:
        """Return the facts in a window around *middle*; where there is no clock at all, the order of lines serves."""
        if middle.time is None:
            return []
        if _bare(middle.time):
            return self._lines_around(middle.where.input, middle.time.order, before, after)
        return self.window(self._shared(middle.host, middle.time), before, after)

    def _shared(self, host: str, time: Moment) -> Moment:
        """Return what of a moment on *host* is the same everywhere: kernels of several hosts were booted at other times."""
        return time if self._hosts <= {host} else Moment(time.wall, order=time.order)

    def _lines_around(
        self, source: str, order: int, before: float | None, after: float | None
    ) -> list[Fact]:
        """Take so many lines of *source* for the window; a limit of 0 is none on that side, no limit all."""
        low = float("-inf") if before is None else order - NEAR_LINES * (before > 0)
        high = float("inf") if after is None else order + NEAR_LINES * (after > 0)
        start = bisect_left(self._bare, (source, low, -1))
        stop = bisect_right(self._bare, (source, high, len(self.facts)))
        return [self.facts[i] for _, _, i in self._bare[start:stop]]

    def window(self, at: Moment, before: float | None, after: float | None) -> list[Fact]:
        """
        Return the facts from *before* seconds before *at* to *after* seconds after it.

        ``None`` is no limit. A limit of 0 is strict about the order of the lines when the times are equal.
        """
        chosen: set[int] = set()
        if at.uptime is not None:
            low, high = _limits(at.uptime, before, after)
            start = bisect_left(self._ups, (at.boot, low, -1))
            stop = bisect_right(self._ups, (at.boot, high, len(self.facts)))
            chosen.update(row[2] for row in self._ups[start:stop])
        if at.wall is not None:
            low, high = _limits(at.wall, before, after)
            start = bisect_left(self._walls, (low, -1))
            stop = bisect_right(self._walls, (high, len(self.facts)))
            chosen.update(i for _, i in self._walls[start:stop])
        return [f for i in sorted(chosen) if _inside(f := self.facts[i], at, before, after)]


def _bare(moment: Moment) -> bool:
    return moment.wall is None and moment.uptime is None


def _limits(middle: float, before: float | None, after: float | None) -> tuple[float, float]:
    """Return the ends of a window, a second wider: two clocks of one record differ by their rounding."""
    low = float("-inf") if before is None else middle - before - 1.0
    return low, float("inf") if after is None else middle + after + 1.0


def _inside(fact: Fact, at: Moment, before: float | None, after: float | None) -> bool:
    """Check the window exactly, on the finest clock the two share; in one whole second the order decides."""
    if fact.time is None:
        return False
    gap = fact.time.since(at)
    if gap is None:
        return False
    if gap == 0 and (before == 0 or after == 0):
        later = fact.time.order - at.order
        return (before != 0 or later >= 0) and (after != 0 or later <= 0)
    return (before is None or gap >= -before) and (after is None or gap <= after)


def sort_key(fact: Fact) -> tuple[float, int, float, int]:
    """Order facts of one host by time; those without any time come first."""
    time = fact.time
    if time is None:
        return (float("-inf"), 0, 0.0, 0)
    wall = time.wall if time.wall is not None else float("-inf")
    return (wall, time.boot, time.uptime if time.uptime is not None else 0.0, time.order)


_NOTHING = Timed([])
