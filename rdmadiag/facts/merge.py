"""
Bringing facts of several inputs together: one name a host, one number a boot, one fact an occurrence.

A sosreport, a journal export and a dump's own log buffer hold the same records; what they say counts once.
"""

from collections import defaultdict
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from rdmadiag.facts.model import Collected, Fact, Moment

SAME_BOOT_SECONDS = 300.0
"""Two boot times this close are one boot: the kernel's clock drifts from the wall clock over weeks."""
SAME_RECORD_SECONDS = 1.5
"""A syslog stamp has whole seconds; the kernel's stamp of the same record may round to the next."""


def merge(collected: Collected) -> None:
    """Unify host names and boots of *collected*, and drop what several inputs say twice; in place."""
    _name_hosts(collected)
    _number_boots(collected.facts)
    collected.facts = _once(collected.facts)


def _name_hosts(collected: Collected) -> None:
    """
    Give facts of inputs that name no host the only host there is, if there is just one.

    But for inputs whose own addresses are that host's peers': they are of the other end.
    """
    hosts = {f.host for f in collected.facts if f.host} | {
        i.host for i in collected.inputs if i.host
    }
    if len(hosts) != 1:
        return
    only = hosts.pop()
    others = _of_peers(collected.facts)
    for fact in collected.facts:
        if fact.where.input not in others:
            fact.host = fact.host or only
    for info in collected.inputs:
        if info.path not in others:
            info.host = info.host or only
    collected.coverage = [
        c if c.host or c.input in others else replace(c, host=only) for c in collected.coverage
    ]


def _of_peers(facts: Iterable[Fact]) -> set[str]:
    """Return the inputs without a host that speak for addresses which are the named host's peers', and not its own."""
    own: dict[str, set[str]] = defaultdict(set)
    theirs: set[str] = set()
    for fact in facts:
        laddr, faddr = fact.fields.get("laddr"), fact.fields.get("faddr")
        if isinstance(laddr, str) and isinstance(faddr, str):
            own["" if fact.host else fact.where.input].add(laddr)
            theirs |= {faddr} if fact.host else set()
    named = own.pop("", set())
    return {name for name, mine in own.items() if mine & theirs and not mine & named}


def _number_boots(facts: list[Fact]) -> None:
    """Renumber ``Moment.boot`` so that one number is one boot of the host in all inputs."""
    numbers: dict[tuple[str, str, int], int] = {}
    for host, boots in _boots(facts).items():
        starts: list[float] = []
        for key in sorted(boots, key=lambda k: (boots[k] is None, boots[k] or 0.0, k)):
            start = boots[key]
            if (
                start is None
            ):  # no wall clock at all: the boot every such input is taken to speak of
                numbers[host, *key] = (
                    max(len(starts) - 1, 0) if key[1] == 0 else len(starts) + key[1]
                )
                continue
            if not starts or start - starts[-1] > SAME_BOOT_SECONDS:
                starts.append(start)
            numbers[host, *key] = len(starts) - 1
    for fact in facts:
        if fact.time is not None:
            boot = numbers[fact.host, fact.where.input, fact.time.boot]
            if boot != fact.time.boot:
                fact.time = replace(fact.time, boot=boot)


def _boots(facts: Iterable[Fact]) -> dict[str, dict[tuple[str, int], float | None]]:
    """Return the boots that each input speaks of, by host, with their wall time where it is known."""
    boots: dict[str, dict[tuple[str, int], float | None]] = defaultdict(dict)
    for fact in facts:
        time = fact.time
        if time is None:
            continue
        key = (fact.where.input, time.boot)
        known = boots[fact.host].setdefault(key, None)
        if known is None and time.wall is not None and time.uptime is not None:
            boots[fact.host][key] = time.wall - time.uptime
    return boots


def _once(facts: list[Fact]) -> list[Fact]:
    """Return *facts* without those that another input has already given."""
    groups: dict[tuple[str, str, bytes], list[Fact]] = defaultdict(list)
    kept: list[Fact] = []
    for fact in facts:
        if fact.where.line is None or fact.time is None:
            kept.append(fact)
        else:
            groups[fact.kind, fact.host, msgspec.json.encode(fact.fields)].append(fact)
    for group in groups.values():
        kept += group if len({f.where.input for f in group}) == 1 else _merge_group(group)
    return kept


def _merge_group(group: list[Fact]) -> list[Fact]:
    """Return one fact an occurrence; *group* says the same, from more than one input."""
    by_input: dict[str, list[Fact]] = defaultdict(list)
    for fact in group:
        by_input[fact.where.input].append(fact)
    inputs = sorted(by_input.values(), key=_worth, reverse=True)
    kept = list(inputs[0])
    for others in inputs[1:]:
        free = list(kept)
        for fact in others:
            twin = next((k for k in free if _same_time(k.time, fact.time)), None)
            if twin is None:
                kept.append(fact)
            else:
                free.remove(twin)
    return kept


def _worth(facts: list[Fact]) -> tuple[int, int]:
    """Rank an input's telling: one with both clocks is kept before one with one clock."""
    clocks = sum(
        (f.time is not None and f.time.wall is not None)
        + (f.time is not None and f.time.uptime is not None)
        for f in facts
    )
    return clocks // len(facts), len(facts)


def _same_time(left: Moment | None, right: Moment | None) -> bool:
    if left is None or right is None:
        return left is right
    both_up = left.uptime is not None and right.uptime is not None and left.boot == right.boot
    gap = left.since(right)
    return gap is not None and abs(gap) <= (1e-5 if both_up else SAME_RECORD_SECONDS)
