"""Records: what the lines of a log are read to."""

import msgspec

from rdmadiag.facts.model import Moment


class Record(msgspec.Struct):
    """
    One record of a log.

    :ivar line: Line number from 1 of its first line.
    :ivar offset: Byte offset of its first line in the (decompressed) log.
    :ivar raw: Its line or lines as in the file, capped.
    :ivar host: Short lower-case host name, or ``""``.
    :ivar level: Kernel log level 0..7 when a prefix or field gives it.
    :ivar caller: printk's caller id (``T123``, ``C0``), or ``""``.
    :ivar ident: Who wrote it (``kernel``, ``systemd[1]``), or ``""``.
    :ivar message: Text after all prefixes. A blank that leads it is the kernel's own (frames, continued lists).
    :ivar repeated: How often it stands for (``message repeated 5 times``).
    """

    line: int
    offset: int
    raw: bytes
    host: str
    time: Moment
    level: int | None
    caller: str
    ident: str
    message: str
    repeated: int = 1

    @property
    def text(self) -> str:
        """The raw line as text, undecodable bytes as backslash escapes."""
        return self.raw.decode("utf-8", "backslashreplace")
