"""One trial: a damaged dump is diagnosed in a process of its own, and compared with the undamaged one."""

import multiprocessing
import traceback
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path

from rdmadiag.commands.shell import examine
from rdmadiag.errors import UserError
from rdmadiag.facts.model import Where
from rdmadiag.report.model import Report
from rdmadiag.vmcore.collect.run import collect_dump
from rdmadiag.vmcore.dump import open_dump

from .damage import Damage, damaged

SAMPLES = Path(__file__).parents[2] / "sample_dumps"
LIMIT_SECONDS = 10


@dataclass
class Seen:
    """
    What a report says.

    :ivar findings: (id, subject) of those above info.
    :ivar subsumed: Ids of those that give way to a more telling one.
    :ivar told: Whether it says that something could not be read.
    :ivar refused: Why nothing could be read at all.
    :ivar broke: Traceback, or that it took too long.
    """

    findings: set[tuple[str, str]] = field(default_factory=set)
    subsumed: set[str] = field(default_factory=set)
    told: bool = False
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
        {c.id for c in report.checks if c.reason.startswith("explained by")},
        any(c.outcome == "could-not-run" for c in report.checks)
        or any(one.problems for one in report.inputs),
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
        return ours.recv() if ours.poll(LIMIT_SECONDS) else Seen(broke="took too long")
    except EOFError:
        return Seen(broke="the process died")
    finally:
        child.kill()
        child.join()
        (folder / f"vmcore-{damage.seed}").unlink(missing_ok=True)


def _child(damage: Damage, folder: Path, out: Connection) -> None:
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
    def invented(self) -> set[tuple[str, str]]:
        """Findings that the undamaged dump does not have, not even for a more telling one to explain."""
        whole = undamaged(self.damage.sample)
        known = {name for name, _ in whole.findings} | whole.subsumed
        return {one for one in self.seen.findings if one[0] not in known}

    @property
    def lost(self) -> bool:
        """Whether a finding of the undamaged dump is not there."""
        return not self.seen.refused and bool(
            undamaged(self.damage.sample).findings - self.seen.findings
        )

    @property
    def silent(self) -> bool:
        """Whether a finding is lost and nothing says that something could not be read."""
        return self.lost and not self.seen.told
