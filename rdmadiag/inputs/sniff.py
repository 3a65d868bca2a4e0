"""What some bytes are, by their beginning and never by a file's name."""

import codecs
from enum import Enum

HEAD = 64 << 10
"""How many bytes :func:`sniff` wants to see, if there are so many."""

TAR_BLOCK = 512


class Kind(Enum):
    """What a stream of bytes is."""

    EMPTY = "empty"
    ELF_CORE = "ELF core"
    KDUMP = "kdump-compressed dump"
    DISKDUMP = "diskdump"
    FLATTENED = "flattened dump"
    ELF_OTHER = "ELF file that is not a core"
    GZIP = "gzip"
    XZ = "xz"
    BZIP2 = "bzip2"
    ZSTD = "zstd"
    LZ4 = "lz4"
    TAR = "tar"
    ZIP = "zip"
    UTF16 = "UTF-16 text"
    TEXT = "text"
    BINARY = "binary"
    JOURNAL = "systemd journal file"
    COMPRESS = "compress (.Z)"
    LZ4_LEGACY = "lz4 in its legacy format"
    UNSUPPORTED = "archive of a kind that is not read"


DUMPS = frozenset({Kind.ELF_CORE, Kind.KDUMP, Kind.DISKDUMP, Kind.FLATTENED})
COMPRESSED = frozenset({Kind.GZIP, Kind.XZ, Kind.BZIP2, Kind.ZSTD, Kind.LZ4})
ARCHIVES = frozenset({Kind.TAR, Kind.ZIP})
LOGS = frozenset({Kind.TEXT, Kind.UTF16, Kind.BINARY, Kind.EMPTY})

_MAGIC = (
    (b"KDUMP   ", Kind.KDUMP),
    (b"DISKDUMP", Kind.DISKDUMP),
    (b"makedumpfile\0", Kind.FLATTENED),
    (b"\x1f\x8b\x08", Kind.GZIP),
    (b"\xfd7zXZ\0", Kind.XZ),
    (b"BZh", Kind.BZIP2),
    (b"\x28\xb5\x2f\xfd", Kind.ZSTD),
    (b"\x04\x22\x4d\x18", Kind.LZ4),
    (b"\x02\x21\x4c\x18", Kind.LZ4_LEGACY),
    (b"\x1f\x9d", Kind.COMPRESS),
    (b"LPKSHHRH", Kind.JOURNAL),
    (b"PK\x03\x04", Kind.ZIP),
    (b"PK\x05\x06", Kind.ZIP),
    (b"7z\xbc\xaf\x27\x1c", Kind.UNSUPPORTED),
    (b"Rar!\x1a\x07", Kind.UNSUPPORTED),
    (b"\xff\xfe", Kind.UTF16),
    (b"\xfe\xff", Kind.UTF16),
)
_ELF = b"\x7fELF"
_ET_CORE = 4
_PRINTABLE = bytes(range(0x20, 0x7F)) + b"\t\n\r\x1b"


def sniff(head: bytes) -> Kind:
    """Return what the stream that begins with *head* is; *head* should be :data:`HEAD` bytes or all there are."""
    if not head:
        return Kind.EMPTY
    if head.startswith(_ELF):
        return _elf(head)
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if _is_tar(head):
        return Kind.TAR
    return Kind.TEXT if _is_text(head) else Kind.BINARY


def _elf(head: bytes) -> Kind:
    order = "big" if head[5:6] == b"\x02" else "little"
    core = int.from_bytes(head[16:18], order) == _ET_CORE  # type: ignore[arg-type]
    return Kind.ELF_CORE if core else Kind.ELF_OTHER


def _is_tar(head: bytes) -> bool:
    """Check the header's sum: the magic alone is not in every tar, and might be in a text."""
    block = head[:TAR_BLOCK]
    if len(block) < TAR_BLOCK or not block[0]:
        return False
    try:
        wanted = int(block[148:156].split(b"\0")[0].strip() or b"x", 8)
    except ValueError:
        return False
    return sum(block[:148]) + sum(block[156:]) + 8 * ord(" ") == wanted


def _is_text(head: bytes) -> bool:
    """
    Tell text from other bytes.

    Runs of NUL are what a file system leaves in a log at a power cut, so they count for nothing.
    """
    rest = head.replace(b"\0", b"")
    if not rest:
        return False
    odd = len(rest.translate(None, _PRINTABLE))
    if odd * 10 < len(rest) * 3:
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(rest)
    except UnicodeDecodeError:
        return False
    return not rest.translate(None, bytes(range(0x20, 0x100)) + b"\t\n\r\x1b")
