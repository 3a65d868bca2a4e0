"""What the records of one host say of its clocks: which boot it is, and when that began."""

import msgspec

from rdmadiag.facts.model import Moment
from rdmadiag.logs.stamps import Stamp

FIRST, LAST = 684_000_000.0, 7_258_118_400.0
"""Linux began in 1991; and 2200."""

DISORDER = 2.0
"""Seconds by which the kernel's clock may go back without a boot: CPUs print past each other."""

EARLY = 600.0
"""Seconds after a boot in which the wall clock may still jump."""

BOOT_SLACK = 30.0
"""Seconds by which wall clock and kernel clock may disagree about when a boot was."""


class HostClock(msgspec.Struct):
    """
    What is known of one host's time.

    :ivar ties: For each boot the least difference of wall clock and uptime: a log daemon stamps what it did
        not see happen later than it happened, never earlier.
    """

    boot: int = 0
    seen: bool = False
    uptime: float | None = None
    wall: float | None = None
    ids: dict[str, int] = {}
    ties: dict[int, float] = {}
    first: Moment | None = None
    last: Moment | None = None

    def take(self, stamp: Stamp, wall: float | None, *, booted: bool) -> None:
        """
        Take in the stamp of the next record.

        :param wall: Its wall clock.
        :param booted: It is the first record that a kernel prints.
        """
        self._count_boots(stamp, wall, booted=booted)
        self.seen = True
        if wall is not None:
            self.wall = wall
        if stamp.uptime is not None:
            self.uptime = stamp.uptime
            if wall is not None:
                self.tie(wall - stamp.uptime)

    def reboot(self) -> None:
        """Note that a boot begins here."""
        self.boot += 1
        self.uptime = None

    def tie(self, began: float) -> None:
        """Take in the wall clock of the boot's beginning."""
        known = self.ties.get(self.boot)
        if (known is None or began < known) and is_plausible(began):
            self.ties[self.boot] = began

    def not_before(self, uptime: float | None) -> float | None:
        """Return a wall clock that the next record is not before, but for some disorder."""
        began = self.ties.get(self.boot)
        if began is None or uptime is None:
            return self.wall
        return max(began + uptime, began if self.wall is None else self.wall)

    def _count_boots(self, stamp: Stamp, wall: float | None, *, booted: bool) -> None:
        if stamp.boot:
            self.boot = self.ids.setdefault(stamp.boot, len(self.ids))
        elif not self.seen:
            return
        elif stamp.uptime is None or self.uptime is None:
            self.boot += booted
        elif stamp.uptime < self.uptime - DISORDER or self._began_later(stamp.uptime, wall):
            self.reboot()

    def _began_later(self, uptime: float, wall: float | None) -> bool:
        """
        Tell whether the boot that the uptime counts from was after the record before.

        Soon after a boot the wall clock may be set from a wrong time zone to the right one.
        """
        if wall is None or self.wall is None or self.uptime is None or self.uptime < EARLY:
            return False
        return wall - uptime > self.wall + BOOT_SLACK


def is_plausible(wall: float) -> bool:
    """Tell whether a wall clock can be right: a log of Linux, and not of the far future."""
    return FIRST <= wall <= LAST
