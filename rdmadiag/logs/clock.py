"""
From stamps to moments.

Years are counted from the records themselves (a date that jumps back by more than half a year began a new
one) and settled at the end, when it is known how the last record stands to the log's own date.

Stamps without a zone are taken for UTC, or for times of the zone that the user named.
"""

import calendar
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rdmadiag.facts.model import Moment
from rdmadiag.logs.boots import HostClock, is_plausible
from rdmadiag.logs.stamps import Stamp

if TYPE_CHECKING:
    from rdmadiag.logs.zones import Zone

DAY = 86400.0
MAX_HOSTS = 5000
MAX_SKIPPED = 10_000


def _epoch(year: int, month: int, day: int, second: float) -> float:
    return calendar.timegm((year, month, day, 0, 0, 0)) + second


def _leap_at_most(year: int) -> int:
    while not calendar.isleap(year):
        year -= 1
    return year


class Clock:
    """
    Makes moments of the stamps of one log, in its order.

    :ivar reference: When the log was written to last: no record is later than a day after it.
    :ivar yearless: Some record had a date without a year; *zoneless*: one without a zone.
    :ivar hosts: What is known of each host.
    :ivar order: Of the next record.
    """

    def __init__(self, reference: float, zone: "Zone | None" = None) -> None:
        """
        :param reference: Seconds since the epoch.
        :param zone: Of stamps that give none; else they are UTC.
        """
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
        self._zone = zone
        # Times as written, by order, that the zone's clocks did not show, if the year is the right one.
        self._skipped: dict[int, float] = {}

    def moment(self, stamp: Stamp, host: str = "", *, booted: bool = False) -> Moment:
        """
        Return the moment of the next record.

        :param booted: The record is the first one that a kernel prints.
        """
        order = self.order
        self.order += 1
        self.zoneless = self.zoneless or stamp.zoneless
        if len(self.hosts) >= MAX_HOSTS and host not in self.hosts:
            host = ""
        state = self.hosts.get(host) or self.hosts.setdefault(host, HostClock())
        wall = self._wall(stamp, order, state)
        state.take(stamp, wall, booted=booted)
        moment = Moment(wall, stamp.uptime, state.boot, order)
        if stamp.known:
            state.first = state.first or moment
            state.last = moment
        return moment

    def reboot(self) -> None:
        """Note that a boot begins here, whichever host's."""
        for state in self.hosts.values():
            state.reboot()

    def tie(self, host: str, wall: float) -> None:
        """Take in the wall clock at the moment of the host's last record, as the kernel itself said it."""
        if not is_plausible(wall):
            return
        if self.yearless:
            self._anchor(wall, self.order)
        state = self.hosts.get(host)
        if state and state.uptime is not None and state.boot not in state.ties:
            state.tie(wall - state.uptime)

    def _wall(self, stamp: Stamp, order: int, state: HostClock) -> float | None:
        if stamp.wall is not None and is_plausible(stamp.wall):
            self._anchor(stamp.wall, order)
            wall = stamp.wall
        elif stamp.date is not None:
            wall = self._dated(*stamp.date, order)
        elif stamp.delta is not None:
            if self._running is not None:
                self._running += stamp.delta
            return self._running
        else:
            return None
        if self._zone and stamp.zoneless:
            wall = self._zoned(self._zone, wall, order, state.not_before(stamp.uptime))
        self._running = wall
        return wall

    def _zoned(self, zone: "Zone", written: float, order: int, near: float | None) -> float:
        """Return the wall clock of a time as it was written; its year is not settled yet."""
        if zone.skips(written) and len(self._skipped) < MAX_SKIPPED:
            self._skipped[order] = written
        return zone.utc(written, near)

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
            state.ties = {boot: self._moved(tie, years) for boot, tie in state.ties.items()}
            state.wall = None if state.wall is None else self._moved(state.wall, years)

    def settle(self, moment: Moment, host: str = "") -> Moment:
        """Return the moment as it is known at the end of the log: its year, and its wall clock from the ties."""
        wall = moment.wall
        if wall is None:
            tie = self._settled_tie(host, moment.boot)
            if tie is None or moment.uptime is None:
                return moment
            return replace(moment, wall=tie + moment.uptime)
        years = self._shift(moment.order)
        return replace(moment, wall=self._moved(wall, years, moment.order)) if years else moment

    def _settled_tie(self, host: str, boot: int) -> float | None:
        state = self.hosts.get(host)
        tie = state.ties.get(boot) if state else None
        if tie is None or state is None or state.last is None:
            return tie
        years = self._final_shift()
        return self._moved(tie, years) if years else tie

    def _moved(self, wall: float, years: int, order: int = -1) -> float:
        """Return the same day and time of another year, as the clocks show it."""
        if self._zone is None:
            return _moved(wall, years)
        written = self._skipped.get(order)
        written = self._zone.written(wall) if written is None else written
        return self._zone.utc(_moved(written, years))

    def _shift(self, order: int) -> int:
        if not self.yearless or (self._anchored and order >= self._first_complete):
            return 0
        return self._final_shift() + sum(years for before, years in self._rebased if order < before)

    @property
    def impossible(self) -> bool:
        """Whether records are of an hour that the clocks of the zone never showed."""
        return self._zone is not None and any(
            self._zone.skips(_moved(written, self._shift(order)))
            for order, written in self._skipped.items()
        )

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
