"""Lines as text: what transport and terminals did to them is undone."""

import binascii
import re

import msgspec

from rdmadiag.lazy import Lazy

LINE = 64 << 10

_CONTROL = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_NULS = re.compile(rb"\0{8,}")
_PADDING = re.compile(r"(?<=\w) {60,}(?=[\w=])")
_LEAD = re.compile(rb"[ \t]*(?:>[ \t]?)*")
_SOFT_BREAK = re.compile(rb"=[ \t]*\Z")
_ENTITY = Lazy(
    r"&(?:lt|gt|amp|quot|apos|nbsp|#(?:9|10|13|[3-9]\d|\d{3,7})|#[xX](?:9|[aAdD]|[2-9a-fA-F][\da-fA-F]{1,5}));"
)
"""None that stands for a control character."""
_TAG = Lazy(
    rb"(?i)</?(?:br|p|pre|div|span|code|tt|html|body|table|tbody|tr|td|li|[ou]l)\b[^<>]{0,500}>"
)
_BREAK = Lazy(rb"(?i)<br\b[^<>]{0,500}>|</(?:p|pre|div|tr|li)>")
MAX_ESCAPED = 3


class Line(msgspec.Struct):
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


def times_escaped(sample: bytes) -> int:
    """Return how often a text was escaped for HTML: most ampersands begin an entity then."""
    times = 0
    while times < MAX_ESCAPED and (ampersands := sample.count(b"&")):
        if len(_ENTITY.findall(sample.decode("latin-1"))) * 2 < ampersands:
            break
        sample, times = b"\n".join(unescaped(sample, 1)), times + 1
    return times


def has_brackets(sample: bytes) -> bool:
    """Tell whether angle brackets stand elsewhere than in tags of HTML: then not all of them were escaped."""
    text = _TAG.sub(b"", sample)
    return b"<" in text or b">" in text


def unescaped(raw: bytes, times: int) -> list[bytes]:
    """Undo the escapes of HTML, and its tags, which may part a line."""
    import html

    text = _TAG.sub(b"", _BREAK.sub(b"\n", raw)).decode("utf-8", "surrogateescape")
    for _ in range(times):
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    return text.replace("\xa0", " ").encode("utf-8", "surrogateescape").split(b"\n")
