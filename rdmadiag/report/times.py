"""Times as the report gives them."""

from datetime import UTC, datetime

from rdmadiag.facts.model import Moment
from rdmadiag.report.model import Time


def time_of(moment: Moment | None) -> Time:
    """Return ISO 8601 in UTC, the seconds of uptime when there is no wall clock, or ``None``."""
    if moment is None:
        return None
    if moment.wall is not None:
        return iso(moment.wall)
    return moment.uptime


def iso(wall: float) -> Time:
    """Return seconds since the epoch as ISO 8601 in UTC; ``None`` when out of a calendar's range."""
    try:
        return datetime.fromtimestamp(wall, UTC).isoformat(
            timespec="microseconds" if wall % 1 else "seconds"
        )
    except (OverflowError, ValueError, OSError):
        return None
