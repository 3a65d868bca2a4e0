"""A dump as QEMU writes it for arm64: flattened, in pages of 64 KiB, whatever the kernel's are."""

import random
import struct
import zlib

import pytest
from drgn import FaultError
from drgn.helpers.linux.pid import find_task

from rdmadiag.errors import UserError
from rdmadiag.vmcore import kdump_pages
from rdmadiag.vmcore.corefile import read_core_file
from rdmadiag.vmcore.dump import open_dump
from rdmadiag.vmcore.kdump_flat import FlatFile
from rdmadiag.vmcore.kdump_pages import KdumpPages

from .samples import path_of, shared

NAME = "rds-stuck-recv"
WIDE, PAGE = 65536, 4096
ZLIB, SNAPPY = 1, 4


def wide(flags: int = ZLIB) -> bytes:
    """The sample in pages of 64 KiB; what the sample has not is zeros."""
    core = read_core_file(path_of(NAME))
    header = core.kdump
    small = KdumpPages(core.path, header, None)
    start, length = header.second_bitmap
    data = core.path.read_bytes()
    bits = int.from_bytes(data[start : start + length], "little")
    pages: dict[int, bytearray] = {}
    for pfn in range(bits.bit_length()):
        if bits >> pfn & 1:
            page = pages.setdefault(pfn // 16, bytearray(WIDE))
            at = pfn % 16 * PAGE
            page[at : at + PAGE] = small.read(pfn * PAGE, PAGE, 0, True)
    return packed(core.notes, core.vmcoreinfo, pages, flags)


def packed(notes: bytes, info: bytes, pages: dict[int, bytearray], flags: int) -> bytes:
    notes_at = WIDE + 4096
    frames = max(pages) + 1
    sub = struct.pack(
        "<QiiQQQQQQQQQQQ", 0, 1, 0, 0, 0, 0, 0, notes_at, len(notes), 0, 0, 0, 0, frames
    )
    head = struct.pack("<8si390s", b"KDUMP   ", 6, b"").ljust(424, b"\0")
    head += struct.pack("<IiiIIIIIIi", ZLIB, WIDE, 1, 2, frames, 0, 0, len(pages), 0, 1)
    bitmap = bytearray(WIDE)
    for pfn in pages:
        bitmap[pfn // 8] |= 1 << pfn % 8
    descriptors, bodies = b"", b""
    place = 4 * WIDE + 24 * len(pages)
    for pfn in sorted(pages):
        body = zlib.compress(bytes(pages[pfn]), 1)
        descriptors += struct.pack("<QIIQ", place + len(bodies), len(body), flags, 0)
        bodies += body
    front = head.ljust(WIDE, b"\0") + sub.ljust(4096, b"\0") + notes
    return front.ljust(2 * WIDE, b"\0") + bytes(bitmap) * 2 + descriptors + bodies


def flattened(data: bytes, seed: int = 7) -> bytes:
    """In pieces of odd sizes; those behind the headers in any order."""
    dice = random.Random(seed)
    first, rest, place = [(0, data[:WIDE]), (WIDE, data[WIDE : 2 * WIDE])], [], 2 * WIDE
    while place < len(data):
        size = dice.choice((16, 4097, 30000))
        rest.append((place, data[place : place + size]))
        place += size
    dice.shuffle(rest)
    out = b"makedumpfile\0\0\0\0".ljust(PAGE, b"\0")
    out += b"".join(struct.pack(">qq", at, len(part)) + part for at, part in (*first, *rest))
    return out + struct.pack(">qq", -1, -1)


@pytest.fixture(scope="module")
def whole() -> bytes:
    return wide()


@pytest.mark.parametrize("convert", [bytes, flattened])
def test_reads_as_the_dump_does(tmp_path, whole, convert):
    path = tmp_path / "vmcore"
    path.write_bytes(convert(whole))
    dump = open_dump(path)
    assert dump.types == "btf"
    assert dump.problems == shared(NAME).problems
    stacks = [one.stack(find_task(one.prog, 9)) for one in (dump, shared(NAME))]
    assert [str(frame) for frame in stacks[0]] == [str(frame) for frame in stacks[1]]
    assert len(stacks[0]) > 5


@pytest.mark.parametrize("convert", [bytes, flattened])
def test_compressed_as_nothing_here_can_undo(tmp_path, convert):
    path = tmp_path / "vmcore"
    path.write_bytes(convert(wide(SNAPPY)))
    with pytest.raises(UserError, match="not of the kernel's size"):
        open_dump(path)


@pytest.mark.parametrize("which", [1, -1])
def test_damaged(tmp_path, whole, which):
    data = bytearray(flattened(whole))
    places, place = [], PAGE
    while place < len(data) - 16:
        places.append(place)
        place += 16 + struct.unpack_from(">q", data, place + 8)[0]
    assert len(places) > 256, "more pieces than are looked at for the headers"
    struct.pack_into(">q", data, places[which] + 8, 1 << 60)
    path = tmp_path / "vmcore"
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"flattened dump (that )?is damaged"):
        open_dump(path)


def test_pages_are_kept_up_to_a_size(tmp_path, whole, monkeypatch):
    path = tmp_path / "vmcore"
    path.write_bytes(whole)
    core = read_core_file(path)
    every = KdumpPages(path, core.kdump, None)
    monkeypatch.setattr(kdump_pages, "_KEPT", 3 * WIDE)
    some = KdumpPages(path, core.kdump, None)
    read = 0
    for place in [*range(0, core.kdump.max_mapnr * WIDE, WIDE)] * 2:
        try:
            wanted = every.read(place, 64, 0, True)
        except FaultError:
            continue
        assert some.read(place, 64, 0, True) == wanted
        read += 1
    assert read > 6
    assert some._page.cache_info().currsize == 3


def test_of_two_pieces_for_one_place_the_later_counts(tmp_path):
    path = tmp_path / "flat"
    pieces = [(0, b"old!"), (4, b"next"), (0, b"new!"), (8, b"last")]
    data = b"makedumpfile".ljust(PAGE, b"\0")
    data += b"".join(struct.pack(">qq", at, len(part)) + part for at, part in pieces)
    path.write_bytes(data + struct.pack(">qq", -1, -1))
    with path.open("rb") as file:
        flat = FlatFile(file.fileno())
        assert flat.read(0, 12) == b"new!nextlast"
        assert flat.read(2, 4) == b"w!ne"
        assert flat.read(10, 9) == b"st"


def test_bitmap_that_is_far_longer_than_the_file(tmp_path, whole):
    data = bytearray(whole)
    struct.pack_into("<I", data, 436, 0xFFFFFFFF)  # bitmap_blocks
    path = tmp_path / "vmcore"
    path.write_bytes(flattened(bytes(data)))
    pages = KdumpPages(path, read_core_file(path).kdump, None, flat=True)
    with pytest.raises(FaultError, match="not in the dump"):
        pages.read(0x100000, 8, 0, True)
