"""
Time
----

The clocks of a dump. ``HZ`` is a macro, so it is worked out from what the kernel keeps.
"""

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

    :raises LookupError: if the dump has no ``tick_nsec``.
    :raises ValueError: if it makes no sense.
    """
    tick_nsec = int(prog["tick_nsec"].value_())
    if not _NSEC_PER_SEC // 2000 <= tick_nsec <= _NSEC_PER_SEC // 10:
        raise ValueError(f"tick_nsec is {tick_nsec}")
    return round(_NSEC_PER_SEC / tick_nsec)


def uptime_seconds(prog: Program) -> float:
    """Return the seconds since boot by ``jiffies_64``, which starts five minutes before it wraps in 32 bits."""
    hz = tick_rate(prog)
    return (jiffies(prog) - ((-300 * hz) & 0xFFFFFFFF)) / hz


def real_seconds(prog: Program) -> float:
    """
    Return the wall clock at the moment of the dump, in seconds since the epoch.

    :raises LookupError: if the dump has no ``shadow_timekeeper``.
    """
    keeper = prog["shadow_timekeeper"]
    return float(keeper.xtime_sec.value_())


def monotonic_nanoseconds(prog: Program) -> int:
    """
    Return the monotonic clock (``ktime_get()``) at the last tick before the dump.

    :raises LookupError: if the dump has no ``shadow_timekeeper``.
    """
    mono = prog["shadow_timekeeper"].tkr_mono
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
