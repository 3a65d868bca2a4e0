"""ELF notes: ``struct elf64_note``, name and text, each padded to four bytes."""

import struct
from collections.abc import Iterator

__all__ = ("NT_PRSTATUS", "notes_of", "pack_note")

NT_PRSTATUS = 1


def notes_of(raw: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """Iterate over name (without its final NUL), type and text; ends at the first that is not whole."""
    place = 0
    while place + 12 <= len(raw):
        name_size, size, kind = struct.unpack_from("<III", raw, place)
        name_at = place + 12
        text_at = name_at + _padded(name_size)
        place = text_at + _padded(size)
        if text_at + size > len(raw):
            return
        yield raw[name_at : name_at + name_size].rstrip(b"\0"), kind, raw[text_at : text_at + size]


def pack_note(name: bytes, kind: int, text: bytes) -> bytes:
    """Return one note."""
    named = name + b"\0"
    head = struct.pack("<III", len(named), len(text), kind)
    return head + named.ljust(_padded(len(named)), b"\0") + text.ljust(_padded(len(text)), b"\0")


def _padded(size: int) -> int:
    return -(-size // 4) * 4
