"""Lines as text: what transport and terminals did to them is undone."""

import binascii
import html
import re
from dataclasses import dataclass

LINE = 64 << 10

_CONTROL = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#(?:34|39|x2[27]));")
_NULS = re.compile(rb"\0{8,}")
_PADDING = re.compile(r"(?<=\w) {60,}(?=[\w=])")
_LEAD = re.compile(rb"[ \t]*(?:>[ \t]?)*")
_SOFT_BREAK = re.compile(rb"=[ \t]*\Z")


@dataclass(slots=True)
class Line:
    """
    A physical line, or what was put together of several.

    :ivar number: Line number from 1.
    :ivar offset: Byte offset in the (decompressed) log.
    :ivar raw: Without its line end, and no longer than a line may be.
    :ivar whole: It is a record: it has a head, so has the next line, and nothing in it needs repair.
    """

    number: int
    offset: int
    raw: bytes
    whole: bool = False


def pieces(line: Line) -> list[Line]:
    """Part a line at runs of NUL bytes, which stand where a file system lost blocks."""
    if b"\0" not in line.raw:
        return [line]
    parts: list[Line] = []
    start = 0
    for match in _NULS.finditer(line.raw):
        parts.append(Line(line.number, line.offset + start, line.raw[start : match.start()]))
        start = match.end()
    parts.append(Line(line.number, line.offset + start, line.raw[start:]))
    return [p for p in parts if p.raw] or parts[:1]


def squeezed(data: bytearray, start: int, end: int) -> bytes:
    """Return the line between two positions, long runs of NUL bytes made short, and cut."""
    if end - start <= LINE:
        return bytes(data[start:end])
    return _NULS.sub(b"\0" * 8, bytes(data[start:end]))[:LINE]


def text_of(raw: bytes) -> list[str]:
    """Return the text of a line; a stray carriage return that is followed by a new record parts it."""
    if b"\x1b" in raw:
        raw = _CONTROL.sub(b"", raw)
    text = raw.decode("utf-8", "backslashreplace").replace("\0", "").removeprefix("\ufeff")
    if "                                                            " in text:
        text = _PADDING.sub("", text)
    if "&" in text:
        text = _ENTITY.sub(lambda match: html.unescape(match[0]), text)
    if "\r" not in text:
        return [text]
    return [t for t in text.strip("\r").split("\r") if t] or [""]


def lead_of(raw: bytes) -> bytes:
    """Return the quote marks and blanks that a line begins with."""
    match = _LEAD.match(raw)
    return match[0] if match else b""


def ends_softly(raw: bytes) -> bool:
    """Tell whether a quoted-printable line goes on in the next one."""
    return bool(_SOFT_BREAK.search(raw.rstrip(b"\r")))


def unquoted(raw: bytes) -> bytes:
    """Undo quoted-printable; *raw* is a line with its soft breaks still in it."""
    return binascii.a2b_qp(raw.replace(b"\r\n", b"\n"))
