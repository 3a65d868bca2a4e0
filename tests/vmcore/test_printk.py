"""Log buffers of both kinds, made by hand: what wraps, what is damaged, what was printed in pieces."""

import struct

import drgn
import pytest

from rdmadiag.vmcore.printk import LogBuffer
from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

BASE = 0xFFFFFFFF82000000
PLATFORM = drgn.Platform(
    drgn.Architecture.X86_64,
    drgn.PlatformFlags.IS_64_BIT | drgn.PlatformFlags.IS_LITTLE_ENDIAN,
)

NEW = """SYMBOL(prb)=ffffffff82000000
OFFSET(printk_ringbuffer.desc_ring)=0
OFFSET(printk_ringbuffer.text_data_ring)=48
OFFSET(prb_desc_ring.count_bits)=0
OFFSET(prb_desc_ring.descs)=8
OFFSET(prb_desc_ring.infos)=16
OFFSET(prb_desc_ring.head_id)=24
OFFSET(prb_desc_ring.tail_id)=32
SIZE(prb_desc)=24
OFFSET(prb_desc.state_var)=0
OFFSET(prb_desc.text_blk_lpos)=8
OFFSET(prb_data_blk_lpos.begin)=0
SIZE(printk_info)=88
OFFSET(printk_info.seq)=0
OFFSET(printk_info.ts_nsec)=8
OFFSET(printk_info.text_len)=16
OFFSET(printk_info.caller_id)=20
OFFSET(prb_data_ring.size_bits)=0
OFFSET(prb_data_ring.data)=8
"""
DESCS, INFOS, TEXT = 0x1000, 0x2000, 0x4000


def program(memory):
    prog = drgn.Program(PLATFORM)

    def read(address, count, offset, _physical):
        if (address - BASE) // 0x1000 in memory.missing:
            raise drgn.FaultError("gone", address)
        return bytes(memory.raw[offset : offset + count])

    prog.add_memory_segment(BASE, len(memory.raw), read)
    return prog


class Memory:
    def __init__(self, size=0x6000):
        self.raw = bytearray(size)
        self.missing = set()

    def put(self, at, code, *values):
        struct.pack_into("<" + code, self.raw, at, *values)


def ring(records, tail=0, count_bits=3, text_bits=8, states=None):
    """Lay out records (level, caller, text), the oldest with number *tail*."""
    memory = Memory()
    memory.put(0, "Q", BASE + 0x100)
    desc, data = 0x100, 0x130
    memory.put(
        desc, "IxxxxQQQQ", count_bits, BASE + DESCS, BASE + INFOS, tail + len(records) - 1, tail
    )
    memory.put(data, "IxxxxQ", text_bits, BASE + TEXT)
    lpos, size = 0, 1 << text_bits
    for i, (level, caller, text) in enumerate(records):
        number = tail + i
        place = number % (1 << count_bits)
        need = -(-(8 + len(text)) // 8) * 8
        start = lpos % size
        if start + need > size:
            begin, lpos, start = lpos, (lpos // size + 1) * size, 0
        else:
            begin = lpos
        lpos += need
        state = (states or {}).get(i, 2)
        memory.put(DESCS + 24 * place, "QQQ", state << 62 | number, begin, lpos)
        memory.put(
            INFOS + 88 * place,
            "QQHBBI",
            1000 + number,
            1_500_000_000 + i,
            len(text),
            0,
            level << 5,
            caller,
        )
        memory.put(TEXT + start, "Q", number)
        memory.raw[TEXT + start + 8 : TEXT + start + 8 + len(text)] = text
    return memory


def records_of(memory, info=NEW):
    buffer = LogBuffer(program(memory), VmcoreInfo(info.encode()))
    return list(buffer.records()), buffer


def test_records():
    found, buffer = records_of(ring([(3, 77, b"first"), (6, 0x80000002, b"second\nline")]))
    assert [tuple(record) for record in found] == [
        (1000, 1.5, 3, 0, "T77", "first"),
        (1001, 1.500000001, 6, 0, "C2", "second\nline"),
    ]
    assert buffer.lost == 0


def test_the_rings_wrap():
    texts = [b"x" * n for n in (30, 80, 41, 60, 77)]
    found, _ = records_of(ring([(6, 1, text) for text in texts[-3:]], tail=6))
    assert [record.text for record in found] == [text.decode() for text in texts[-3:]]
    assert [record.seq for record in found] == [1006, 1007, 1008]


def test_records_that_are_not_written_are_passed_over():
    found, _ = records_of(
        ring([(6, 1, b"a"), (6, 1, b"b"), (6, 1, b"c")], states={0: 3, 1: 0, 2: 1})
    )
    assert [record.text for record in found] == ["c"]


def test_text_that_was_overwritten_is_empty():
    memory = ring([(6, 1, b"gone"), (6, 1, b"there")])
    memory.put(TEXT, "Q", 12345)
    found, _ = records_of(memory)
    assert [record.text for record in found] == ["", "there"]


def test_a_record_without_text():
    memory = ring([(6, 1, b"a")])
    memory.put(DESCS + 8, "QQ", 3, 3)
    found, _ = records_of(memory)
    assert [record.text for record in found] == [""]


def test_bytes_that_are_not_text():
    found, _ = records_of(ring([(6, 1, b"\xff\x1b[31m")]))
    assert found[0].text == "\\xff\x1b[31m"


def test_missing_pages_cost_their_records_only():
    memory = ring([(6, 1, b"a" * 100), (6, 1, b"b" * 60)], text_bits=13)
    memory.missing = {2}
    found, buffer = records_of(memory)
    assert (found, buffer.lost) == ([], 2)


def test_a_ring_of_impossible_size_is_damage():
    memory = ring([(6, 1, b"a")])
    memory.put(0x100, "I", 99)
    with pytest.raises(drgn.FaultError, match=r"2\*\*99"):
        records_of(memory)


def test_a_head_far_from_the_tail_is_bounded():
    memory = ring([(6, 1, b"a")])
    memory.put(0x100 + 24, "Q", 1 << 40)
    found, _ = records_of(memory)
    assert [record.text for record in found] == ["a"]


def test_no_description_is_a_lookup_error():
    with pytest.raises(LookupError):
        records_of(ring([(6, 1, b"a")]), NEW.replace("OFFSET(prb_desc.state_var)=0\n", ""))
    with pytest.raises(LookupError):
        records_of(ring([(6, 1, b"a")]), "OSRELEASE=4.1.12\n")


OLD = """SYMBOL(log_buf)=ffffffff82000000
SYMBOL(log_buf_len)=ffffffff82000008
SYMBOL(log_first_idx)=ffffffff8200000c
SYMBOL(log_next_idx)=ffffffff82000010
SIZE(printk_log)=16
OFFSET(printk_log.ts_nsec)=0
OFFSET(printk_log.len)=8
OFFSET(printk_log.text_len)=10
OFFSET(printk_log.dict_len)=12
"""
BUFFER = 0x1000
NEWLINE, PREFIX, CONT = 2, 4, 8


def old(records, size=512, first=0):
    memory = Memory()
    place = first
    for nsec, level, flags, text in records:
        length = -(-(16 + len(text)) // 4) * 4
        if place + length > size:
            memory.put(BUFFER + place, "QH", 0, 0)
            place = 0
        memory.put(BUFFER + place, "QHHHBB", nsec, length, len(text), 0, 0, level << 5 | flags)
        memory.raw[BUFFER + place + 16 : BUFFER + place + 16 + len(text)] = text
        place += length
    memory.put(0, "QIII", BASE + BUFFER, size, first, place)
    return memory


def test_old_records():
    lines = [(1_000_000_000, 6, NEWLINE, b"one"), (2_000_000_000, 4, NEWLINE, b"two")]
    found, _ = records_of(old(lines), OLD)
    assert [tuple(record) for record in found] == [
        (0, 1.0, 6, 0, "", "one"),
        (1, 2.0, 4, 0, "", "two"),
    ]


def test_old_records_wrap():
    lines = [(i, 6, NEWLINE, b"%d" % i + b"." * 60) for i in range(5)]
    found, _ = records_of(old(lines, size=512, first=320), OLD)
    assert [record.text[0] for record in found] == list("01234")


def test_old_lines_that_were_printed_in_pieces_are_one_record():
    lines = [
        (1, 6, PREFIX, b"CPU features:"),
        (1, 6, CONT, b" a"),
        (1, 6, CONT | NEWLINE, b" b"),
        (2, 6, PREFIX | NEWLINE, b"next"),
    ]
    found, _ = records_of(old(lines), OLD)
    assert [record.text for record in found] == ["CPU features: a b", "next"]


def test_the_name_of_the_old_struct_before_v3_11():
    info = OLD.replace("printk_log", "log")
    found, _ = records_of(old([(1, 6, NEWLINE, b"one")]), info)
    assert [record.text for record in found] == ["one"]


def test_an_old_ring_without_end_is_bounded():
    memory = old([(1, 6, NEWLINE, b"one")], size=512)
    memory.put(16, "I", 999_999)
    found, _ = records_of(memory, OLD)
    assert [record.text for record in found] == ["one"]


def test_an_old_record_that_reaches_over_the_end():
    memory = old([(1, 6, NEWLINE, b"one")], size=512)
    memory.put(BUFFER + 8, "H", 508)
    memory.put(16, "I", 4)
    with pytest.raises(drgn.FaultError):
        records_of(memory, OLD)


def test_an_old_buffer_of_impossible_size():
    memory = old([(1, 6, NEWLINE, b"one")])
    memory.put(8, "I", 0)
    with pytest.raises(drgn.FaultError):
        records_of(memory, OLD)
