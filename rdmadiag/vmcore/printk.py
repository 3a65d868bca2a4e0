"""
Printk
------

The kernel's log buffer (``kernel/printk/printk_ringbuffer.h``), read through VMCOREINFO alone, so that it
works in a dump of which nothing else can be read. The buffer before Linux kernel commit 896fbe20b4e2
("printk: use the lockless ringbuffer") (in v5.10) is read in :mod:`.printk_old`.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from drgn import FaultError, Program

from rdmadiag.vmcore.printk_old import old_records
from rdmadiag.vmcore.printk_record import PrintkRecord, record_of
from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("PrintkRecord", "printk_records")

MAX_BITS = 26
"""Rings with more than 2**26 records or bytes are damage."""
_STATE_SHIFT, _ID_MASK = 62, (1 << 62) - 1
_COMMITTED, _FINALIZED = 1, 2


class _Ring(NamedTuple):
    """``struct printk_ringbuffer``, the parts that are needed, read at once."""

    states: bytes
    infos: bytes
    text: bytes
    head: int
    tail: int
    length: int


def printk_records(prog: Program, info: VmcoreInfo) -> Iterator[PrintkRecord]:
    """
    Iterate over the records, oldest first.

    :raises FaultError: if the buffer cannot be read
    :raises LookupError: if VMCOREINFO does not tell where it is
    """
    if info.symbol("prb") is None:
        yield from old_records(prog, info)
        return
    ring = _read_ring(prog, info)
    sizes = _need(info.size("prb_desc")), _need(info.size("printk_info"))
    begin_at = _need(info.offset("prb_desc.text_blk_lpos"))
    begin_at += _need(info.offset("prb_data_blk_lpos.begin"))
    state_at = _need(info.offset("prb_desc.state_var"))
    identity, end = ring.tail, (ring.head + 1) & _ID_MASK
    for _ in range(ring.length):
        place = identity % ring.length
        (state,) = struct.unpack_from("<Q", ring.states, place * sizes[0] + state_at)
        if state & _ID_MASK == identity and state >> _STATE_SHIFT in (_COMMITTED, _FINALIZED):
            (begin,) = struct.unpack_from("<Q", ring.states, place * sizes[0] + begin_at)
            raw = ring.infos[place * sizes[1] : (place + 1) * sizes[1]]
            yield record_of(raw, info, _text(ring.text, begin, identity))
        identity = (identity + 1) & _ID_MASK
        if identity == end:
            return


def _read_ring(prog: Program, info: VmcoreInfo) -> _Ring:
    offset = info.offset
    base = prog.read_u64(_need(info.symbol("prb")))
    desc = base + _need(offset("printk_ringbuffer.desc_ring"))
    data = base + _need(offset("printk_ringbuffer.text_data_ring"))
    bits = prog.read_u32(desc + _need(offset("prb_desc_ring.count_bits")))
    text_bits = prog.read_u32(data + _need(offset("prb_data_ring.size_bits")))
    if not 0 < bits <= MAX_BITS or not 0 < text_bits <= MAX_BITS:
        raise FaultError(
            f"the log buffer says it has 2**{bits} records, 2**{text_bits} bytes", base
        )
    count = 1 << bits
    descs = prog.read_u64(desc + _need(offset("prb_desc_ring.descs")))
    infos = prog.read_u64(desc + _need(offset("prb_desc_ring.infos")))
    text = prog.read_u64(data + _need(offset("prb_data_ring.data")))
    return _Ring(
        prog.read(descs, count * _need(info.size("prb_desc"))),
        prog.read(infos, count * _need(info.size("printk_info"))),
        prog.read(text, 1 << text_bits),
        prog.read_u64(desc + _need(offset("prb_desc_ring.head_id"))),
        prog.read_u64(desc + _need(offset("prb_desc_ring.tail_id"))),
        count,
    )


def _text(ring: bytes, begin: int, identity: int) -> bytes:
    """
    Return the text of a record, longer than it is: the record knows its length.

    A block that would reach over the end of the ring is at its start instead; the record's number, in
    front of the text, tells which.
    """
    if begin & 1:
        return b""
    for place in (begin % len(ring), 0):
        if place + 8 <= len(ring) and struct.unpack_from("<Q", ring, place)[0] == identity:
            return ring[place + 8 : place + 8 + 0x10000]
    return b""


def _need(value: int | None) -> int:
    if value is None:
        raise LookupError("VMCOREINFO does not describe the log buffer")
    return value
