"""The zone of times that were written without one."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

from rdmadiag.errors import UserError

MINUTE = 60
"""Seconds: no zone has changed its clocks within a minute since 1991."""

DISORDER = 300.0
"""Seconds by which a record may come late into its log."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>[01]\d|2[0-3])(?::?(?P<minutes>[0-5]\d))?", re.ASCII)


class Zone:
    """
    A time zone.

    Times on its clocks are *written*: seconds that would be those since the epoch, were they UTC.

    :ivar name: As the user gave it.
    """

    def __init__(self, name: str, rules: tzinfo) -> None:
        """:param rules: When its clocks change, and by how much."""
        self.name = name
        self._rules = rules

    def utc(self, written: float, near: float | None = None) -> float:
        """
        Return the seconds since the epoch of a time on the zone's clocks.

        A time that clocks showed twice is the first one, unless that is before *near*. One that they never
        showed is read as if they had not gone forward yet.

        :param near: Seconds since the epoch that it is not before, but for some disorder.
        """
        before, after = _offsets(self._rules, int(written // MINUTE))
        late = near is not None and written - before < near - DISORDER
        return written - (after if before > after and late else before)

    def last_utc(self, written: float) -> float:
        """Return the same, but the second of two."""
        return written - min(_offsets(self._rules, int(written // MINUTE)))

    def skips(self, written: float) -> bool:
        """Tell whether the zone's clocks never showed this time, as they had gone forward."""
        before, after = _offsets(self._rules, int(written // MINUTE))
        return before < after

    def written(self, wall: float) -> float:
        """Return the time on the zone's clocks at *wall* seconds since the epoch."""
        return wall + _offset_at(self._rules, int(wall // MINUTE))


@lru_cache(4096)
def _offsets(rules: tzinfo, minute: int) -> tuple[float, float]:
    """Return by how much clocks that show *minute* are ahead of UTC, as before and as after a change then."""
    shown = (_EPOCH + timedelta(minutes=minute)).replace(tzinfo=rules)
    return _seconds(shown), _seconds(shown.replace(fold=1))


@lru_cache(4096)
def _offset_at(rules: tzinfo, minute: int) -> float:
    return _seconds((_EPOCH + timedelta(minutes=minute)).astimezone(rules))


def _seconds(moment: datetime) -> float:
    return (moment.utcoffset() or timedelta()).total_seconds()


def zone_of(text: str) -> Zone:
    """
    Return the zone that *text* names.

    :param text: A name of the IANA time zone database, or an offset such as ``+02:00``.
    :raises UserError: If it is neither.
    """
    if match := _OFFSET.fullmatch(text):
        ahead = timedelta(hours=int(match["hours"]), minutes=int(match["minutes"] or 0))
        return Zone(text, timezone(-ahead if match["sign"] == "-" else ahead))
    import zoneinfo

    try:
        return Zone(text, zoneinfo.ZoneInfo(text))
    except (KeyError, ValueError, OSError) as error:
        if not zoneinfo.available_timezones():
            raise UserError(
                f"{text!r}: this system has no names of time zones (package tzdata); write an offset, as +02:00"
            ) from error
        raise UserError(
            f"{text!r} is no time zone; write it as Europe/Berlin, UTC or +02:00"
        ) from error
