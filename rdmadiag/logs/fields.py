"""From the text of a pattern's group to a typed JSON value."""

import errno
import re
from collections.abc import Callable
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address

Value = str | int | float | bool | None

_ERRNO = re.compile(r"-?(\d+|[A-Z]+)")
WORD = 1 << 32


@lru_cache(maxsize=4096)
def address(text: str) -> str:
    """Return an IP address as Python's ipaddress prints it, a mapped IPv4 address as IPv4; else the text."""
    try:
        return str(IPv4Address(text))
    except AddressValueError:
        pass
    try:
        v6 = IPv6Address(text)
    except AddressValueError:
        return text
    return str(v6.ipv4_mapped or v6)


def error_number(text: str) -> int | None:
    """Return an errno, printed as a number of either sign or as its name, as a negative number."""
    match = _ERRNO.fullmatch(text)
    if match is None:
        return None
    number = int(match[1]) if match[1].isdigit() else getattr(errno, match[1], None)
    return None if number is None else -number


def hex_number(text: str) -> int:
    """Return the number that *text* is in hex, with or without ``0x``."""
    return int(text, 16)


def hex_string(text: str) -> str:
    """Return a hex number, whose bytes may be apart, as ``0x..`` in lower case without leading zeros."""
    return hex(int(text.replace(" ", ""), 16))


CONVERT: dict[str, Callable[[str], Value]] = {
    "str": str,
    "int": int,
    "hex": hex_number,
    "hexstr": hex_string,
    "float": float,
    "ip": address,
    "errno": error_number,
    "device": str.lower,
    "lower": str.lower,
}


def convert(kind: str, text: str | None) -> Value:
    """
    Return the value of a group's text; ``None`` for a group that took no part or does not hold its type.

    A ``bool`` tells whether the group took part.
    """
    if kind == "bool":
        return text is not None
    if text is None:
        return None
    try:
        return CONVERT[kind](text)
    except ValueError:
        return None


def counter_difference(ahead: Value, behind: Value) -> int | None:
    """Return how far one 32-bit counter is ahead of another, both of which may have wrapped."""
    if isinstance(ahead, int) and isinstance(behind, int):
        return (ahead - behind) % WORD
    return None
