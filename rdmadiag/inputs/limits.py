"""How much of an input is read: every input is untrusted, also in its size."""

import msgspec

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


class Limits(msgspec.Struct, frozen=True):
    """
    Bounds on what is read.

    :ivar line: Bytes of a line that are kept; the rest is counted.
    :ivar free: Decompressed bytes that are always allowed.
    :ivar ratio: Decompressed to compressed bytes allowed beyond *free*. A log that repeats itself can exceed
        it honestly, so data that still looks like lines of text may go on to *total*.
    :ivar total: Decompressed bytes of such a stream beyond what *ratio* allows.
    :ivar members: Members of an archive that are looked at.
    :ivar files: Files below a directory.
    :ivar depth: Directories below a directory.
    :ivar window: Memory that a decompressor may ask for.
    """

    line: int = 64 * KIB
    free: int = 64 * MIB
    ratio: int = 200
    total: int = 4 * GIB
    members: int = 200_000
    files: int = 100_000
    depth: int = 24
    window: int = 96 * MIB


DEFAULT = Limits()
