"""
The log buffer before v5.10
---------------------------

``log_buf`` is a ring of ``struct printk_log`` (``struct log`` before v3.11), each with its length, followed
by its text; a length of 0 says that the next record is at the start of the ring.
"""

import struct
from collections.abc import Iterator

from drgn import FaultError, Program

from rdmadiag.vmcore.printk_record import PrintkRecord
from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("old_records",)

MAX_BUFFER = 1 << 28
_NEWLINE, _PREFIX = 2, 4


def old_records(prog: Program, info: VmcoreInfo) -> Iterator[PrintkRecord]:
    """
    Iterate over the records, oldest first; a line that was printed in pieces is one record.

    :raises FaultError: if the buffer cannot be read
    :raises LookupError: if VMCOREINFO does not tell where it is
    """
    held: PrintkRecord | None = None
    open_line = False
    for record, flags in _pieces(prog, info):
        if held and open_line and not flags & _PREFIX:
            held = held._replace(text=held.text + record.text)
        else:
            if held:
                yield held
            held = record
        open_line = not flags & _NEWLINE
    if held:
        yield held


def _pieces(prog: Program, info: VmcoreInfo) -> Iterator[tuple[PrintkRecord, int]]:
    buffer = _buffer(prog, info)
    first, following = info.symbol("log_first_idx"), info.symbol("log_next_idx")
    name = "printk_log" if info.size("printk_log") else "log"
    size = info.size(name)
    if first is None or following is None or not size:
        raise LookupError("VMCOREINFO does not describe the log buffer")
    place, end, seen = prog.read_u32(first), prog.read_u32(following), set[int]()
    while place not in seen and (place != end or not seen):
        if not _field(buffer, place, info, f"{name}.len", "H"):
            if place == 0:
                return
            place = 0
            continue
        yield _piece(buffer, place, info, name, len(seen))
        seen.add(place)
        place += _field(buffer, place, info, f"{name}.len", "H")


def _piece(
    buffer: bytes, place: int, info: VmcoreInfo, name: str, seq: int
) -> tuple[PrintkRecord, int]:
    nsec = _field(buffer, place, info, f"{name}.ts_nsec", "Q")
    length = _field(buffer, place, info, f"{name}.text_len", "H")
    last = (info.offset(f"{name}.dict_len") or info.offset(f"{name}.text_len") or 0) + 2
    facility, flags = buffer[place + last], buffer[place + last + 1]
    start = place + (info.size(name) or 0)
    text = buffer[start : start + length].decode(errors="backslashreplace")
    return PrintkRecord(seq, nsec / 1e9, flags >> 5, facility, "", text), flags & 0x1F


def _field(buffer: bytes, place: int, info: VmcoreInfo, member: str, code: str) -> int:
    offset = info.offset(member)
    if offset is None:
        raise LookupError(f"VMCOREINFO has no OFFSET({member})")
    try:
        value: int = struct.unpack_from("<" + code, buffer, place + offset)[0]
    except struct.error as error:
        raise FaultError("a record of the log buffer reaches over its end", place) from error
    return value


def _buffer(prog: Program, info: VmcoreInfo) -> bytes:
    buffer, length = info.symbol("log_buf"), info.symbol("log_buf_len")
    if buffer is None or length is None:
        raise LookupError("VMCOREINFO does not tell where the log buffer is")
    size = prog.read_u32(length)
    if not 0 < size <= MAX_BUFFER:
        raise FaultError(f"the log buffer says it has {size} bytes", buffer)
    raw: bytes = prog.read(prog.read_u64(buffer), size)
    return raw
