"""
Findings of one diagnosis on one host, told together: what is true of all of them once, and of each what differs.

Only the renderers for people use it; JSON, SARIF and JUnit keep every finding whole.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from rdmadiag.report.model import Finding
from rdmadiag.report.order import ordered

_LISTS = ("evidence", "next_steps", "fixes")


class Member(msgspec.Struct, frozen=True):
    """
    A finding with its label (``F3``).

    :ivar own: The finding without what all of its group have; the same as *finding* where it stands alone.
    """

    label: str
    finding: Finding
    own: Finding


class Group(msgspec.Struct, frozen=True):
    """
    Findings that are told together.

    :ivar shared: What all of them have (evidence, steps, fixes, paragraphs of the explanation; a title that all have, else the first one's).
        Empty lists where the group is a single finding: then its own are all.
    """

    members: list[Member]
    shared: Finding

    @property
    def label(self) -> str:
        """``F2``, ``F2-F5``, or each of them where they do not follow one another."""
        return span([m.label for m in self.members])

    def __len__(self) -> int:
        """Return how many findings there are in it."""
        return len(self.members)


class Stacks:
    """Which stacks were shown: the tasks of one fault mostly have the same one."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, ...], str] = {}

    def shown_in(self, frames: Sequence[str], label: str) -> str:
        """Return the label of the other finding that showed this stack first; empty when none did."""
        first = self._shown.setdefault(tuple(frames), label)
        return first if first != label else ""


def labelled(findings: Sequence[Finding]) -> list[tuple[str, Finding]]:
    """Return the findings in the order of the report, with their labels."""
    return [(f"F{number}", finding) for number, finding in enumerate(ordered(findings), 1)]


def grouped(rows: Iterable[tuple[str, Finding]]) -> list[Group]:
    """Return labelled findings by diagnosis, host, severity and verdict; a group stands where its first finding would."""
    alike: dict[tuple[str | bool, ...], list[tuple[str, Finding]]] = {}
    for label, finding in rows:
        key = (finding.id, finding.host, finding.severity, finding.verdict, finding.known)
        alike.setdefault(key, []).append((label, finding))
    return [_group(rows) for rows in alike.values()]


def _group(rows: Sequence[tuple[str, Finding]]) -> Group:
    findings = [finding for _, finding in rows]
    common = _common(findings) if len(findings) > 1 else set()
    members = [Member(label, finding, _only(finding, common, False)) for label, finding in rows]
    return Group(members, _only(findings[0], common, True))


def _common(findings: Sequence[Finding]) -> set[bytes]:
    """Return the marks of the parts that each of *findings* has."""
    counts = Counter(mark for finding in findings for mark in {*_marks(finding)})
    return {mark for mark, count in counts.items() if count == len(findings)}


def _marks(finding: Finding) -> Iterable[bytes]:
    for name in _LISTS:
        yield from (_mark(name, part) for part in getattr(finding, name))
    yield from (_mark("explanation", part) for part in finding.explanation.split("\n\n"))


def _mark(name: str, part: object) -> bytes:
    return name.encode() + msgspec.json.encode(part)


def _only(finding: Finding, common: set[bytes], wanted: bool) -> Finding:
    """Return *finding* with those of its parts only that are, or are not, in *common*."""
    kept = {
        name: [p for p in getattr(finding, name) if (_mark(name, p) in common) is wanted]
        for name in _LISTS
    }
    text = [
        p
        for p in finding.explanation.split("\n\n")
        if (_mark("explanation", p) in common) is wanted
    ]
    return msgspec.structs.replace(finding, **kept, explanation="\n\n".join(text))


def labels_of(findings: Sequence[Finding]) -> dict[str, str]:
    """Return the labels of the findings of each diagnosis, in short, by its id."""
    labels: dict[str, list[str]] = {}
    for label, finding in labelled(findings):
        labels.setdefault(finding.id, []).append(label)
    return {name: span(some) for name, some in labels.items()}


def span(labels: Sequence[str]) -> str:
    """Return labels in short: ``F2``, ``F2-F5``, ``F2, F5``."""
    numbers = [int(label[1:]) for label in labels]
    if len(labels) < 3 or numbers != list(range(numbers[0], numbers[-1] + 1)):
        return ", ".join(labels)
    return f"{labels[0]}-{labels[-1]}"
