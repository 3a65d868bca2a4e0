"""One record of the kernel's log buffer, of either kind of buffer."""

import struct
from typing import NamedTuple

from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("PrintkRecord", "record_of")


class PrintkRecord(NamedTuple):
    """
    A log record.

    :ivar seq: Its number since boot.
    :ivar uptime: Seconds since boot.
    :ivar level: 0 (emergency) to 7 (debug).
    :ivar caller: ``T123`` (task) or ``C4`` (CPU), as CONFIG_PRINTK_CALLER prints it; ``""`` when not known.
    :ivar text: May have several lines; bytes that are not UTF-8 as backslash escapes.
    """

    seq: int
    uptime: float
    level: int
    facility: int
    caller: str
    text: str


def record_of(raw: bytes, info: VmcoreInfo) -> tuple[PrintkRecord, int]:
    """
    Decode a ``struct printk_info``; return the record, still without its text, and the text's length.

    VMCOREINFO tells no offset of ``facility`` (``u8``) and ``flags:5, level:3``: they follow ``text_len``.

    :raises LookupError: if VMCOREINFO lacks an offset
    """
    seq_at, ts_at = info.offset("printk_info.seq"), info.offset("printk_info.ts_nsec")
    len_at, caller_at = info.offset("printk_info.text_len"), info.offset("printk_info.caller_id")
    if seq_at is None or ts_at is None or len_at is None:
        raise LookupError("VMCOREINFO does not describe struct printk_info")
    try:
        (seq,) = struct.unpack_from("<Q", raw, seq_at)
        (nsec,) = struct.unpack_from("<Q", raw, ts_at)
        length, facility, flags = struct.unpack_from("<HBB", raw, len_at)
        caller = struct.unpack_from("<I", raw, caller_at)[0] if caller_at is not None else None
    except struct.error as error:
        raise LookupError("VMCOREINFO does not describe struct printk_info") from error
    name = "" if caller is None else caller_name(caller)
    return PrintkRecord(seq, nsec / 1e9, flags >> 5, facility, name, ""), length


def caller_name(number: int) -> str:
    """Return ``T123`` or ``C4`` for a ``caller_id``."""
    return f"C{number & 0x7FFFFFFF}" if number & 0x80000000 else f"T{number}"
