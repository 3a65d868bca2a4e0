"""
Whether a kernel has a fix, and what says so.

In this order: a mark in the dump, a line in the log that only a fixed kernel prints, the release within its
own tree, the upstream release that the kernel is or starts from. A backport makes a lower number fixed, so a
mark beats a number; where nothing decides the answer is ``unknown``, with what would decide it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from rdmadiag.knowledge.kernels import Kernel
from rdmadiag.knowledge.lines import matches
from rdmadiag.knowledge.upstream import affected, not_yet, upstream_status
from rdmadiag.knowledge.verdicts import FixStatus, missing, present, unknown
from rdmadiag.knowledge.versions import branch, dpkg_compare, parse_number, rpm_compare, show
from rdmadiag.report.model import FixStatusName
from rdmadiag.rules.schema import Fix, FixedIn, LogMark, Mark


class KernelEvidence(msgspec.Struct, frozen=True):
    """
    What is at hand about one kernel.

    :ivar marks: Marks that were looked for in a dump, and whether they are there.
    :ivar lines: Log lines of this kernel that may be log marks, by the kind of their fact.
    """

    kernel: Kernel
    marks: Mapping[str, bool] = {}
    lines: Mapping[str, Sequence[str]] = {}


def status(fix: Fix, evidence: KernelEvidence) -> FixStatus:
    """Say whether the kernel has *fix*, and why."""
    for decide in _DECIDERS:
        verdict = decide(fix, evidence)
        if verdict is not None:
            return verdict
    return unknown(_open(fix, evidence))


def marks_wanted(fixes: Iterable[Fix]) -> list[str]:
    """Return all marks that fixes ask for, for the dump's collector to look up."""
    return sorted({mark.mark for fix in fixes for mark in fix.marks})


def _mark_holds(mark: Mark, kernel: Kernel) -> bool:
    if mark.trees and kernel.tree not in mark.trees:
        return False
    since = parse_number(mark.since)
    if since is None:
        return True
    return kernel.upstream is not None and branch(kernel.upstream) >= since


def _mark_says(mark: Mark, seen: bool) -> FixStatusName:
    if seen:
        return mark.means
    return mark.otherwise or ("missing" if mark.means == "present" else "present")


def _marks(fix: Fix, evidence: KernelEvidence, wanted: FixStatusName) -> FixStatus | None:
    for mark in fix.marks:
        if mark.mark in evidence.marks and _mark_holds(mark, evidence.kernel):
            seen = evidence.marks[mark.mark]
            if _mark_says(mark, seen) == wanted:
                why = f"; {mark.why}" if mark.why else ""
                return FixStatus(wanted, f"the dump says so: {_describe(mark.mark, seen)}{why}")
    return None


def _describe(mark: str, seen: bool) -> str:
    kind, _, name = mark.partition(":")
    if kind.startswith("no_"):
        kind, seen = kind[3:], not seen
    words = {
        "member": "there is {no}member {name}",
        "enumerator": "there is {no}enumerator {name}",
        "symbol": "there is {no}symbol {name}",
        "wq_flag": "workqueue {name} {has}",
        "string": "the text {name} is {not_}in the module",
    }
    if kind == "wq_flag":
        queue, _, flag = name.partition(":")
        return f"workqueue {queue} {'has' if seen else 'lacks'} {flag}"
    text = words.get(kind, "{name} is {not_}there")
    return text.format(no="" if seen else "no ", not_="" if seen else "not ", name=name, has="")


def _present_by_mark(fix: Fix, evidence: KernelEvidence) -> FixStatus | None:
    return _marks(fix, evidence, "present")


def _missing_by_mark(fix: Fix, evidence: KernelEvidence) -> FixStatus | None:
    return _marks(fix, evidence, "missing")


def _present_by_line(fix: Fix, evidence: KernelEvidence) -> FixStatus | None:
    for mark in fix.log_marks:
        if not mark.trees or evidence.kernel.tree in mark.trees or not evidence.kernel.tree:
            line = _find_line(mark, evidence.lines)
            if line is not None:
                return present(f"only kernels with the fix print: {line}")
    return None


def _find_line(mark: LogMark, lines: Mapping[str, Sequence[str]]) -> str | None:
    kinds = mark.kinds or list(lines)
    found = (line for kind in kinds for line in lines.get(kind, ()) if matches(mark.pattern, line))
    return next(found, None)


def _not_affected(fix: Fix, evidence: KernelEvidence) -> FixStatus | None:
    return not_yet(fix, evidence.kernel)


def _compare(kernel: Kernel, version: str) -> int | None:
    """Order the kernel's package and *version* as its package manager does; ``None``: cannot be compared."""
    if not kernel.package:
        return None
    if kernel.family == "Ubuntu":
        # A kernel's name has 5.15.0-91 of the package's 5.15.0-91.101; no two packages share that much.
        version = ".".join(version.split(".")[:3])
    if kernel.family in ("Debian", "Ubuntu"):
        return dpkg_compare(kernel.package, version)
    return rpm_compare(kernel.package, version)


def _by_tree(fix: Fix, evidence: KernelEvidence) -> FixStatus | None:
    """Compare the release with those listed for its own tree."""
    kernel = evidence.kernel
    if kernel.tree in ("", "mainline"):
        return None
    for row in fix.reverted:
        if row.tree == kernel.tree and (_compare(kernel, row.version) or 0) >= 0:
            return missing(f"taken out again in {row.version}{_note(row)}")
    rows = [row for row in fix.fixed_in if row.tree == kernel.tree]
    verdicts = [_by_row(row, kernel) for row in rows]
    return next((v for v in verdicts if v is not None), None)


def _note(row: FixedIn) -> str:
    return f" ({row.note})" if row.note else ""


def _by_row(row: FixedIn, kernel: Kernel) -> FixStatus | None:
    if not row.version:
        return unknown(f"{row.tree} has the fix, since which release is not known{_note(row)}")
    order = _compare(kernel, row.version)
    if order is None:
        return None
    here = f"{_note(row)}, this is {kernel.package}"
    later = order > 0 and _later_series(kernel.package, row.version)
    if later or (order >= 0 and row.bound in ("exact", "at_latest")):
        return present(f"fixed in {row.version}{here}")
    if row.bound == "exact" or (row.bound == "at_earliest" and order < 0):
        return missing(f"fixed in {row.version}{here}")
    return unknown(f"fixed in {_BOUNDS[row.bound].format(row.version)}{here}")


_BOUNDS = {
    "at_latest": "{}, or in an earlier one",
    "at_earliest": "{}, or in a later one",
    "about": "{}, or in one near it",
}


def _later_series(package: str, version: str) -> bool:
    """Tell whether *package* is of a later update series: 5.15.0-101.103.2 after 5.15.0-100.96.30."""
    series = [text.split("-")[-1].split(".")[:2] for text in (package, version)]
    mine, listed = ([int(part) for part in parts if part.isdigit()] for parts in series)
    return mine > listed


def _never(fix: Fix, evidence: KernelEvidence) -> FixStatus | None:
    """Answer for trees that are known not to have the change."""
    kernel = evidence.kernel
    if affected(fix, kernel) is False:
        return None
    for row in fix.never_in:
        if row.tree == "mainline" and kernel.upstream is not None and kernel.family != "UEK":
            return _never_mainline(row, kernel)
        if row.tree in ("any", kernel.tree):
            return missing(f"no release of this tree has such a change{_note(row)}")
    return None


def _never_mainline(row: FixedIn, kernel: Kernel) -> FixStatus:
    read = parse_number(row.version)
    said = f"mainline has no such change up to {row.version}{_note(row)}"
    if kernel.upstream and read and branch(kernel.upstream) > branch(read):
        return unknown(f"{said}; {show(kernel.upstream)} was not read")
    return missing(said)


def _by_upstream(fix: Fix, evidence: KernelEvidence) -> FixStatus | None:
    return upstream_status(fix, evidence.kernel)


_DECIDERS: tuple[Callable[[Fix, KernelEvidence], FixStatus | None], ...] = (
    _present_by_mark,
    _present_by_line,
    _not_affected,
    _missing_by_mark,
    _by_tree,
    _never,
    _by_upstream,
)


def _open(fix: Fix, evidence: KernelEvidence) -> str:
    """Say why nothing decided, and what would."""
    kernel = evidence.kernel
    if not kernel.release:
        return "the kernel's release is not known; " + _would(fix, kernel)
    trees = ", ".join(dict.fromkeys(row.tree for row in fix.fixed_in))
    if not trees:
        return f"no release with a fix is known; {_would(fix, kernel)}"
    return f"fixed releases are known for {trees}, not for {kernel.tree or kernel.release}; {_would(fix, kernel)}"


def _would(fix: Fix, kernel: Kernel) -> str:
    marks = [mark.mark for mark in fix.marks if not kernel.tree or _mark_holds(mark, kernel)]
    if marks:
        return f"a dump of it would tell ({_plain(marks[0])})"
    names = [*fix.orabug, *fix.cve, *([fix.commit[:12]] if fix.commit else [])]
    if names:
        return f"the changelog of its package would tell (look for {' or '.join(names[:3])})"
    return "the changelog of its package would tell (look for the title)"


def _plain(mark: str) -> str:
    kind, _, name = mark.partition(":")
    return f"{kind.removeprefix('no_').replace('wq_flag', 'flag of workqueue')} {name}"
