"""
Time
----

The clocks of a dump. ``HZ`` is a macro, so it is worked out from what the kernel keeps.
"""

from contextlib import suppress

from drgn import Object, Program, TypeKind

__all__ = (
    "jiffies",
    "jiffies_to_seconds",
    "ktime_nanoseconds",
    "monotonic_nanoseconds",
    "real_seconds",
    "seconds_until",
    "tick_rate",
    "timer_pending",
    "uptime_seconds",
)

_NSEC_PER_SEC = 1_000_000_000


def jiffies(prog: Program) -> int:
    """Return ``jiffies_64``."""
    return int(prog["jiffies_64"].value_())


def tick_rate(prog: Program) -> int:
    """
    Return ``HZ``.

    :raises LookupError: if the dump has neither ``tick_nsec`` nor a ``struct timekeeper``.
    :raises ValueError: if it makes no sense.
    """
    # Since v6.13 or so tick_nsec is gone; ntp_tick is the same, scaled by NTP_SCALE_SHIFT.
    try:
        tick_nsec = int(prog["tick_nsec"].value_())
    except LookupError:
        tick_nsec = int(_timekeeper(prog).ntp_tick.value_()) >> 32
    if not _NSEC_PER_SEC // 2000 <= tick_nsec <= _NSEC_PER_SEC // 10:
        raise ValueError(f"tick_nsec is {tick_nsec}")
    return round(_NSEC_PER_SEC / tick_nsec)


def _timekeeper(prog: Program) -> Object:
    """
    Return the ``struct timekeeper`` of the system's clocks, as of the last tick.

    :raises LookupError: if the dump has none.
    """
    # Later than v6.12 it is in a struct tk_data, and later still in that of one clock of several.
    for find in (_shadow, _core, _first_of_several):
        with suppress(LookupError):
            return find(prog)
    raise LookupError("the kernel's timekeeper was not found")


def _shadow(prog: Program) -> Object:
    return prog["shadow_timekeeper"]


def _core(prog: Program) -> Object:
    return prog["tk_core"].shadow_timekeeper


def _first_of_several(prog: Program) -> Object:
    core = prog.constant("TIMEKEEPER_CORE")
    return prog["timekeeper_data"][core].shadow_timekeeper


def uptime_seconds(prog: Program) -> float:
    """Return the seconds since boot by ``jiffies_64``, which starts five minutes before it wraps in 32 bits."""
    hz = tick_rate(prog)
    return (jiffies(prog) - ((-300 * hz) & 0xFFFFFFFF)) / hz


def real_seconds(prog: Program) -> float:
    """
    Return the wall clock at the moment of the dump, in seconds since the epoch.

    :raises LookupError: if the dump has no ``struct timekeeper``.
    """
    return float(_timekeeper(prog).xtime_sec.value_())


def monotonic_nanoseconds(prog: Program) -> int:
    """
    Return the monotonic clock (``ktime_get()``) at the last tick before the dump.

    :raises LookupError: if the dump has no ``struct timekeeper``.
    """
    mono = _timekeeper(prog).tkr_mono
    base = ktime_nanoseconds(mono.base)
    return base + (int(mono.xtime_nsec.value_()) >> int(mono.shift.value_()))


def ktime_nanoseconds(value: Object) -> int:
    """
    Return a time in nanoseconds.

    :param value: ``ktime_t``
    """
    # Since Linux kernel commit 2456e8553544 ("ktime: Get rid of the union") (in v4.10), it is a number.
    union = value.type_.unaliased_kind() == TypeKind.UNION
    return int((value.tv64 if union else value).value_())


def jiffies_to_seconds(prog: Program, value: int) -> float:
    """Return how long ago *value* of ``jiffies`` was, in seconds; negative in the future."""
    return (jiffies(prog) - value) / tick_rate(prog)


def timer_pending(timer: Object) -> bool:
    """
    Return whether a timer is queued.

    :param timer: ``struct timer_list``
    """
    # Since Linux kernel commit 1dabbcec2c0a ("timer: Use hlist for the timer wheel hash buckets") (in v4.2),
    # the entry is a hash chain's node. Before that, it is a list's.
    try:
        return bool(timer.entry.pprev.value_())
    except AttributeError:
        return bool(timer.entry.next.value_())


def seconds_until(timer: Object) -> float | None:
    """
    Return the seconds until a timer fires (negative: overdue), ``None`` when it is not queued.

    :param timer: ``struct timer_list``
    """
    if not timer_pending(timer):
        return None
    return -jiffies_to_seconds(timer.prog_, int(timer.expires.value_()))
