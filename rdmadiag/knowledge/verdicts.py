"""The answer to "does this kernel have that fix": three values, and the reason in words."""

from typing import NamedTuple

from rdmadiag.report.model import FixStatusName


class FixStatus(NamedTuple):
    """
    Whether a kernel has a fix.

    :ivar status: ``present`` also means that the fault was never in this kernel; *why* then begins with
        ``not affected``.
    """

    status: FixStatusName
    why: str


def present(why: str) -> FixStatus:
    """Return that the kernel has the fix."""
    return FixStatus("present", why)


def missing(why: str) -> FixStatus:
    """Return that the kernel has the fault and not the fix."""
    return FixStatus("missing", why)


def unknown(why: str) -> FixStatus:
    """Return that what is at hand does not tell."""
    return FixStatus("unknown", why)


def not_affected(why: str) -> FixStatus:
    """Return that the fault is not in this kernel, so that it needs no fix."""
    return FixStatus("present", f"not affected: {why}")
