"""The known fixes of a finding, with their status on the kernel of its host."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from rdmadiag.facts.model import Fact
from rdmadiag.facts.store import FactStore, sort_key
from rdmadiag.knowledge.base import Knowledge, load
from rdmadiag.knowledge.kernels import parse_kernel
from rdmadiag.knowledge.status import KernelEvidence, status
from rdmadiag.report.model import FixedInRow, FixRow
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
        """Return the fixes that the rule names."""
        wanted = [self._known.fixes[i] for i in fired.rule.fixes if i in self._known.fixes]
        return [self._row(fix, fired.candidate.host, "") for fix in wanted]

    def _row(self, fix: Fix, host: str, match: str) -> FixRow:
        found = status(fix, self.evidence(host))
        return FixRow(
            id=fix.id,
            orabug=", ".join(fix.orabug),
            cve=", ".join(fix.cve),
            commit=fix.commit,
            title=fix.title,
            url=fix.url or url_of(fix),
            fixed_in=[FixedInRow(r.tree, r.version) for r in fix.fixed_in],
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


def url_of(fix: Fix) -> str:
    """Return where the fix can be read about: the upstream commit, the CVE's record, or the first source that is a link."""
    if fix.commit:
        return f"https://git.kernel.org/torvalds/c/{fix.commit}"
    links = [s for s in fix.sources if s.startswith("https://")]
    if links:
        return links[0]
    return f"https://nvd.nist.gov/vuln/detail/{fix.cve[0]}" if fix.cve else ""
