"""Records as objects: journalctl's JSON and export formats, other JSON lines, and CSV exports."""

import csv
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rdmadiag.lazy import Lazy
from rdmadiag.logs.dates import Order, numeric_stamp
from rdmadiag.logs.grammar import Hints, Parsed, filled, parse, short_host
from rdmadiag.logs.shapes import LEVELS
from rdmadiag.logs.stamps import MONTH, Stamp, date_stamp, iso_stamp

MESSAGE_KEYS = (
    "MESSAGE",
    "_raw",
    "message",
    "msg",
    "log",
    "@message",
    "text",
    "line",
    "event",
    "body",
    "content",
)
TIME_KEYS = ("_time", "@timestamp", "timestamp", "time", "ts", "datetime", "date")
HOST_KEYS = (
    *("_HOSTNAME", "host", "hostname", "Host", "HOST", "node", "syslog_host"),
    *("host.name", "host.hostname"),
)
IDENT_KEYS = ("SYSLOG_IDENTIFIER", "_COMM", "ident", "program", "tag", "appname", "process")
NESTED = ("result", "_source", "fields", "record", "message")
COLUMNS = {name.lower(): name for name in (*MESSAGE_KEYS, *TIME_KEYS, *HOST_KEYS)}
"""Known names of columns, by how they are written in lower case: people and viewers capitalise them."""
NAMED_COLUMNS = 2
"""So many names must be known where nothing but the first line says that a log is an export."""

CSV_ROW = Lazy(
    r'"?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"?[,;\t]'
    r'(?!\d{3,9}[ +Z-])|"?\d{10}(?:\.\d+)?"?[,;\t]'
)
"""A row whose first cell is a time and nothing else: a line of a syslog may hold quotes and commas, too."""
VERBOSE = Lazy(
    r"(?:[A-Z][a-z]{2} )?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \S+ \[s=[0-9a-f]{1,32};(?P<cursor>[^\]\s]{1,200})\]"
)
"""The line that begins an entry of ``journalctl -o verbose``."""

_ENTRY_TIME = Lazy(
    rf'{VERBOSE.pattern}|\s*"?__REALTIME_TIMESTAMP"?(?:=|\s*:\s*")(?P<micros>\d{{1,19}})(?!\d)'
)
_CURSOR_TIME = Lazy(r"(?:^|;)t=(?P<micros>[0-9a-f]{1,15})(?:;|$)")
_PAIR = Lazy(r'\s*(?P<key>[\w@.-]{1,64})=(?P<value>"(?:[^"\\]|\\.)*"|[^\s"]*)(?=\s|$)')
_FIELD = Lazy(r" {4}(?P<key>[A-Z_][A-Z0-9_]{0,63})=(?P<value>.*)", re.DOTALL)
_SHOWN = Lazy(
    rf"(?P<month>{MONTH}) (?P<day>\d{{1,2}}), (?P<year>\d{{4}}) @ (?P<clock>\d\d:\d\d:\d\d(?:\.\d{{1,9}})?)"
)
_NUMBER = re.compile(r"\d{9,19}(?:\.\d+)?")


def parse_object(data: Mapping[str, Any], hints: Hints) -> Parsed | None:
    """Return the record that an object of named values is, or ``None`` when it has no message."""
    data = _unnested(data)
    message = _first(data, MESSAGE_KEYS)
    if message is None:
        return None
    text = _text(message)
    outer = Parsed(
        _stamp(data, hints.order), text, host=short_host(_text(_first(data, HOST_KEYS) or ""))
    )
    outer.ident = _ident(data)
    outer.level = _priority(_first(data, ("PRIORITY", "pri", "priority", "level", "severity")))
    inner = parse(text, hints) if "MESSAGE" not in data else None
    return filled(inner, outer) if inner else outer


def _unnested(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an object with what is in the one that it only wraps: a document, or a line of a stream of Loki."""
    match data:
        case {"stream": dict(labels), "values": [[time, line, *_]]}:
            return {**labels, "ts": time, "line": line}
    for key in NESTED:
        inside = data.get(key)
        if isinstance(inside, dict):
            return {**data, **inside}
    return data


def _first(data: Mapping[str, Any], keys: Sequence[str]) -> Any:
    for key in keys:
        value = data.get(key)
        if value is not None and value != "":
            return value.get("name", "") if isinstance(value, dict) else value
    return None


def _text(value: Any) -> str:
    """Return a value as text: journald gives bytes that are not clean UTF-8 as an array of numbers."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        if all(isinstance(b, int) and 0 <= b < 256 for b in value):
            return bytes(value).decode("utf-8", "backslashreplace")
        return _text(value[0]) if value else ""
    return str(value)


def _stamp(data: Mapping[str, Any], order: Order) -> Stamp:
    micro = _micros(data, "_SOURCE_REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP")
    uptime = _micros(data, "_SOURCE_MONOTONIC_TIMESTAMP", "__MONOTONIC_TIMESTAMP")
    stamp = Stamp(wall=micro, uptime=uptime, boot=_text(data.get("_BOOT_ID") or ""))
    if "pri" in data and isinstance(data.get("time"), float):  # dmesg --json
        stamp.uptime = data["time"]
    elif micro is None:
        read = _time(_first(data, TIME_KEYS), order)
        stamp.wall, stamp.zoneless = read.wall, read.zoneless
    if "MESSAGE" in data and _text(data.get("_TRANSPORT") or "") != "kernel":
        stamp.uptime = _micros(data, "__MONOTONIC_TIMESTAMP")
    return stamp


def _micros(data: Mapping[str, Any], *keys: str) -> float | None:
    for key in keys:
        text = _text(data.get(key) or "")
        if text.isascii() and text.isdigit() and len(text) < 20:
            return int(text) / 1e6
    return None


def _time(value: Any, order: Order) -> Stamp:
    """Read a time: ISO 8601, as Kibana shows it, or seconds, milli-, micro- or nanoseconds since the epoch."""
    if value is None:
        return Stamp()
    text = _text(value).strip()
    if shown := _SHOWN.match(text):
        return date_stamp(shown["month"], shown["day"], shown["clock"], shown["year"]) or Stamp()
    if not _NUMBER.fullmatch(text):
        stamp = iso_stamp(text)
        return stamp if stamp.known else numeric_stamp(text, order)
    number = float(text)
    while number > 1e11:
        number /= 1000
    return Stamp(number)


def _ident(data: Mapping[str, Any]) -> str:
    ident = _text(_first(data, IDENT_KEYS) or "")
    if not ident and _text(data.get("_TRANSPORT") or "") == "kernel":
        return "kernel"
    pid = _text(data.get("SYSLOG_PID") or data.get("_PID") or "")
    return f"{ident}[{pid}]" if pid and ident != "kernel" else ident


def _priority(value: Any) -> int | None:
    text = _text(value).lower() if value is not None else ""
    if text.isascii() and text.isdigit():
        return int(text[-3:]) & 7
    for number, name in enumerate(LEVELS):
        if text.startswith(name):
            return number
    return None


def parse_named(text: str, hints: Hints) -> Parsed | None:
    """Return the record of a line of named values: of JSON, or ``key=value`` as logfmt has it."""
    return parse_json(text, hints) or (None if text.startswith("{") else _parse_pairs(text, hints))


def _parse_pairs(text: str, hints: Hints) -> Parsed | None:
    """Read ``time=... level=info msg="..."``; a message without quotes goes to the end of the line."""
    data: dict[str, str] = {}
    end, key = 0, ""
    while pair := _PAIR.match(text, end):
        key, end = pair["key"], pair.end()
        data[key] = _unquoted(pair["value"])
    if end < len(text.rstrip()):
        if key not in MESSAGE_KEYS:
            return None
        data[key] += text[end:]
    return parse_object(data, hints) if any(key in data for key in TIME_KEYS) else None


def _unquoted(value: str) -> str:
    if not value.startswith('"'):
        return value
    try:
        return msgspec.json.decode(value, type=str)
    except msgspec.DecodeError:
        return value[1:-1]


def parse_json(text: str, hints: Hints) -> Parsed | None:
    """Return the record of a line of JSON, also with the frame of ``json-sse`` and ``json-seq``."""
    text = text.removeprefix("data: ").lstrip("\x1e ").rstrip().rstrip(",")
    try:
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return parse_object(data, hints) if isinstance(data, dict) else None


def parse_export(entry: bytes, hints: Hints) -> Parsed | None:
    """Return the record of an entry of journalctl's export format: ``KEY=text``, or KEY, size and bytes."""
    data: dict[str, Any] = {}
    position = 0
    while position < len(entry):
        end = entry.find(b"\n", position)
        end = len(entry) if end < 0 else end
        key, equals, value = entry[position:end].partition(b"=")
        position = end + 1
        if not equals:
            size = int.from_bytes(entry[position : position + 8], "little")
            value = entry[position + 8 : position + 8 + size]
            position += 8 + size + 1
        data.setdefault(key.decode("ascii", "replace"), value.decode("utf-8", "backslashreplace"))
    return parse_object(data, hints) if data else None


def parse_verbose(entry: bytes, hints: Hints) -> Parsed | None:
    """Return the record of an entry of ``journalctl -o verbose``: its cursor tells when it was received."""
    first, *rest = entry.decode("utf-8", "backslashreplace").split("\n")
    head = VERBOSE.match(first)
    if head is None:
        return None
    data: dict[str, Any] = {}
    key = ""
    for line in rest:
        if field := _FIELD.match(line.rstrip("\r")):
            key = field["key"]
            data.setdefault(key, field["value"])
        elif key:  # the value goes on, below its beginning
            data[key] += "\n" + line.rstrip("\r")[len(key) + 5 :]
    parts = dict(p.partition("=")[::2] for p in head["cursor"].split(";"))
    for letter, name in (("t", "__REALTIME_TIMESTAMP"), ("m", "__MONOTONIC_TIMESTAMP")):
        if re.fullmatch("[0-9a-f]{1,15}", parts.get(letter, "")):
            data.setdefault(name, str(int(parts[letter], 16)))
    data.setdefault("_BOOT_ID", parts.get("b", ""))
    return parse_object(data, hints)


def entry_time(text: str) -> Parsed | None:
    """Return the time of a journal's entry of several lines, if this is the one that tells it."""
    match = _ENTRY_TIME.match(text)
    if match is None:
        return None
    if match["micros"]:
        return Parsed(Stamp(int(match["micros"]) / 1e6), "")
    time = _CURSOR_TIME.search(match["cursor"])
    return Parsed(Stamp(int(time["micros"], 16) / 1e6), "") if time else None


class Columns:
    """
    The columns of a CSV export.

    :ivar names: Their names, when the first line gave them; *known*: how many of them say what they hold.
    """

    def __init__(self, head: str) -> None:
        """:param head: First line of the file."""
        self.delimiter = max(",;\t", key=head.count)
        cells = self._cells(head)
        known = [COLUMNS.get(c.strip().lower()) for c in cells]
        self.names = [name or cell for name, cell in zip(known, cells, strict=True)]
        self.known = sum(1 for name in known if name)
        if not self.known:
            self.names = []
        self.head = head if self.names else ""

    def _cells(self, text: str) -> list[str]:
        try:
            rows = list(csv.reader([text], delimiter=self.delimiter))
        except csv.Error:
            return []
        return rows[0] if rows else []

    def parse(self, text: str, hints: Hints) -> Parsed | None:
        """Return the record of a row; of columns without names, the one that is a record itself or the longest."""
        text = text.rstrip("\r\n")
        cells = self._cells(text.replace("\n", "\x00"))
        if not cells or text == self.head:
            return None
        cells = [c.replace("\x00", "\n") for c in cells]
        if self.names:
            parsed = parse_object(dict(zip(self.names, cells, strict=False)), hints)
            if parsed:
                return parsed
        return self._unnamed(cells, hints)

    def _unnamed(self, cells: list[str], hints: Hints) -> Parsed | None:
        stamps = (_time(cell, hints.order) for cell in cells)
        stamp = next((s for s in stamps if s.known), None)
        if stamp is None:
            return None
        longest = max(cells, key=len)
        outer = Parsed(stamp, longest)
        for cell in sorted(cells, key=len, reverse=True):
            inner = parse(cell, hints)
            if inner and inner.message:
                return filled(inner, outer)
        return outer
