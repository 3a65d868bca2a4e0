"""
Which known fault a trace, a stack or a log line is.

A stack is laid over the signatures in order, gaps allowed; what counts is how much of a signature's weight is
found, not how many frames. One common frame is never enough, an entry of which only the title is known never
gives more than a hint, and a fault that this kernel cannot have is put last.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rdmadiag.facts.model import Fact
from rdmadiag.knowledge.base import Knowledge
from rdmadiag.knowledge.frames import Weights, own, slot
from rdmadiag.knowledge.lines import LineIndex
from rdmadiag.knowledge.ranking import Clues, Matched, Rank, judge
from rdmadiag.knowledge.stacks import SignatureStack, fit, signature_names, signature_stacks
from rdmadiag.knowledge.status import KernelEvidence
from rdmadiag.rules.schema import Fix, LogLine, Signature

__all__ = ("Matched", "Matcher", "Rank", "match", "matcher_of")

_WATCHED = frozenset(("kernel.hung_task", "kernel.soft_lockup", "kernel.hard_lockup"))
_WORK_FIELDS = ("work_function", "workqueue")

_Found = dict[str, tuple[Fix, Clues]]


class Matcher:
    """Compares facts with the signatures of entries; indexed by frame, so that few are looked at."""

    def __init__(self, fixes: Iterable[Fix]) -> None:
        entries = list(fixes)
        weights = Weights([signature_names(fix) for fix in entries])
        self._by_frame: dict[str, list[SignatureStack]] = defaultdict(list)
        self._by_work: dict[str, list[Fix]] = defaultdict(list)
        self._lines = LineIndex(entries)
        for fix in entries:
            for stack in signature_stacks(fix, weights):
                for name in stack.telling:
                    self._by_frame[name].append(stack)
            for work in fix.signature.work:
                self._by_work[work].append(fix)

    def match(self, fact: Fact, evidence: KernelEvidence | None = None) -> list[Matched]:
        """
        Return the known faults that *fact* may be, the best first.

        :param fact: Read are its kind, text, and the fields ``functions``, ``modules``, ``work_function``,
            ``workqueue`` and ``history`` (where an object was allocated or freed).
        :param evidence: The kernel it was seen on, if known.
        """
        found: _Found = {}
        self._stack(fact, own(_texts(fact.fields, "functions")), found)
        for names in _history(fact.fields):
            self._stack(fact, own(names), found, history=True)
        self._work(fact, found)
        self._text(fact, found)
        rows = [judge(fact, fix, clues, evidence) for fix, clues in found.values()]
        return sorted((row for row in rows if row is not None), key=lambda row: row.order)

    def lines(self, text: str) -> Iterator[tuple[Fix, LogLine]]:
        """Yield the entries that have a log line which *text* is, with the line."""
        return self._lines.find(text)

    def _stack(self, fact: Fact, names: list[str], found: _Found, *, history: bool = False) -> None:
        stacks = {id(stack): stack for name in set(names) for stack in self._by_frame.get(name, ())}
        for stack in stacks.values():
            # What once was is compared with what goes with a fault, not with where it strikes.
            if (history and stack.main) or _contradicts(stack.fix.signature, fact, names):
                continue
            new = fit(stack, names)
            clues = found.setdefault(stack.fix.id, (stack.fix, Clues()))[1]
            if new.coverage > clues.fit.coverage:
                clues.fit = new

    def _work(self, fact: Fact, found: _Found) -> None:
        for work in _works(fact.fields):
            for fix in self._by_work.get(work, ()):
                # Without frames to go with it the work says something only where it is all of the signature.
                if fix.id in found or (
                    not fix.signature.stack and _kind_fits(fix.signature.kinds, fact.kind)
                ):
                    found.setdefault(fix.id, (fix, Clues()))[1].work = True

    def _text(self, fact: Fact, found: _Found) -> None:
        for fix, line in self._lines.find(fact.text):
            clues = found.setdefault(fix.id, (fix, Clues()))[1]
            (clues.side_lines if line.common else clues.lines).add(line.pattern)


def match(
    fact: Fact, knowledge: Knowledge, evidence: KernelEvidence | None = None
) -> list[Matched]:
    """Return the known faults that *fact* may be, the best first; the index is made on first use."""
    return matcher_of(knowledge).match(fact, evidence)


def matcher_of(knowledge: Knowledge) -> Matcher:
    """Return the matcher of a knowledge base."""
    if knowledge.matcher is None:
        knowledge.matcher = Matcher(knowledge.fixes.values())
    matcher: Matcher = knowledge.matcher
    return matcher


def _texts(fields: dict[str, Any], name: str) -> list[str]:
    value = fields.get(name)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _history(fields: dict[str, Any]) -> list[list[str]]:
    rows = fields.get("history")
    return (
        [_texts(row, "functions") for row in rows if isinstance(row, dict)]
        if isinstance(rows, list)
        else []
    )


def _works(fields: dict[str, Any]) -> list[str]:
    return [fields[name] for name in _WORK_FIELDS if isinstance(fields.get(name), str)]


def _contradicts(signature: Signature, fact: Fact, names: Sequence[str]) -> bool:
    """Tell whether something about the fact rules the signature out."""
    present = set(names)
    if not _kind_fits(signature.kinds, fact.kind) or slot("|".join(signature.without)) & present:
        return True
    if any(not slot(names_) & present for names_ in signature.must):
        return True
    modules = set(_texts(fact.fields, "modules"))
    if signature.modules and modules and not modules & set(signature.modules):
        return True
    works = _works(fact.fields)
    return bool(signature.work and works and not set(works) & set(signature.work))


def _kind_fits(kinds: Sequence[str], kind: str) -> bool:
    if not kinds or kind in kinds or not kind.startswith(("kernel.", "task")):
        return True
    # A bare stack has no headline; a task of a dump is one that a watchdog would have reported, or will.
    if kind == "kernel.trace" or (kind == "task" and not _WATCHED.isdisjoint(kinds)):
        return True
    return kind == "kernel.panic" and not {"kernel.oops", "kernel.warning"}.isdisjoint(kinds)
