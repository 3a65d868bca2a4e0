"""What is said of a log as a whole, once it was read: facts in their places, coverage, problems."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rdmadiag.facts.model import Collected, Coverage, Fact, Moment, Problem, Where

if TYPE_CHECKING:
    from rdmadiag.logs.clock import Clock
    from rdmadiag.logs.series import Part, Series

SPAN = "log.span"
WHOLESALE = frozenset(("kernel", "imjournal", "systemd-journald", "rsyslogd", "kernel.", "printk"))


def summarize(series: "Series") -> Collected:
    """Return all that was read from *series*."""
    facts = [*series.events.kept.all(), *_traces(series)]
    for fact in facts:
        if fact.time is not None:
            fact.time = series.clock.settle(fact.time, fact.host)
    facts = [f for f in facts if _within(series, f)]
    facts += _spans(series)
    collected = Collected(facts=facts)
    for part in series.parts:
        _describe(series, part)
        collected.inputs.append(part.info)
        collected.coverage += _coverage(series, part)
    return collected


def _traces(series: "Series") -> list[Fact]:
    """Return the facts that traces gave, each in the file it began in."""
    begins = [p.begin for p in series.parts]
    facts = series.traces.finish()
    for fact in facts:
        if fact.time is not None and len(begins) > 1:
            part = series.parts[max(0, bisect_right(begins, fact.time.order) - 1)]
            fact.where = replace(fact.where, input=part.info.path)
    return facts


def _within(series: "Series", fact: Fact) -> bool:
    wall = fact.time.wall if fact.time else None
    since, until = series.options.since, series.options.until
    if wall is None:
        return True
    return (since is None or wall >= since) and (until is None or wall <= until)


def _spans(series: "Series") -> Iterator[Fact]:
    """Yield for each host from when to when the log speaks of it."""
    last = series.parts[-1].info.path
    for host, state in series.clock.hosts.items():
        if state.first is None or state.last is None:
            continue
        first, end = (series.clock.settle(m, host) for m in (state.first, state.last))
        fields = {
            "first": _written(first),
            "last": _written(end),
            "first_uptime_seconds": first.uptime,
            "last_uptime_seconds": end.uptime,
            "boots": end.boot + 1,
        }
        yield Fact(SPAN, fields, Where(last), host, end, "")


def _written(moment: Moment) -> str | None:
    return None if moment.wall is None else datetime.fromtimestamp(moment.wall, UTC).isoformat()


def _describe(series: "Series", part: "Part") -> None:
    info, clock = part.info, series.clock
    hosts = part.hosts - {""}
    info.host = next(iter(hosts)) if len(hosts) == 1 else ""
    info.kernel_release = part.release
    info.start = _settled(clock, part.first)
    info.end = _settled(clock, part.last)
    if not _cannot_tell(series, part):
        info.since, info.until = _at(series.options.since), _at(series.options.until)
    info.problems += _problems(series, part)


def _settled(clock: "Clock", seen: "tuple[Moment, str] | None") -> Moment | None:
    return clock.settle(*seen) if seen else None


def _at(wall: float | None) -> Moment | None:
    return None if wall is None else Moment(wall)


def _problems(series: "Series", part: "Part") -> Iterator[Problem]:
    name, cuts = part.info.path, part.cuts
    if cuts.count:
        kib = series.options.limits.line >> 10
        yield Problem(
            f"{cuts.count} lines are longer than {kib} KiB: the rest of them was not read",
            f"{name}: byte {cuts.first}",
        )
    if part.ambiguous:
        yield Problem("its dates may have the day or the month first: they were not read", name)
    if _cannot_tell(series, part):
        yield Problem("records with no wall clock: --since and --until do not apply to them", name)
    if part.foreign:
        yield Problem(f"a log of {part.foreign}, not of Linux", name, remark=True)
    if part is series.parts[-1]:
        yield from _problems_of_all(series, name)


def _problems_of_all(series: "Series", name: str) -> Iterator[Problem]:
    """Iterate over what concerns all parts; it is said of the last one."""
    if series.clock.guessed_year is not None:
        yield Problem(
            f"dates without a year: {series.clock.guessed_year} was assumed for the last record",
            name,
            remark=True,
        )
    yield from _zone_remarks(series, name)
    if series.events.suppressed:
        yield Problem(
            "messages were suppressed where they were written: "
            + _listed(series.events.suppressed),
            name,
        )
    for kind, count in series.events.kept.dropped().items():
        yield Problem(
            f"{count} facts {kind} between the first and the last ones were left out", name
        )
    if series.traces.dropped:
        yield Problem(
            f"{series.traces.dropped} traces like others were left out", name, remark=True
        )


def _zone_remarks(series: "Series", name: str) -> Iterator[Problem]:
    zone = series.options.zone
    if series.clock.zoneless:
        taken = f"those of {zone.name}" if zone else "UTC (--tz names another)"
        yield Problem(f"times without a zone were taken for {taken}", name, remark=True)
    if zone and series.clock.impossible:
        yield Problem(
            f"some of these times {zone.name} never had, as its clocks went forward: they may be of another zone",
            name,
        )


def _cannot_tell(series: "Series", part: "Part") -> bool:
    bounded = series.options.since is not None or series.options.until is not None
    return (
        bounded and part.info.records > 0 and (part.info.end is None or part.info.end.wall is None)
    )


def _listed(counts: dict[str, int]) -> str:
    most = sorted(counts.items(), key=lambda x: -x[1])[:8]
    return ", ".join(f"{count} by {what}" for what, count in most)


def _coverage(series: "Series", part: "Part") -> Iterator[Coverage]:
    """Yield how far each kind of event was looked for; a log without a kernel's records says nothing of them."""
    if not part.kernel:
        return
    info = part.info
    reason = _gap(series, part)
    dropped = series.events.kept.dropped()
    for kind in sorted(series.kinds):
        why = reason or (f"{dropped[kind]} of them were left out" if kind in dropped else "")
        yield Coverage(kind, info.path, "partial" if why else "complete", why, info.host)


def _gap(series: "Series", part: "Part") -> str:
    damage: Sequence[Problem] = [
        p for p in part.source.problems[: part.read_problems] if not p.remark
    ]
    if damage:
        return damage[0].what
    if part.cuts.count:
        return f"{part.cuts.count} lines are too long to be read whole"
    lost = {k: n for k, n in series.events.suppressed.items() if k in WHOLESALE}
    return "messages were suppressed: " + _listed(lost) if lost else ""
