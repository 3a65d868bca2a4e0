"""How sure a match is: confident, likely or a hint, with a score to order those of one rank."""

from typing import Literal

import msgspec

from rdmadiag.facts.model import Fact
from rdmadiag.knowledge.stacks import Fit
from rdmadiag.knowledge.status import KernelEvidence, status
from rdmadiag.knowledge.upstream import affected
from rdmadiag.rules.schema import Fix, Signature

Rank = Literal["confident", "likely", "hint"]

RANKS: tuple[Rank, ...] = ("confident", "likely", "hint")

_TITLE_ONLY = ("title", "title+header", "title+cve")
_SURE = 0.6
"""Part of a signature's weight that must be there for a confident match; _SOME for a likely one, _LEAST for a hint."""
_SOME = 0.45
_LEAST = 0.3
_FOREIGN = 3
"""With more frames of another place further in, the trace is of something else."""


class Clues(msgspec.Struct):
    """
    All that speaks for one entry.

    :ivar work: The work item or workqueue is the one.
    :ivar lines: Patterns of telling log lines that were found; *side_lines*: of lines that only go with it.
    """

    fit: Fit = msgspec.field(default_factory=Fit)
    work: bool = False
    lines: set[str] = msgspec.field(default_factory=set)
    side_lines: set[str] = msgspec.field(default_factory=set)


class Matched(msgspec.Struct, frozen=True):
    """
    A known fault that a fact may be.

    :ivar score: 0 to 1, comparable within a rank.
    :ivar reason: What was found, in words.
    """

    fix: Fix
    score: float
    rank: Rank
    reason: str

    @property
    def order(self) -> tuple[int, float, str]:
        """Sort key: the best first."""
        return RANKS.index(self.rank), -self.score, self.fix.id


def judge(fact: Fact, fix: Fix, clues: Clues, evidence: KernelEvidence | None) -> Matched | None:
    """Return what the clues for an entry amount to, or ``None`` when it is too little."""
    rank = _rank(fact, fix, clues)
    if rank is None:
        return None
    score, reason = _score(clues), _reason(fix, clues)
    if evidence is not None:
        rank, score, said = _on_kernel(fix, evidence, rank, score)
        reason += said
    return Matched(fix, round(min(score, 1.0), 3), rank, reason)


def _rank(fact: Fact, fix: Fix, clues: Clues) -> Rank | None:
    signature, fit = fix.signature, clues.fit
    rank: Rank | None = None
    if _is_sure(fact, signature, clues):
        rank = "confident"
    elif clues.lines or (clues.work and not signature.stack) or _is_likely(signature, clues):
        rank = "likely"
    elif fit.coverage >= _LEAST and fit.strong and fit.foreign <= _FOREIGN:
        rank = "hint"
    return "hint" if rank and fix.basis in _TITLE_ONLY else rank


def _support(signature: Signature, clues: Clues) -> int:
    """Count what points to the entry: telling frames, a mandatory one, the work item, a line."""
    return clues.fit.strong + clues.work + bool(clues.lines) + bool(signature.must)


def _is_sure(fact: Fact, signature: Signature, clues: Clues) -> bool:
    fit = clues.fit
    return (
        signature.basis == "trace"
        and not signature.shared
        and fit.main
        and fit.coverage >= _SURE
        and fit.key
        and fit.rarest
        and not fit.foreign
        and _support(signature, clues) >= 2
        and fact.kind != "kernel.trace"
    )


def _is_likely(signature: Signature, clues: Clues) -> bool:
    """Tell whether a stack fits well, its most telling frame included, with nothing else further in."""
    fit = clues.fit
    if fit.foreign or not fit.rarest:
        return False
    seen = signature.basis == "trace"
    if _support(signature, clues) >= 2:
        return fit.coverage >= (_SOME if seen else _SURE)
    return seen and fit.coverage >= _SURE and fit.key


def _score(clues: Clues) -> float:
    fit = clues.fit
    score = 0.55 * fit.coverage + 0.25 * min(fit.strength / 3, 1) + 0.1 * fit.key
    score += 0.3 * bool(clues.lines) + 0.05 * clues.work + 0.05 * bool(clues.side_lines)
    return min(score, 1.0) * 0.85**fit.foreign


def _reason(fix: Fix, clues: Clues) -> str:
    fit, parts = clues.fit, []
    if fit.frames:
        where = "" if fit.main else " of a second stack"
        count = "1 frame" if len(fit.frames) == 1 else f"{len(fit.frames)} frames"
        parts.append(f"{count}{where} of its signature: {', '.join(fit.frames)}")
    if clues.work:
        parts.append("the same work item")
    if clues.lines:
        parts.append("a log line of its own")
    if clues.side_lines:
        parts.append("a log line that goes with it")
    if fit.foreign:
        parts.append(f"but {fit.foreign} of another place further in")
    return "; ".join(parts) + _doubt(fix, clues)


def _doubt(fix: Fix, clues: Clues) -> str:
    """Say what keeps the match from being sure, as far as it lies in the entry itself."""
    if fix.basis in _TITLE_ONLY:
        return "; only the title of this change was read"
    if clues.fit.frames and fix.signature.basis != "trace":
        return "; its functions are named in the sources, no trace of it was read"
    if clues.fit.frames and fix.signature.shared:
        return "; other faults hang in the same place"
    return ""


def _on_kernel(
    fix: Fix, evidence: KernelEvidence, rank: Rank, score: float
) -> tuple[Rank, float, str]:
    """Lower what this kernel cannot have; of equals prefer what is listed for its tree."""
    verdict = status(fix, evidence)
    if verdict.status == "present":
        return "hint", score / 2, f"; but this kernel does not have it: {verdict.why}"
    if affected(fix, evidence.kernel) is False:
        since = fix.introduced[0].version
        return (rank, score * 0.9, f"; it came with {since}: here only by a backport")
    trees = [row.tree for row in fix.fixed_in]
    if evidence.kernel.tree in trees:
        score += 0.02 if trees[0] == evidence.kernel.tree else 0.01
    return rank, score, ""
