"""
From stamps to moments.

Years are counted from the records themselves (a date that jumps back by more than half a year began a new
one) and settled at the end, when it is known how the last record stands to the log's own date. Boots are
counted by the kernel's clock, host by host.
"""

import calendar
import time
from dataclasses import dataclass, field, replace

from rdmadiag.facts.model import Moment
from rdmadiag.logs.stamps import Stamp

DAY = 86400.0
MAX_HOSTS = 5000
FIRST, LAST = 684_000_000.0, 7_258_118_400.0
"""Linux began in 1991; and 2200."""

DISORDER = 2.0
"""Seconds by which the kernel's clock may go back without a boot: CPUs print past each other."""

EARLY = 600.0
"""Seconds after a boot in which the wall clock may still jump."""

BOOT_SLACK = 30.0
"""Seconds by which wall clock and kernel clock may disagree about when a boot was."""


@dataclass(slots=True)
class HostClock:
    """
    What is known of one host's time.

    :ivar ties: For each boot the least difference of wall clock and uptime: a log daemon stamps what it did
        not see happen later than it happened, never earlier.
    """

    boot: int = 0
    seen: bool = False
    uptime: float | None = None
    wall: float | None = None
    ids: dict[str, int] = field(default_factory=dict)
    ties: dict[int, float] = field(default_factory=dict)
    first: Moment | None = None
    last: Moment | None = None


def _epoch(year: int, month: int, day: int, second: float) -> float:
    return calendar.timegm((year, month, day, 0, 0, 0)) + second


def is_plausible(wall: float) -> bool:
    """Tell whether a wall clock can be right: a log of Linux, and not of the far future."""
    return FIRST <= wall <= LAST


def _leap_at_most(year: int) -> int:
    while not calendar.isleap(year):
        year -= 1
    return year


class Clock:
    """
    Makes moments of the stamps of one log, in its order.

    :ivar reference: When the log was written to last: no record is later than a day after it.
    :ivar yearless: Some record had a date without a year; *zoneless*: one without a zone, taken for UTC.
    :ivar hosts: What is known of each host.
    :ivar order: Of the next record.
    """

    def __init__(self, reference: float) -> None:
        """:param reference: Seconds since the epoch."""
        self.reference = reference
        self.yearless = self.zoneless = False
        self.hosts: dict[str, HostClock] = {}
        self.order = 0
        self._year: int | None = None
        self._anchored = False
        self._first_complete = 0
        self._leap_day = False
        self._last_date: float | None = None
        self._day: tuple[int, int] | None = None
        self._midnight = 0.0
        self._running: float | None = None
        self._rebased: list[tuple[int, int]] = []

    def moment(self, stamp: Stamp, host: str = "", *, booted: bool = False) -> Moment:
        """
        Return the moment of the next record.

        :param booted: The record is the first one that a kernel prints.
        """
        order = self.order
        self.order += 1
        wall = self._wall(stamp, order)
        self.zoneless = self.zoneless or stamp.zoneless
        if len(self.hosts) >= MAX_HOSTS and host not in self.hosts:
            host = ""
        state = self.hosts.get(host) or self.hosts.setdefault(host, HostClock())
        self._count_boots(state, stamp, wall, booted=booted)
        state.seen = True
        if wall is not None:
            state.wall = wall
        if stamp.uptime is not None:
            state.uptime = stamp.uptime
            if wall is not None:
                self._tie(state, wall - stamp.uptime)
        moment = Moment(wall, stamp.uptime, state.boot, order)
        if stamp.known:
            state.first = state.first or moment
            state.last = moment
        return moment

    def reboot(self) -> None:
        """Note that a boot begins here, whichever host's."""
        for state in self.hosts.values():
            state.boot += 1
            state.uptime = None

    def tie(self, host: str, wall: float) -> None:
        """Take in the wall clock at the moment of the host's last record, as the kernel itself said it."""
        if not is_plausible(wall):
            return
        if self.yearless:
            self._anchor(wall, self.order)
        state = self.hosts.get(host)
        if state and state.uptime is not None:
            state.ties.setdefault(state.boot, wall - state.uptime)

    def _tie(self, state: HostClock, tie: float) -> None:
        known = state.ties.get(state.boot)
        if known is None or tie < known:
            state.ties[state.boot] = tie

    def _wall(self, stamp: Stamp, order: int) -> float | None:
        if stamp.wall is not None and is_plausible(stamp.wall):
            self._anchor(stamp.wall, order)
            self._running = stamp.wall
        elif stamp.date is not None:
            self._running = self._dated(*stamp.date, order)
        elif stamp.delta is not None:
            if self._running is not None:
                self._running += stamp.delta
        else:
            return None
        return self._running

    def _anchor(self, wall: float, order: int) -> None:
        """A complete date says which year the dates without one are in, also those before it."""
        if not self._anchored and self._year is not None and self._last_date is not None:
            self._rebase(order, round((wall - self._last_date) / (365.25 * DAY)))
        if not self._anchored:
            self._anchored, self._first_complete = True, order
        self._last_date, self._day = wall, None
        self._year = 1970 + int(wall // (365.2425 * DAY))

    def _dated(self, month: int, day: int, second: float, order: int) -> float:
        """Return the wall clock of a date without a year; mostly it is the day of the record before."""
        if (month, day) == self._day:
            self._last_date = self._midnight + second
            return self._last_date
        self._last_date = self._new_day(month, day, second, order)
        self._day, self._midnight = (month, day), self._last_date - second
        return self._last_date

    def _new_day(self, month: int, day: int, second: float, order: int) -> float:
        self.yearless = True
        leap = month == 2 and day == 29
        self._leap_day = self._leap_day or leap
        if self._year is None or self._last_date is None:
            year = self._latest_year(month, day, second)
        else:
            year = self._nearest_year(self._year, self._last_date, (month, day, second))
            if leap and not calendar.isleap(year):
                leap_year = _leap_at_most(year)
                self._rebase(order, leap_year - year)
                year = leap_year if not self._anchored else year
        self._year = year
        return _epoch(year, month, day, second)

    def _latest_year(self, month: int, day: int, second: float) -> int:
        """Return the last year in which the date is no later than the log."""
        year = 1970 + int((self.reference + DAY) // (365.2425 * DAY)) + 1
        leap = month == 2 and day == 29
        while year > 1970:
            if (not leap or calendar.isleap(year)) and self._not_after(year, month, day, second):
                return year
            year -= 1
        return 1972

    def _not_after(self, year: int, month: int, day: int, second: float) -> bool:
        return _epoch(year, month, day, second) <= self.reference + DAY

    @staticmethod
    def _nearest_year(year: int, last: float, date: tuple[int, int, float]) -> int:
        """Return the year that puts the date nearest to the one before it."""
        return min((year - 1, year, year + 1), key=lambda y: abs(_epoch(y, *date) - last))

    def _rebase(self, order: int, years: int) -> None:
        """Move all that came before *order* by whole years."""
        if not years or self._anchored:
            return
        self._rebased.append((order, years))
        for state in self.hosts.values():
            state.ties = {boot: _moved(tie, years) for boot, tie in state.ties.items()}
            state.wall = None if state.wall is None else _moved(state.wall, years)

    def _count_boots(
        self, state: HostClock, stamp: Stamp, wall: float | None, *, booted: bool
    ) -> None:
        if stamp.boot:
            state.boot = state.ids.setdefault(stamp.boot, len(state.ids))
        elif not state.seen:
            return
        elif stamp.uptime is None or state.uptime is None:
            state.boot += booted
        elif self._went_back(state, stamp.uptime) or self._began_later(state, stamp.uptime, wall):
            state.boot += 1
            state.uptime = None

    @staticmethod
    def _went_back(state: HostClock, uptime: float) -> bool:
        return state.uptime is not None and uptime < state.uptime - DISORDER

    @staticmethod
    def _began_later(state: HostClock, uptime: float, wall: float | None) -> bool:
        """
        Tell whether the boot that the uptime counts from was after the record before.

        Soon after a boot the wall clock may be set from a wrong time zone to the right one.
        """
        if wall is None or state.wall is None or state.uptime is None or state.uptime < EARLY:
            return False
        return wall - uptime > state.wall + BOOT_SLACK

    def settle(self, moment: Moment, host: str = "") -> Moment:
        """Return the moment as it is known at the end of the log: its year, and its wall clock from the ties."""
        wall = moment.wall
        if wall is None:
            tie = self._settled_tie(host, moment.boot)
            if tie is None or moment.uptime is None:
                return moment
            return replace(moment, wall=tie + moment.uptime)
        years = self._shift(moment.order)
        return replace(moment, wall=_moved(wall, years)) if years else moment

    def _settled_tie(self, host: str, boot: int) -> float | None:
        state = self.hosts.get(host)
        tie = state.ties.get(boot) if state else None
        if tie is None or state is None or state.last is None:
            return tie
        years = self._final_shift()
        return _moved(tie, years) if years else tie

    def _shift(self, order: int) -> int:
        if not self.yearless or (self._anchored and order >= self._first_complete):
            return 0
        return self._final_shift() + sum(years for before, years in self._rebased if order < before)

    @property
    def guessed_year(self) -> int | None:
        """The year of the last record, when no record told it."""
        if not self.yearless or self._anchored or self._year is None:
            return None
        return self._year + self._final_shift()

    def _final_shift(self) -> int:
        """Return by how many years the log must move back so that it does not end in the future."""
        if self._anchored or self._last_date is None:
            return 0
        years, step = 0, 4 if self._leap_day else 1
        while _moved(self._last_date, years) > self.reference + DAY and years > -400:
            years -= step
        return years


def _moved(wall: float, years: int) -> float:
    """Return the same day and time of another year."""
    whole = int(wall // 1)
    year, month, day, hour, minute, second = _parts(whole)
    if (month, day) == (2, 29) and not calendar.isleap(year + years):
        month, day = 3, 1
    moved = calendar.timegm((year + years, month, day, hour, minute, second))
    return moved + (wall - whole)


def _parts(whole: int) -> tuple[int, int, int, int, int, int]:
    t = time.gmtime(whole)
    return t.tm_year, t.tm_mon, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec
