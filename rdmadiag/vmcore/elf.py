"""Build ids of ELF files, to say which kernel a file of debug info is of."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from rdmadiag.vmcore.notes import notes_of

__all__ = ("build_id_of",)

_SHT_NOTE, _NT_GNU_BUILD_ID = 7, 3
_MAX_NOTE = 1 << 16


def build_id_of(path: Path) -> str:
    """Return the GNU build id of an ELF file in hex, ``""`` when it has none or is no such file."""
    try:
        with path.open("rb") as file:
            return next(_build_ids(file), "")
    except (OSError, ValueError, struct.error):
        return ""


def _build_ids(file: BinaryIO) -> Iterator[str]:
    """Iterate over the build ids in the note sections of a 64-bit little-endian ELF file."""
    head = file.read(64)
    if head[:6] != b"\x7fELF\x02\x01":
        return
    (offset,) = struct.unpack_from("<Q", head, 40)
    size, count = struct.unpack_from("<HH", head, 58)
    file.seek(offset)
    table = file.read(size * count)
    for i in range(count):
        _, kind, _, _, place, length = struct.unpack_from("<IIQQQQ", table, i * size)
        if kind == _SHT_NOTE and length < _MAX_NOTE:
            file.seek(place)
            for name, note, text in notes_of(file.read(length)):
                if name == b"GNU" and note == _NT_GNU_BUILD_ID:
                    yield text.hex()
