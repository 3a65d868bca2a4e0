"""One trial: a damaged dump is diagnosed in a process of its own, and compared with the undamaged one."""

import multiprocessing
import resource
import traceback
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path

from rdmadiag.commands.shell import examine
from rdmadiag.errors import UserError
from rdmadiag.facts.model import Where
from rdmadiag.report.model import Report
from rdmadiag.report.view import EXPLAINED
from rdmadiag.rules.engine import MORE
from rdmadiag.vmcore.collect.run import collect_dump
from rdmadiag.vmcore.dump import open_dump

from .damage import Damage, damaged

SAMPLES = Path(__file__).parents[2] / "sample_dumps"
LIMIT_SECONDS = 10
"""Of the processor; a busy machine may take many times as long."""


@dataclass
class Seen:
    """
    What a report says.

    :ivar findings: (id, subject) of those above info.
    :ivar explained: Of diagnoses that give way to more telling ones, which these are.
    :ivar unsure: Diagnoses that say that they could not look at everything.
    :ivar refused: Why nothing could be read at all.
    :ivar broke: Traceback, or that it took too long.
    """

    findings: set[tuple[str, str]] = field(default_factory=set)
    explained: dict[str, set[str]] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)
    refused: str = ""
    broke: str = ""


@cache
def places_of(sample: str) -> list[Where]:
    """Return the objects of a dump that facts are about."""
    dump = open_dump(SAMPLES / sample / "vmcore")
    facts = collect_dump(dump).facts
    wheres = [fact.where for fact in facts if fact.where.address and fact.kind != "module"]
    return [where for where in wheres if where.type and where.type.startswith("struct ")]


@cache
def undamaged(sample: str) -> Seen:
    """Return what is said of a dump as it is."""
    return _seen(examine(open_dump(SAMPLES / sample / "vmcore")))


def _seen(report: Report) -> Seen:
    return Seen(
        {(f.id, str(sorted(f.subject.items()))) for f in report.findings if f.severity != "info"},
        {
            c.id: set(c.reason.removeprefix(EXPLAINED).split(", "))
            for c in report.checks
            if c.reason.startswith(EXPLAINED)
        },
        {c.id for c in report.checks if c.outcome == "could-not-run" or MORE in c.reason},
    )


def run(damage: Damage, folder: Path) -> Seen:
    """Diagnose a damaged dump, for no longer than the limit."""
    undamaged(damage.sample)
    places_of(damage.sample)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(damage, folder, theirs))
    child.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(30 * LIMIT_SECONDS) else Seen(broke="took too long")
    except EOFError:
        return Seen(broke="the process died, or took too long")
    finally:
        child.kill()
        child.join()
        (folder / f"vmcore-{damage.seed}").unlink(missing_ok=True)


def _child(damage: Damage, folder: Path, out: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_SECONDS, LIMIT_SECONDS))
    try:
        path = SAMPLES / damage.sample / "vmcore"
        seen = _seen(examine(damaged(damage, path, places_of(damage.sample), folder)))
    except UserError as error:
        seen = Seen(refused=str(error))
    except BaseException:  # noqa: BLE001 - it is what the trial is for
        seen = Seen(broke=traceback.format_exc())
    out.send(seen)


@dataclass
class Verdict:
    """What is wrong with the outcome of a trial; empty where nothing is."""

    damage: Damage
    seen: Seen

    @property
    def lost(self) -> set[tuple[str, str]]:
        """Findings of the undamaged dump that are not there."""
        if self.seen.refused or self.seen.broke:
            return set()
        return undamaged(self.damage.sample).findings - self.seen.findings

    @property
    def silent(self) -> set[tuple[str, str]]:
        """Those of them whose own diagnosis does not say that it could not look at everything."""
        return {one for one in self.lost if one[0] not in self.seen.unsure}

    @property
    def new(self) -> set[tuple[str, str]]:
        """Findings of a diagnosis that the undamaged dump has none of."""
        known = {name for name, _ in undamaged(self.damage.sample).findings}
        return {one for one in self.seen.findings if one[0] not in known}

    @property
    def weaker(self) -> set[tuple[str, str]]:
        """Those of them that say a part of what a finding says that is lost, and is said to be: they gave way to it."""
        explained = undamaged(self.damage.sample).explained
        lost = {name for name, _ in self.lost}
        return {one for one in self.new if explained.get(one[0], set()) & lost & self.seen.unsure}

    @property
    def invented(self) -> set[tuple[str, str]]:
        """The others."""
        return self.new - self.weaker
