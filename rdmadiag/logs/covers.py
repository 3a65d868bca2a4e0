"""
What collectors of logs put before each line: a time of their own, and a pod, container, service or labels.

The first lines of a log tell it. What follows is read as if it stood there alone; time and host are taken from
the cover where the line has none itself.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from rdmadiag.lazy import Lazy
from rdmadiag.logs.grammar import Hints, Parsed, parse, short_host
from rdmadiag.logs.stamps import Stamp, iso_stamp
from rdmadiag.logs.wrapping import looks_like_kernel

if TYPE_CHECKING:
    import re

_NAME = r"[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?"
_POD = rf"(?=[a-z0-9.]+-)(?P<host>{_NAME})"
_MADE = rf"(?P<made>{_NAME}-(?:[bcdfghjklmnpqrstvwxz2456789]{{5}}|\d{{1,4}}))"
"""Name of a pod as Kubernetes ends it, of which it makes no words: apimachinery's ``SafeEncodeString()``, or a number."""
_TIME = r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d))"
_NANO = r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7,9}Z)"
"""A time that no log daemon writes, so that it is not the line's own."""
_LABEL = r'[\w.]{1,100}="(?:[^"\\]|\\.){0,1000}"'

_SURE = (
    Lazy(rf"{_TIME} (?P<labels>\{{(?:{_LABEL}(?:, ?)?){{0,60}}\}})(?: +|$)"),  # logcli
    Lazy(rf"{_TIME} std(?:out|err) [FP](?: |$)"),  # files of container runtimes
    Lazy(rf"\[pod/(?P<host>{_NAME})/{_NAME}\](?: {_NANO})?(?: |$)"),  # kubectl logs --prefix
    Lazy(rf"{_NANO}(?: |$)"),  # kubectl or docker logs --timestamps
)
_LIKELY = (
    Lazy(rf"(?:\S{{1,200}}@)?(?P<host>[\w.-]{{1,200}}) +\|(?: {_NANO})?(?: |$)"),  # docker compose
    Lazy(rf"\[(?P<host>{_NAME})(?: {_NAME})?\](?: {_NANO})? "),  # kubetail
    # stern, of all namespaces
    Lazy(rf"(?:{_NAME} {_MADE}|[a-z0-9]+ {_POD}) {_NAME}(?: {_NANO})? "),
    Lazy(rf"{_POD} {_NAME}(?: {_NANO})? "),  # stern
)
"""These might be words, or a table: the same must stand before many lines, or what follows must read like a log."""

_HOST = Lazy(
    r'\b(?:host(?:name)?|node(?:_?name)?|kubernetes_(?:node_name|host)|instance|pod)="(?P<host>[^":\\]{1,255})'
)


class Around(msgspec.Struct, frozen=True):
    """What the cover of a line says."""

    stamp: Stamp
    host: str

    def filled(self, parsed: Parsed) -> Parsed:
        """Return a record with what only its cover says."""
        parsed.stamp = parsed.stamp.filled(self.stamp)
        parsed.host = parsed.host or self.host
        return parsed


class Cover(msgspec.Struct, frozen=True):
    """
    What is put before each line of a log.

    :ivar named: Its names count as hosts, as no line names one itself.
    """

    pattern: Lazy[str]
    named: bool = False

    def bare(self, line: bytes) -> bytes:
        """Return a line without it."""
        match = self.pattern.match(line.decode("latin-1"))
        return line[match.end() :] if match else line

    def parted(self, text: str) -> tuple[Around | None, str]:
        """Return what it says, and the rest of the line."""
        match = self.pattern.match(text)
        if match is None:
            return None, text
        host = _host(match) if self.named else ""
        return Around(_stamp(match), host), text[match.end() :]


def _stamp(match: "re.Match[str]") -> Stamp:
    return iso_stamp(match["time"] or "")


def _host(match: "re.Match[str]") -> str:
    groups = match.groupdict()
    labels = _HOST.search(groups.get("labels") or "")
    return short_host(labels["host"] if labels else groups.get("made") or groups.get("host") or "")


def find_cover(texts: Sequence[str], *, headed: bool) -> Cover | None:
    """
    Return what is put before most of the lines *texts*, or ``None``.

    :param headed: Many of them have heads as they are.
    """
    for pattern in _SURE:
        if matches := _matches(pattern, texts):
            return _cover(pattern, matches)
    found = [(p, _matches(p, texts)) for p in (() if headed else _LIKELY)]
    likely = [(p, m) for p, m in found if m and (_repeats(m) or _reads_better(m))]
    return _cover(*max(likely, key=lambda x: _readable(x[1]))) if likely else None


def _matches(pattern: Lazy[str], texts: Sequence[str]) -> list["re.Match[str]"]:
    """Return the matches, if there are enough."""
    matches = [m for m in map(pattern.match, texts) if m]
    return matches if len(matches) * 3 >= len(texts) * 2 else []


def _cover(pattern: Lazy[str], matches: Sequence["re.Match[str]"]) -> Cover:
    hints = Hints()
    heads = (parse(_rest(m), hints) for m in matches)
    return Cover(pattern, named=not any(head.host for head in heads if head))


def _rest(match: "re.Match[str]") -> str:
    return match.string[match.end() :]


def _repeats(matches: Sequence["re.Match[str]"]) -> bool:
    return len({m[0].replace(m["time"] or " ", "") for m in matches}) * 5 <= len(matches)


def _reads_better(matches: Sequence["re.Match[str]"]) -> bool:
    """Tell whether most lines read like records of a log without what is before them, and few with it."""
    with_it = sum(1 for m in matches if _reads(m.string))
    without = _readable(matches)
    return without * 2 >= len(matches) and without >= with_it * 2


def _readable(matches: Sequence["re.Match[str]"]) -> int:
    return sum(1 for m in matches if _reads(_rest(m)))


def _reads(text: str) -> bool:
    return text.startswith('{"') or looks_like_kernel(text) or parse(text, Hints()) is not None
