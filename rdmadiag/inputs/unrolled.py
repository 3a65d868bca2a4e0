"""
One JSON text that holds many records, as lines of one record each.

So ``jq -s`` prints an array, and so the interfaces of Elasticsearch, Loki and others answer. It is read
piece by piece: no more of it is held than one record.
"""

import re
from collections.abc import Iterator
from json import JSONDecoder

from rdmadiag.inputs.streams import Report, Stream

CHUNK = 64 << 10
NEAR = 100
MOST = 1 << 20
"""Bytes of a value that is read as one."""

MAX_DEPTH = 4
HOLDERS = ("hits", "data", "result", "results", "events", "messages", "entries", "logs", "records")
"""Names below which records are."""

_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\[\s*\{")
_ANSWER = re.compile(
    rb'(?:\xef\xbb\xbf)?\{.*"(?:%s)"\s*:\s*\[\s*\{' % "|".join(HOLDERS).encode(), re.DOTALL
)
_STREAM = re.compile(r'\{\s*"stream"\s*:')
_BLANKS = re.compile("(?:[ \t\r\n\x1e]|\xef\xbb\xbf)*")
"""With the mark before UTF-8, and the one between texts (RFC 7464)."""

_LINE_ENDS = str.maketrans("\r\n", "  ")

_decode = JSONDecoder(parse_int=str, parse_float=str, strict=False).raw_decode


def is_one_text(head: bytes) -> bool:
    """Tell whether a text that begins with *head* is one JSON text of many records: it is on one line, or an answer."""
    head = head.strip()
    first, _, rest = head.partition(b"\n")
    if _ARRAY.match(first) and (not rest or first.rstrip().endswith(b"]")):
        return True
    return bool(_ANSWER.match(head)) and not (rest and _is_whole(first))


def _is_whole(line: bytes) -> bool:
    try:
        _decode(line.decode("latin-1"))
    except (ValueError, RecursionError):
        return False
    return True


class Unrolled:
    """The records of a JSON text, a line each."""

    def __init__(self, source: Stream, report: Report) -> None:
        """:param report: Takes where the text is damaged, or too much to be read as one value."""
        self._text = _Text(source)
        self._report = report
        self._lines = self._all()
        self._pending = bytearray()

    def read(self, size: int, /) -> bytes:
        """Return at most *size* bytes, ``b""`` at the end."""
        while len(self._pending) < size and (line := next(self._lines, b"")):
            self._pending += line
        data = bytes(self._pending[:size])
        del self._pending[:size]
        return data

    def _all(self) -> Iterator[bytes]:
        """Yield the lines; several texts may follow each other."""
        try:
            while self._text.peek():
                for record in self._records(MAX_DEPTH):
                    yield record.translate(_LINE_ENDS).encode("latin-1") + b"\n"
        except (ValueError, RecursionError):
            what = f"read up to here: JSON that is cut or damaged, or a value of more than {MOST >> 20} MiB"
            self._report(what, self._text.offset)

    def _records(self, depth: int) -> Iterator[str]:
        """Yield the records in the value that comes next."""
        text = self._text
        if text.peek() == "[":
            for _ in text.elements():
                yield from self._streamed() if text.begins(_STREAM) else (text.value(),)
        elif text.peek() == "{" and depth:
            for name in text.names():
                if name in HOLDERS:
                    yield from self._records(depth - 1)
                else:
                    text.value()
        else:
            text.value()

    def _streamed(self) -> Iterator[str]:
        """Yield the lines of a stream of Loki, each with the stream's labels."""
        text, labels = self._text, "{}"
        for name in text.names():
            if name == "stream":
                labels = text.value()
            elif name == "values":
                for _ in text.elements():
                    yield f'{{"stream":{labels},"values":[{text.value()}]}}'
            else:
                text.value()


class _Text:
    """A JSON text, its bytes as characters."""

    def __init__(self, source: Stream) -> None:
        self._source = source
        self._held = ""
        self._at = 0
        self._before = 0
        self._ended = False

    @property
    def offset(self) -> int:
        """Bytes before what comes next."""
        return self._before + self._at

    def peek(self) -> str:
        """Return the next character that is no blank, or an empty string at the end."""
        while True:
            blanks = _BLANKS.match(self._held, self._at)
            self._at = blanks.end() if blanks else self._at
            if self._at < len(self._held) or not self._more():
                return self._held[self._at : self._at + 1]

    def begins(self, pattern: re.Pattern[str]) -> bool:
        """Tell whether *pattern* matches what comes next."""
        self.peek()
        while len(self._held) - self._at < NEAR and self._more():
            pass
        return bool(pattern.match(self._held, self._at))

    def value(self) -> str:
        """Return the text of the next value; of a string, its quotes, too."""
        self.peek()
        while True:
            try:
                _, end = _decode(self._held, self._at)
            except ValueError:
                if not self._more():
                    raise
                continue
            if end < len(self._held) or not self._more():
                break
        start, self._at = self._at, end
        return self._held[start:end]

    def elements(self) -> Iterator[None]:
        """Step to each element of the array that comes next; whoever steps reads it."""
        self._take("[")
        while self.peek() != "]":
            yield
            if self.peek() != "]":
                self._take(",")
        self._take("]")

    def names(self) -> Iterator[str]:
        """Yield the names in the object that comes next; whoever steps reads the value of each."""
        self._take("{")
        while self.peek() != "}":
            name = self.value().strip('"')
            self._take(":")
            yield name
            if self.peek() != "}":
                self._take(",")
        self._take("}")

    def _take(self, char: str) -> None:
        if self.peek() != char:
            raise ValueError
        self._at += 1

    def _more(self) -> bool:
        """Read on; tell whether there was more, and room for it."""
        left = len(self._held) - self._at
        if self._ended or left > MOST:
            return False
        data = self._source.read(max(CHUNK, left))
        self._ended = not data
        if data:
            held = self._held[self._at :] + data.decode("latin-1")
            self._held, self._before, self._at = held, self.offset, 0
        return bool(data)
