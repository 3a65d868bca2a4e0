"""``rdmadiag diagnose``: read dumps and logs, and report what is wrong."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rdmadiag.commands import Result
from rdmadiag.commands.report import Output, finish
from rdmadiag.errors import UserError
from rdmadiag.facts.model import Collected
from rdmadiag.facts.store import FactStore
from rdmadiag.gather import Gatherer, unread
from rdmadiag.logs.options import LogOptions
from rdmadiag.report.build import FixRows, build_report
from rdmadiag.report.model import FixRow, Report
from rdmadiag.rules.engine import Fired, run_rules
from rdmadiag.rules.load import load_diagnoses, rule_dirs, rules_version
from rdmadiag.rules.schema import Diagnosis

if TYPE_CHECKING:
    from rdmadiag.logs.zones import Zone


class Request(msgspec.Struct, frozen=True):
    """
    What to read, and which rules to run over it.

    :ivar rules: Folders of ``--rules``.
    :ivar only: Ids of the only diagnoses to run; empty: all.
    :ivar zone: Of times that give none; ``None``: UTC.
    """

    inputs: Sequence[str]
    rules: Sequence[Path] = ()
    debuginfo: Sequence[Path] = ()
    since: str | None = None
    until: str | None = None
    only: Sequence[str] = ()
    ignore: Sequence[str] = ()
    jobs: int = 0
    zone: str | None = None


def diagnose(request: Request, output: Output) -> Result:
    """
    Diagnose *request*.

    :returns: The report as text, and the exit status: 2 when one of the inputs could not be read at all.
    """
    report, lost = _diagnosed(request)
    text, status = finish(report, output)
    return Result(text, 2 if lost else status, said="; ".join(lost))


def make_report(request: Request) -> Report:
    """
    Read the inputs, run the rules and return the report.

    :raises UserError: If no input can be read, or an option names something that is not there.
    """
    return _diagnosed(request)[0]


def _diagnosed(request: Request) -> tuple[Report, list[str]]:
    """Return the report, and what was named and could not be read."""
    clock = Clock()
    rules = choose(load_diagnoses(rule_dirs(request.rules)), request.only, request.ignore)
    options = log_options(request)
    collected = Gatherer(request.rules, request.debuginfo, options).gather(request.inputs)
    lost = unread(collected.inputs, request.inputs)
    return conclude(collected, rules, request.rules, clock), lost


class Clock:
    """When a run began."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.started = datetime.now(UTC).isoformat(timespec="seconds")

    def seconds(self) -> float:
        """Return how long it has taken so far."""
        return time.monotonic() - self._began


def conclude(
    collected: Collected, rules: dict[str, Diagnosis], roots: Sequence[Path], clock: Clock
) -> Report:
    """
    Run *rules* over what was collected and return the report.

    :param roots: Folders of ``--rules``.
    """
    store = FactStore(collected)
    results = run_rules(rules, store)
    version = rules_version(rule_dirs(roots))
    rows = _fixes(store, roots) if any(r.fired for r in results) else _no_fix
    return build_report(store, results, rows, clock.started, clock.seconds(), version)


def _fixes(store: FactStore, roots: Sequence[Path]) -> FixRows:
    from rdmadiag.knowledge.findings import Fixes

    return Fixes(store, roots).rows


def _no_fix(_fired: Fired) -> list[FixRow]:
    return []


def log_options(request: Request) -> LogOptions:
    """
    Return how the logs of *request* are read.

    :raises UserError: If a time or the zone is none, or no time lies between the two.
    """
    zone = None
    if request.zone is not None:
        from rdmadiag.logs.zones import zone_of

        zone = zone_of(request.zone)
    since = moment(request.since, zone)
    until = moment(request.until, zone, last=True)
    if since is not None and until is not None and since > until:
        raise UserError(f"--since {request.since} is later than --until {request.until}")
    return LogOptions(since, until, zone=zone, jobs=request.jobs)


def moment(text: str | None, zone: "Zone | None" = None, *, last: bool = False) -> float | None:
    """
    Return a time of the command line as seconds since the epoch.

    :param zone: Of a time that gives none, as of log stamps; ``None``: UTC.
    :param last: Of a time that the zone's clocks showed twice, take the second one.
    :raises UserError: If it is no time.
    """
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise UserError(
            f"{text!r} is no time; write it as 2026-01-31 or 2026-01-31T23:59:58"
        ) from error
    if time.tzinfo:
        return time.timestamp()
    written = time.replace(tzinfo=UTC).timestamp()
    if zone is None:
        return written
    return zone.last_utc(written) if last else zone.utc(written)


def choose(
    rules: dict[str, Diagnosis], only: Sequence[str], ignore: Sequence[str]
) -> dict[str, Diagnosis]:
    """
    Return the rules that ``--only`` and ``--ignore`` leave.

    :raises UserError: If one of them names no diagnosis.
    """
    for name in (*only, *ignore):
        if name not in rules:
            raise UserError(f"there is no diagnosis {name!r}; 'rdmadiag rules list' shows them")
    return {i: r for i, r in rules.items() if (not only or i in only) and i not in ignore}
