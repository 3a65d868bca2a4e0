"""
Dates that are not ISO 8601: day or month first, the year first with slashes, hours up to twelve.

Where day and month are numbers of up to twelve, only the other dates of the log tell which of them comes first;
if none does, there is no date.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from rdmadiag.lazy import Lazy
from rdmadiag.logs.stamps import MONTH, MONTHS, Stamp, epoch

if TYPE_CHECKING:
    import re

Order = Literal["", "day", "month"]
"""What comes first; an empty text: unknown."""

PROBES = 20

DATE = (
    r"(?:(?P<year>\d{4})(?P<line>[/-])(?P<month>\d\d)(?P=line)(?P<day>\d\d)"
    rf"|(?P<named_day>\d{{1,2}})(?P<blank>[/ -])(?P<name>{MONTH})(?P=blank)(?P<named_year>\d{{4}})"
    r"|(?P<first>\d{1,2})(?P<between>[/.-])(?P<second>\d{1,2})(?P=between)(?P<last_year>\d{4}))"
    r"(?:, ?|[ T:])(?P<hour>\d{1,2}):(?P<rest_of_clock>\d\d:\d\d)(?P<fraction>[.,]\d{1,9})?(?: ?(?P<half>[AaPp])\.?[Mm]\b\.?)?"
    r"(?P<zone> ?(?:[+-]\d\d:?\d\d|(?:Z|UTC|GMT)\b))?"
)
_UNCLEAR = Lazy(
    r"(?<![\w/.:-])(?P<first>\d{1,2})(?P<between>[/-])(?P<second>\d{1,2})(?P=between)\d{4}(?:, ?|[ T:])\d{1,2}:\d\d:\d\d"
)
_ONLY = Lazy(DATE)


def date_of(match: "re.Match[str]", order: Order) -> Stamp | None:
    """Return the stamp of a match of :data:`DATE`, an empty one if it may be two; ``None`` for no date."""
    clock = _clock(match)
    day = _day(match, order)
    if clock is None or day is None:
        return None if clock is None else Stamp()
    wall = epoch(day, clock, match["fraction"], match["zone"])
    return None if wall is None else Stamp(wall, zoneless=not match["zone"])


def numeric_stamp(text: str, order: Order) -> Stamp:
    """Return the stamp of a date that *text* begins with; an empty one when there is none."""
    match = _ONLY.match(text)
    return (date_of(match, order) if match else None) or Stamp()


def order_of(texts: Sequence[str]) -> Order | None:
    """
    Return what comes first in the dates of a log, or ``None`` when it has none that could be read in two ways.

    Where lines begin with dates, those that messages cite do not count.
    """
    if not any(_UNCLEAR.search(t) for t in texts[:: max(1, len(texts) // PROBES)]):
        return None
    found = [m for t in texts if (m := _UNCLEAR.search(t))]
    first = [m for m in found if m.start() <= 1]
    dates = first if len(first) * 2 > len(found) else found
    orders = {_order(m) for m in dates if int(m["first"]) != int(m["second"])}
    certain = orders - {""}
    if len(certain) == 1:
        return certain.pop()
    return "" if "" in orders else None


def _order(match: "re.Match[str]") -> Order:
    """Return what comes first in a date for itself."""
    if int(match["first"]) > 12:
        return "day"
    return "month" if int(match["second"]) > 12 else ""


def _day(match: "re.Match[str]", order: Order) -> str | None:
    """Return a date as ISO 8601 has it, or ``None`` when it may be two."""
    if match["year"]:
        return f"{match['year']}-{match['month']}-{match['day']}"
    if match["name"]:
        return f"{match['named_year']}-{MONTHS[match['name']]:02}-{int(match['named_day']):02}"
    first, second = int(match["first"]), int(match["second"])
    order = "day" if match["between"] == "." else _order(match) or order
    if not order and first != second:
        return None
    day, month = (second, first) if order == "month" else (first, second)
    return f"{match['last_year']}-{month:02}-{day:02}"


def _clock(match: "re.Match[str]") -> str | None:
    hour = int(match["hour"])
    if match["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match["half"] in "Pp" else 0)
    return f"{hour:02}:{match['rest_of_clock']}"
