"""
VMCOREINFO
----------

The note that every Linux crash dump carries (``Documentation/admin-guide/kdump/vmcoreinfo.rst``): text
lines ``SYMBOL(x)=hex``, ``OFFSET(struct.member)=n``, ``SIZE(x)=n``, ``LENGTH(x)=n``, ``NUMBER(x)=n`` and
plain ``KEY=value``. It is what can be known about a kernel without any types.
"""

__all__ = ("VmcoreInfo",)

_ADDRESSES = range(1 << 64)
_SIZES = range(1 << 31)
_NUMBERS = range(-(1 << 63), 1 << 64)


class VmcoreInfo:
    """
    The note as a table; a line that is not ``key=value`` is passed over.

    A number that cannot be what it should be (an address of more than 64 bits) counts as not there.
    """

    def __init__(self, raw: bytes) -> None:
        text = raw.decode("ascii", "backslashreplace")
        pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
        self._table = {key.strip(): value.strip() for key, value in pairs}

    def get(self, key: str) -> str:
        """Return the value of a plain key such as ``OSRELEASE``; ``""`` when it is not there."""
        return self._table.get(key, "")

    def symbol(self, name: str) -> int | None:
        """Return the address of a symbol (run-time address: KASLR is already in it)."""
        return self._number(f"SYMBOL({name})", 16, _ADDRESSES)

    def offset(self, member: str) -> int | None:
        """Return the offset in bytes of ``struct.member``."""
        return self._number(f"OFFSET({member})", 10, _SIZES)

    def size(self, name: str) -> int | None:
        """Return the size in bytes of a struct."""
        return self._number(f"SIZE({name})", 10, _SIZES)

    def length(self, name: str) -> int | None:
        """Return the number of elements of an array."""
        return self._number(f"LENGTH({name})", 10, _SIZES)

    def number(self, name: str) -> int | None:
        """Return a constant."""
        return self._number(f"NUMBER({name})", 0, _NUMBERS)

    def _number(self, key: str, base: int, possible: range) -> int | None:
        try:
            number = int(self._table[key], base)
        except (KeyError, ValueError):
            return None
        return number if number in possible else None
