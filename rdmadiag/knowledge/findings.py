"""The known fixes of a finding, with their status on the kernel of its host."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from rdmadiag.facts.model import Fact
from rdmadiag.facts.store import FactStore, sort_key
from rdmadiag.knowledge.base import Knowledge, load
from rdmadiag.knowledge.explain import links
from rdmadiag.knowledge.kernels import parse_kernel
from rdmadiag.knowledge.match import Matched, match
from rdmadiag.knowledge.status import KernelEvidence, status
from rdmadiag.report.model import FixedInRow, FixRow
from rdmadiag.rules.clues import evidence_of
from rdmadiag.rules.engine import Fired
from rdmadiag.rules.schema import Fix

RELEASE_KINDS = (
    "kernel",
    "kernel.linux_version",
    "kernel.release",
    "kernel.hung_task",
    "kernel.oops",
    "kernel.warning",
    "kernel.soft_lockup",
    "kernel.hard_lockup",
)
"""Kinds of facts with a field ``release``; the earlier ones say it best."""
MATCHES = 3
"""How many matched faults a finding shows."""


class Fixes:
    """Gives the fixes of findings; the knowledge base is read when the first is asked for."""

    def __init__(self, store: FactStore, roots: Sequence[Path] = ()) -> None:
        self._store = store
        self._roots = tuple(roots)
        self.evidence = cache(self._evidence)

    @property
    def _known(self) -> Knowledge:
        return load(self._roots)

    def rows(self, fired: Fired) -> list[FixRow]:
        """Return the fixes that the rule names, then those that the finding's traces match."""
        host = fired.candidate.host
        known = self._known.fixes
        named = [self._row(known[i], host, "") for i in fired.rule.fixes if i in known]
        return [*named, *self._matched(fired, set(fired.rule.fixes))]

    def _matched(self, fired: Fired, named: set[str]) -> list[FixRow]:
        """Return what the traces among the evidence match; hints only where nothing better is known."""
        host = fired.candidate.host
        found: dict[str, Matched] = {}
        for _, _, clue in evidence_of(fired.matches, fired.rule.clues):
            if clue.fact.fields.get("functions"):
                for row in match(clue.fact, self._known, self.evidence(host)):
                    found.setdefault(row.fix.id, row)
        better = [r for r in found.values() if r.rank != "hint" and r.fix.id not in named]
        shown = better[:MATCHES] or ([] if named else list(found.values())[:1])
        return [self._row(r.fix, host, f"{r.rank}: {r.reason}") for r in shown]

    def _row(self, fix: Fix, host: str, match: str) -> FixRow:
        found = status(fix, self.evidence(host))
        return FixRow(
            id=fix.id,
            orabug=", ".join(fix.orabug),
            cve=", ".join(fix.cve),
            commit=fix.commit,
            title=fix.title,
            url=next((address for _, address in links(fix)), ""),
            fixed_in=[FixedInRow(r.tree, r.version) for r in fix.fixed_in if r.version],
            status=found.status,
            why=found.why,
            match=match,
        )

    def _evidence(self, host: str) -> KernelEvidence:
        facts = [
            f for f in self._store.of(RELEASE_KINDS) if f.host == host and f.fields.get("release")
        ]
        best = _best(facts)
        kernel = (
            parse_kernel(best.fields["release"], best.fields.get("version") or "")
            if best
            else parse_kernel("")
        )
        marks = (best.fields.get("marks") or {}) if best else {}
        return KernelEvidence(kernel, marks, self._lines(host))

    def _lines(self, host: str) -> dict[str, list[str]]:
        """Return the log lines of a host by kind of fact."""
        lines: dict[str, list[str]] = defaultdict(list)
        for fact in self._store.collected.facts:
            if fact.host == host and fact.where.line is not None:
                lines[fact.kind].append(fact.text)
        return lines


def _best(facts: Iterable[Fact]) -> Fact | None:
    """Return the fact that knows the kernel best: a dump's own, else the latest of the best kind."""
    ranked = sorted(facts, key=sort_key, reverse=True)
    return min(ranked, key=lambda f: RELEASE_KINDS.index(f.kind), default=None)
