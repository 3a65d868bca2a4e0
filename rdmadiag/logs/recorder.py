"""Units to records: they are dated, and what was folded is unfolded."""

from typing import TYPE_CHECKING

from rdmadiag.logs.assemble import Unit
from rdmadiag.logs.clock import Clock
from rdmadiag.logs.events import is_boot, kernel_clock, unfolded
from rdmadiag.logs.lines import LINE
from rdmadiag.logs.records import Record

if TYPE_CHECKING:
    from rdmadiag.logs.zones import Zone

_MARKS = ("-- Reboot --", "-- Boot ")


class Recorder:
    """
    Makes records of units, in their order.

    :ivar clock: Dates them.
    """

    def __init__(self, now: float, zone: "Zone | None" = None) -> None:
        """
        :param now: What dates without a year are no later than.
        :param zone: Of stamps that give none.
        """
        self.clock = Clock(now, zone)

    def record(self, unit: Unit) -> Record | None:
        """Return the record that *unit* is, or ``None`` when it only marks a boot."""
        parsed = unit.parsed
        message, repeated = unfolded(parsed.message)
        if not unit.headed and message.startswith(_MARKS):
            self.clock.reboot()
            return None
        moment = self.clock.moment(parsed.stamp, parsed.host, booted=is_boot(message))
        if (wall := kernel_clock(message)) is not None:
            self.clock.tie(parsed.host, wall)
        return Record(
            unit.line,
            unit.offset,
            unit.raw[:LINE],
            parsed.host,
            moment,
            parsed.level,
            parsed.caller,
            parsed.ident,
            message,
            repeated,
        )
