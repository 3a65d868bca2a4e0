"""Turns a sample into other formats of dumps."""

import struct
from pathlib import Path

from rdmadiag.vmcore.corefile import read_core_file

PAGE = 4096


def flattened(data: bytes, piece: int = 1 << 16) -> bytes:
    """A dump as QEMU writes it: flattened, and without the kernel's name in the header."""
    raw = bytearray(data)
    raw[12:402] = bytes(390)
    out = bytearray(b"makedumpfile\0\0\0\0" + struct.pack(">qq", 1, 1)).ljust(PAGE, b"\0")
    for place in range(0, len(raw), piece):
        part = raw[place : place + piece]
        out += struct.pack(">qq", place, len(part)) + part
    return bytes(out + struct.pack(">qq", -1, -1))


def elf(path: Path, many: bool = False) -> bytes:
    """The same pages as an ELF core, a segment for each run of pages; *many*: with PN_XNUM."""
    import zlib

    core = read_core_file(path)
    data, header = path.read_bytes(), core.kdump
    start, length = header.second_bitmap
    bits = int.from_bytes(data[start : start + length], "little")
    pages, place = {}, header.descriptors
    for pfn in range(bits.bit_length()):
        if bits >> pfn & 1:
            offset, size, flags, _ = struct.unpack_from("<QIIQ", data, place)
            body = data[offset : offset + size]
            pages[pfn] = zlib.decompress(body) if flags & 1 else body
            place += 24
    runs = []
    for pfn in sorted(pages):
        if runs and runs[-1][-1] == pfn - 1:
            runs[-1].append(pfn)
        else:
            runs.append([pfn])
    return pack_elf(core.notes, runs, pages, many)


def pack_elf(notes: bytes, runs, pages, many: bool) -> bytes:
    count = len(runs) + 1
    section = 64 if many else 0
    heads_at = 64 + section
    notes_at = heads_at + 56 * count
    place = -(-(notes_at + len(notes)) // PAGE) * PAGE
    heads = [struct.pack("<IIQQQQQQ", 4, 0, notes_at, 0, 0, len(notes), len(notes), 0)]
    body = b""
    for run in runs:
        size = len(run) * PAGE
        heads.append(
            struct.pack("<IIQQQQQQ", 1, 7, place + len(body), 0, run[0] * PAGE, size, size, PAGE)
        )
        body += b"".join(pages[pfn] for pfn in run)
    head = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01",
        4,
        62,
        1,
        0,
        heads_at,
        64 if many else 0,
        0,
        64,
        56,
        0xFFFF if many else count,
        64,
        1 if many else 0,
        0,
    )
    if many:
        head += struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, count, 0, 0)
    return (head + b"".join(heads) + notes).ljust(place, b"\0") + body
