"""
Printk
------

The kernel's log buffer (``kernel/printk/printk_ringbuffer.h``), read through VMCOREINFO alone, so that it
works in a dump of which nothing else can be read. The buffer before Linux kernel commit 896fbe20b4e2
("printk: use the lockless ringbuffer") (in v5.10) is read in :mod:`.printk_old`.
"""

from collections.abc import Iterator
from functools import cached_property

from drgn import FaultError, Program

from rdmadiag.vmcore.printk_old import old_records
from rdmadiag.vmcore.printk_record import PrintkRecord, record_of
from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("LogBuffer", "PrintkRecord")

MAX_BITS = 26
"""Rings with more than 2**26 records or bytes are damage."""
_STATE_SHIFT, _ID_MASK = 62, (1 << 62) - 1
_COMMITTED, _FINALIZED = 1, 2


class LogBuffer:
    """
    The log buffer of a dump.

    :ivar lost: Number of records whose memory is not in the dump, once they were read.
    """

    def __init__(self, prog: Program, info: VmcoreInfo) -> None:
        self._prog = prog
        self._info = info
        self.lost = 0

    def records(self) -> Iterator[PrintkRecord]:
        """
        Iterate over the records, oldest first.

        :raises FaultError: if nothing of the buffer can be read
        :raises LookupError: if VMCOREINFO does not tell where it is
        """
        if self._info.symbol("prb") is None:
            yield from old_records(self._prog, self._info)
            return
        for identity in self._identities():
            try:
                record = self._record(identity)
            except FaultError:
                self.lost += 1
                continue
            if record:
                yield record

    @cached_property
    def _descs(self) -> int:
        """Address of ``printk_ringbuffer.desc_ring`` (``struct prb_desc_ring``)."""
        base: int = self._prog.read_u64(_need(self._info.symbol("prb")))
        return base + self._offset("printk_ringbuffer.desc_ring")

    @cached_property
    def _texts(self) -> tuple[int, int]:
        """Address and size of the ring of texts, from ``struct prb_data_ring``."""
        base: int = self._prog.read_u64(_need(self._info.symbol("prb")))
        ring = base + self._offset("printk_ringbuffer.text_data_ring")
        bits = self._prog.read_u32(ring + self._offset("prb_data_ring.size_bits"))
        data = self._prog.read_u64(ring + self._offset("prb_data_ring.data"))
        return data, 1 << _sane(bits, ring)

    @cached_property
    def _count(self) -> int:
        place = self._descs + self._offset("prb_desc_ring.count_bits")
        return 1 << _sane(self._prog.read_u32(place), place)

    def _offset(self, member: str) -> int:
        return _need(self._info.offset(member))

    def _identities(self) -> Iterator[int]:
        """Iterate over the numbers of the descriptors, from the oldest to the newest."""
        read = self._prog.read_u64
        head = read(self._descs + self._offset("prb_desc_ring.head_id"))
        tail = read(self._descs + self._offset("prb_desc_ring.tail_id"))
        length = min(((head - tail) & _ID_MASK) + 1, self._count)
        return ((tail + i) & _ID_MASK for i in range(length))

    @cached_property
    def _arrays(self) -> tuple[int, int, int, int]:
        """Address and element size of the descriptors, and of the records' ``struct printk_info``."""
        return (
            self._prog.read_u64(self._descs + self._offset("prb_desc_ring.descs")),
            _need(self._info.size("prb_desc")),
            self._prog.read_u64(self._descs + self._offset("prb_desc_ring.infos")),
            _need(self._info.size("printk_info")),
        )

    def _record(self, identity: int) -> PrintkRecord | None:
        """
        Return the record with a number, ``None`` when it is not written yet.

        :raises FaultError: if a part of it cannot be read
        """
        descs, desc_size, infos, info_size = self._arrays
        place = identity % self._count
        desc = descs + place * desc_size
        state = self._prog.read_u64(desc + self._offset("prb_desc.state_var"))
        if state & _ID_MASK != identity:
            raise FaultError("another record is where it should be", desc)
        if state >> _STATE_SHIFT not in (_COMMITTED, _FINALIZED):
            return None
        begin = desc + self._offset("prb_desc.text_blk_lpos")
        begin = self._prog.read_u64(begin + self._offset("prb_data_blk_lpos.begin"))
        record, length = record_of(
            self._prog.read(infos + place * info_size, info_size), self._info
        )
        text = self._text(begin, identity, length)
        return record._replace(text=text.decode(errors="backslashreplace"))

    def _text(self, begin: int, identity: int, length: int) -> bytes:
        """
        Return the text of a record.

        A block that would reach over the end of the ring is at its start instead; the record's number, in
        front of the text, tells which.
        """
        data, size = self._texts
        if begin & 1:
            return b""
        for place in (begin % size, 0):
            if place + 8 <= size and self._prog.read_u64(data + place) == identity:
                raw: bytes = self._prog.read(data + place + 8, min(length, size - place - 8))
                return raw
        return b""


def _sane(bits: int, place: int) -> int:
    if not 0 < bits <= MAX_BITS:
        raise FaultError(f"the log buffer says it has 2**{bits} elements", place)
    return bits


def _need(value: int | None) -> int:
    if value is None:
        raise LookupError("VMCOREINFO does not describe the log buffer")
    return value
