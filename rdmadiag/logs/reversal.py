"""Whether a log has its newest record first, and how the lines of each record lie then."""

from rdmadiag.lazy import Lazy
from rdmadiag.logs.grammar import Parsed
from rdmadiag.logs.wrapping import is_lone

_TRACE_HEAD = Lazy(
    r"Call [Tt]race:|blocked for more than|\bcut here\b|\btask:\S+ +state:|^\s*backtrace:|^PID: \d+ +TASK:"
)
_FRAME = Lazy(
    r"\s*(?:\[<[0-9a-f]+>\] )?(?:\? )?[\w.$]+\+0x[0-9a-f]+/0x[0-9a-f]+|\s*#\d+ +\[[0-9a-f]+\] "
)
_BOTTOM = Lazy(r"\b(?:ret_from_fork|kthread|entry_SYSCALL_64|secondary_startup)\w*\+0x")


def is_newest_first(heads: list[Parsed], *, begins_with_rest: bool = False) -> bool:
    """
    Tell whether the records are in reverse order.

    One step back may be another host, another boot or a new year; what counts is that hardly any step goes
    forward. Where all stamps are the same, a stack that is upside down tells.

    :param begins_with_rest: The first line is the rest of a record.
    """
    up = down = 0
    last: dict[str, tuple[float, ...]] = {}
    for head in heads:
        key = _key(head)
        if key is None:
            continue
        before = last.get(head.host)
        last[head.host] = key
        if before and len(before) == len(key) and before != key:
            up, down = up + (key > before), down + (key < before)
    if down >= (1 if begins_with_rest else 2) and down > 4 * up:
        return True
    return up == 0 and is_upside_down([h.message for h in heads])


def lines_are_reversed(heads: list[tuple[str, Parsed | None]]) -> bool:
    """Tell whether the rest of a record that was wrapped stands before its head, and not after it."""
    if is_rest(heads[0]) or is_rest(heads[-1]):
        return is_rest(heads[0])
    votes = 0
    for (before, head), rest, (after, other) in zip(heads, heads[1:], heads[2:], strict=False):
        if head and other and is_rest(rest):
            votes += len(after) - len(before)
    return votes >= 0


def is_rest(line: tuple[str, Parsed | None]) -> bool:
    """Tell whether a line is the rest of a record; with its head, if it has one."""
    return line[1] is None and not is_lone(line[0])


def _key(head: Parsed) -> tuple[float, ...] | None:
    stamp = head.stamp
    if stamp.wall is not None:
        return (stamp.wall,)
    if stamp.date is not None:
        return stamp.date
    return (0.0, stamp.uptime) if stamp.uptime is not None else None


def is_upside_down(messages: list[str]) -> bool:
    """Tell whether more frames stand before the first line that announces frames than after it."""
    frames = [n for n, m in enumerate(messages) if _FRAME.match(m)]
    head = next((n for n, m in enumerate(messages) if _TRACE_HEAD.search(m)), None)
    if head is not None:
        before = sum(1 for n in frames if n < head)
        return before > len(frames) - before
    return (
        len(frames) > 2 and _is_bottom(messages[frames[0]]) and not _is_bottom(messages[frames[-1]])
    )


def _is_bottom(message: str) -> bool:
    return bool(_BOTTOM.search(message))
