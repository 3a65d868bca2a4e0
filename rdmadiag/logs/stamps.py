"""Time stamps as a line gives them; :mod:`rdmadiag.logs.clock` makes moments of them."""

import re
from datetime import UTC, datetime
from functools import lru_cache

import msgspec

MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
MONTH = "|".join(MONTHS)
WEEKDAY = "Mon|Tue|Wed|Thu|Fri|Sat|Sun"
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_ISO = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d:\d\d)(?P<fraction>[.,]\d{1,9})?"
    r"(?! ?[AaPp]\.?[Mm]\b)(?P<zone>[ ]?[+-]\d\d:?\d\d|[ ]?(?:UTC|GMT|Z)\b)?"
)


class Stamp(msgspec.Struct):
    """
    What a line says of its time.

    :ivar wall: Seconds since the epoch, when the date is complete; as if in UTC, when no zone is given.
    :ivar date: Month, day and second of the day, when there is no year.
    :ivar uptime: The kernel's clock.
    :ivar delta: Seconds since the record before (``dmesg -e``).
    :ivar boot: The journal's boot id.
    :ivar zoneless: Date and time were given without a zone.
    """

    wall: float | None = None
    date: tuple[int, int, float] | None = None
    uptime: float | None = None
    delta: float | None = None
    boot: str = ""
    zoneless: bool = False

    @property
    def known(self) -> bool:
        """Whether it says anything."""
        return (
            self.uptime is not None
            or self.wall is not None
            or self.date is not None
            or self.delta is not None
        )

    def filled(self, other: "Stamp") -> "Stamp":
        """Return this stamp with what *other*, the one around it, knows better: the date, or its zone."""
        uptime = other.uptime if self.uptime is None else self.uptime
        boot = self.boot or other.boot
        vague = self.wall is None or (self.zoneless and not other.zoneless)
        if vague and other.wall is not None:
            return Stamp(other.wall, None, uptime, self.delta, boot, other.zoneless)
        if self.wall is None and self.date is None and self.delta is None:
            return Stamp(None, other.date, uptime, other.delta, boot, other.zoneless)
        return self


@lru_cache(4096)
def _second(date: str, time: str, zone: str) -> float | None:
    """Return the epoch seconds of a date to the second: the part of a stamp that many records share."""
    try:
        moment = datetime.fromisoformat(f"{date}T{time}{zone}")
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def epoch(date: str, time: str, fraction: str | None, zone: str | None) -> float | None:
    """Return the epoch seconds of an ISO 8601 date in parts, or ``None`` for one that does not exist."""
    zone = (zone or "").strip()
    second = _second(date, time, "" if zone in ("Z", "UTC", "GMT") else zone)
    if second is None or not fraction:
        return second
    return second + float("." + fraction[1:])


def iso_stamp(text: str) -> Stamp:
    """Return the stamp of an ISO 8601 date and time that *text* begins with; an empty one when there is none."""
    match = _ISO.match(text)
    if match is None:
        return Stamp()
    wall = epoch(match["date"], match["time"], match["fraction"], match["zone"])
    return Stamp(wall, zoneless=wall is not None and not match["zone"])


def day_second(clock: str) -> float | None:
    """Return the second of the day of ``HH:MM:SS[.fraction]`` or ``HH:MM``."""
    seconds = int(clock[:2]) * 3600 + int(clock[3:5]) * 60
    if int(clock[:2]) > 23 or int(clock[3:5]) > 59:
        return None
    return seconds + float(clock[6:].replace(",", ".")) if len(clock) > 6 else float(seconds)


def date_stamp(month: str, day: str, clock: str, year: str | None = None) -> Stamp | None:
    """Return the stamp of ``Sep 29 22:32:33``, with or without a year; ``None`` for a day that does not exist."""
    number, second = MONTHS[month], day_second(clock)
    if second is None or not 1 <= int(day) <= _DAYS[number - 1]:
        return None
    if year is None:
        return Stamp(date=(number, int(day), second), zoneless=True)
    midnight = _second(f"{year}-{number:02}-{int(day):02}", "00:00:00", "")
    return None if midnight is None else Stamp(wall=midnight + second, zoneless=True)
