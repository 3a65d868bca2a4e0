"""How logs are read."""

from typing import TYPE_CHECKING

import msgspec

from rdmadiag.inputs.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from rdmadiag.logs.zones import Zone


class LogOptions(msgspec.Struct, frozen=True):
    """
    How logs are read.

    :ivar since: Seconds since the epoch: earlier records are left out; *until*: later ones.
    :ivar zone: Of times that are written without one; ``None``: UTC.
    :ivar now: What dates without a year are no later than, where the log itself was not dated.
    :ivar block: Bytes that are searched at a time.
    :ivar whole: Logs of up to so many bytes are read line by line, longer ones only where it matters.
    :ivar hyperscan: Whether it may be used.
    :ivar jobs: How many processes may read one long file; 0: as many as there are CPUs.
    """

    since: float | None = None
    until: float | None = None
    zone: "Zone | None" = None
    now: float | None = None
    block: int = 1 << 20
    whole: int = 256 << 10
    limits: Limits = DEFAULT
    hyperscan: bool = True
    jobs: int = 0
