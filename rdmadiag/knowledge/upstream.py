"""Whether an upstream kernel, or one that starts from it, has a change that came in through mainline and stable."""

from collections.abc import Iterable

from rdmadiag.knowledge.kernels import Kernel
from rdmadiag.knowledge.verdicts import FixStatus, missing, not_affected, present, unknown
from rdmadiag.knowledge.versions import Number, branch, parse_number, show
from rdmadiag.rules.schema import Fix, FixedIn

# Vendors that carry changes of later kernels into an old one, drivers and RDMA core above all: what a fault's
# first upstream release says about them is little.
_BACKPORTERS = {"RHEL", "SLES", "UEK", "Kylin", "vendor", "unknown"}


def upstream_rows(rows: Iterable[FixedIn]) -> tuple[Number | None, dict[Number, Number]]:
    """Return the mainline number of *rows* and those of the stable branches, by branch."""
    mainline: Number | None = None
    stable: dict[Number, Number] = {}
    for row in rows:
        number = parse_number(row.version)
        if number is None:
            continue
        if row.tree == "mainline":
            mainline = number if mainline is None else min(mainline, number)
        elif row.tree.startswith("stable-"):
            stable[branch(number)] = number
    return mainline, stable


def affected(fix: Fix, kernel: Kernel) -> bool | None:
    """
    Tell whether the fault was in this kernel's upstream release at all.

    ``None`` when the entry does not say since when there is the fault, or the name of the kernel not enough.
    """
    mainline, stable = upstream_rows(fix.introduced)
    number = kernel.upstream
    if number is None or (mainline is None and not stable):
        return None
    here = branch(number)
    if here in stable:
        came = number >= stable[here]
        return came if came or kernel.exact else None
    if mainline is None:
        # A regression of stable updates only: branches older than all of them never got it.
        return False if here < min(stable) else None
    if here == mainline and kernel.candidate:
        return None
    return here >= mainline


def not_yet(fix: Fix, kernel: Kernel) -> FixStatus | None:
    """Return ``not affected`` when the kernel is older than the fault."""
    if affected(fix, kernel) is not False or kernel.upstream is None:
        return None
    since = ", ".join(row.version for row in fix.introduced)
    if kernel.family in _BACKPORTERS:
        return None
    return not_affected(f"the fault came with {since}, this kernel is {show(kernel.upstream)}")


def upstream_status(fix: Fix, kernel: Kernel) -> FixStatus | None:
    """Compare the kernel's upstream number with the mainline and stable releases of the fix."""
    mainline, stable = upstream_rows(fix.fixed_in)
    number = kernel.upstream
    if number is None or (mainline is None and not stable):
        return None
    here = branch(number)
    if affected(fix, kernel) is False:
        since = ", ".join(row.version for row in fix.introduced)
        return unknown(
            f"the fault came with {since}, {_starts(kernel, number)}: it has it only if its vendor took "
            "over what brought it"
        )
    if here in stable:
        return _on_branch(kernel, number, stable[here])
    if mainline is not None and here >= mainline:
        return _after_mainline(kernel, here, mainline)
    return _no_row(fix, kernel, number, mainline, stable)


def _starts(kernel: Kernel, number: Number) -> str:
    return f"this kernel {'is' if kernel.exact else 'starts from'} {show(number)}"


def _on_branch(kernel: Kernel, number: Number, fixed: Number) -> FixStatus:
    said = f"fixed in {show(fixed)}, {_starts(kernel, number)}"
    if number >= fixed:
        return present(said)
    if kernel.exact:
        return missing(said)
    return unknown(f"{said}; which later updates it took over does not show in its name")


def _after_mainline(kernel: Kernel, here: Number, mainline: Number) -> FixStatus:
    said = (
        f"mainline has the fix since {show(mainline)}, {_starts(kernel, kernel.upstream or here)}"
    )
    if kernel.candidate and here == mainline:
        return unknown(f"{said}, a release candidate: it may have come in a later one")
    return present(said)


def _no_row(
    fix: Fix, kernel: Kernel, number: Number, mainline: Number | None, stable: dict[Number, Number]
) -> FixStatus:
    here = branch(number)
    if mainline is None and here > max(stable):
        newest = show(stable[max(stable)])
        return unknown(
            f"the fix was in mainline before {newest}, in which release is not known; "
            f"{_starts(kernel, number)}"
        )
    first = f"mainline {show(mainline)}" if mainline else show(stable[min(stable)])
    said = f"first fixed in {first}, {_starts(kernel, number)}, and no fixed {show(here)} release is listed"
    if not kernel.exact:
        return unknown(f"{said}; the vendor may have taken the fix over")
    if affected(fix, kernel):
        return missing(said)
    return unknown(f"{said}; whether the fault was in it already is not known")
