"""
Redaction: a report that can be handed on without names and addresses.

It works on the report, before rendering, so every format is covered. Hosts, IP and hardware addresses, GUIDs,
NQNs, UUIDs, serial numbers, user names and the folders of input files become pseudonyms; kernel addresses,
kernel releases, device names and what is known about faults stay, since that is what the report is for.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import AddressValueError, IPv4Network
from typing import Any

import msgspec
import regex

from rdmadiag.report.model import Report
from rdmadiag.report.pseudonyms import Pseudonyms
from rdmadiag.report.rewrite import Path, rewrite
from rdmadiag.report.words import PLAIN_FILE, PUBLIC_HOSTS, SUFFIX, USER_WORDS, pattern

_HOST_KEYS = {"host", "hostname", "nodename"}
_NQN_KEYS = {"nqn", "subnqn", "hostnqn"}
_SERIAL_KEYS = {"serial", "serial_number", "sn"}
_USER_KEYS = {"user", "username", "login"}
_KEPT_KEYS = {"kernel_release", "release", "type", "member", "subsystem", "kind", "clue"}
"""Keys whose values name no one: identifiers of the tool, of C and of the kernel."""
_KEPT_TOP = {"tool", "checks", "facts", "started", "schema"}
_ATTEMPTS = 16


def redact(report: Report, key: bytes | None = None, words: Iterable[str] = ()) -> Report:
    """Return *report* with pseudonyms; see :func:`redactor_for`."""
    return redactor_for(report, key, words).report(report)


def redactor_for(report: Report, key: bytes | None = None, words: Iterable[str] = ()) -> "Redactor":
    """
    Return a redactor for *report*, and for all else of the same run.

    :param key: Makes the pseudonyms; the same key gives the same ones. Without it one is drawn, and drawn
        again while a pseudonym happens to be the name of something else in the report.
    :param words: More words that must not stay.
    """
    words = list(words)
    redactor = Redactor(key or secrets.token_bytes(32), words)
    for _ in range(0 if key else _ATTEMPTS):
        redactor.report(report)
        table = redactor.names.table
        if table.keys().isdisjoint(table.values()):
            break
        redactor = Redactor(secrets.token_bytes(32), words)
    return redactor


class Redactor:
    """
    Replaces names by pseudonyms, alike in all that it is given.

    :ivar names: The pseudonyms, with the table of what stood for what.
    """

    def __init__(self, key: bytes, words: Iterable[str] = ()) -> None:
        self.names = Pseudonyms(key)
        self._words = {word for word in words if word}
        self._hosts: dict[str, str] = {}
        self._paths: dict[str, str] = {}
        self._exact: dict[str, str] = {}
        self._keep: set[str] = set()
        self._pattern: regex.Pattern[str] | None = None
        self._done: dict[str, str] = {}
        self._makers = self._all_makers()

    def report(self, report: Report) -> Report:
        """Return *report* with pseudonyms in place of names."""
        self._learn(msgspec.to_builtins(report))
        return msgspec.structs.replace(rewrite(report, self._string), redacted=True)

    def text(self, text: str) -> str:
        """Return *text* with pseudonyms in place of names; names are those of the reports before."""
        if self._pattern is None:
            self._pattern = pattern(self._hosts, self._exact, self._keep)
            self._done.clear()
        if text not in self._done:  # frames and log lines repeat
            self._done[text] = self._pattern.sub(self._replace, text)
        return self._done[text]

    def _learn(self, rows: Any) -> None:
        """Note the names that only their place tells: hosts, NQNs, serials, users, paths."""
        for path, value in _strings(rows):
            if not value or not path:
                continue
            if path[-1] in _HOST_KEYS and value != "localhost":
                self._host(value)
            elif path[-1] in _NQN_KEYS:
                self._exact[value] = self._nqn(value)
            elif path[-1] in _SERIAL_KEYS:
                self._exact[value] = self.names.name("serial", value)
            elif path[-1] in _USER_KEYS and value.lower() not in USER_WORDS:
                self._exact[value] = self.names.name("user", value)
            elif path[-1] in ("kernel_release", "release") or path[-2:] == ("fixed_in", "version"):
                self._keep.add(value)
        self._learn_paths(rows)
        for word in self._words:
            self._exact[word] = self.names.name("word", word)
        self._pattern = None

    def _host(self, name: str) -> None:
        short = name.partition(".")[0]
        self._hosts[short.lower()] = self.names.name("host", short.lower())
        self.names.table[name] = self._hosts[short.lower()]

    def _learn_paths(self, rows: Any) -> None:
        for path, value in _strings(rows):
            named = path == ("inputs", "path") or path[-2:] == ("where", "input")
            if named and value not in self._paths:
                self._paths[value] = self._path(value)
                # A word as short as a number would be replaced all over the report.
                if self._paths[value] != value and len(value) > 2:
                    self._exact[value] = self._paths[value]

    def _string(self, path: Path, text: str) -> str:
        if path[0] in _KEPT_TOP:
            return self.text(text) if path[-1] == "reason" else text
        if path[:2] == ("findings", "fixes"):
            return self.text(text) if path[-1] == "why" else text
        if path[-1] in _KEPT_KEYS or path == ("findings", "id"):
            return text
        if path[-1] in _HOST_KEYS and text:
            return self._hosts.get(text.partition(".")[0].lower(), text)
        if path[-1] in ("fingerprint", "finding") and text:
            # It is made from the host's name: whoever guesses that could check it.
            return self.names.digest("fingerprint", text).hex()[:16]
        return self._paths.get(text) or self.text(text)

    def _replace(self, match: regex.Match[str]) -> str:
        kind = match.lastgroup or ""
        return self._makers[kind](match[0])

    def _all_makers(self) -> Mapping[str, Callable[[str], str]]:
        names = self.names
        return {
            "keep": lambda text: text,
            "exact": lambda text: self._exact[text],
            "host": lambda text: self._hosts[text.partition(".")[0].lower()],
            "nqn": self._nqn,
            "uuid": names.uuid,
            "bytes": lambda text: names.hex_bytes(text, "-" if "-" in text else ":"),
            "mail": self._mail,
            "fqdn": self._fqdn,
            "net4": self._net4,
            "ip4": self._ip4,
            "ip6": self._ip6,
            "guid": self._guid,
            "enx": lambda text: "enx" + names.hex_bytes(_pairs(text[3:]), ":").replace(":", ""),
            "user": self._user,
            "home": lambda text: names.name("user", text),
            "serial": lambda text: names.name("serial", text),
        }

    def _nqn(self, text: str) -> str:
        if text.endswith(":discovery") or text == "nqn.2014-08.org.nvmexpress.discovery":
            return text
        stem = text[:11] if text[:4] in ("nqn.", "iqn.") else "nqn.2014-08"
        return self.names.target(text, stem)

    def _mail(self, text: str) -> str:
        user, _, host = text.partition("@")
        return f"{self._user(user)}@{self.names.name('host', host.split('.')[0].lower())}"

    def _user(self, text: str) -> str:
        return text if text.lower() in USER_WORDS else self.names.name("user", text)

    def _fqdn(self, text: str) -> str:
        if text.lower() in PUBLIC_HOSTS:
            return text
        return self.names.name("host", text.partition(".")[0].lower())

    def _net4(self, text: str) -> str:
        """Return a network in CIDR notation as the network of the pseudonyms."""
        address, _, bits = text.partition("/")
        try:
            IPv4Network(text)
        except ValueError:
            return f"{self._ip4(address)}/{bits}"
        return str(IPv4Network(f"{self.names.ipv4(address)}/{bits}", strict=False))

    def _ip4(self, text: str) -> str:
        try:
            return self.names.ipv4(text)
        except AddressValueError:
            return text

    def _ip6(self, text: str) -> str:
        try:
            return self.names.ipv6(text)
        except AddressValueError:
            pass
        if regex.fullmatch(r"(?:[0-9A-Fa-f]{4}:){3}[0-9A-Fa-f]{4}", text):
            return self.names.guid(text)
        head, colon, last = text.rpartition(":")
        return f"{head}{colon}{self._ip4(last)}"

    def _guid(self, text: str) -> str:
        value = int(text, 16)
        # Below: user space and small numbers. Above: kernel addresses, with four or five page levels.
        return self.names.guid(text) if 1 << 47 <= value < 0xFF << 56 else text

    def _path(self, path: str) -> str:
        parts = regex.split(r"([/!])", path)
        return "".join(part if part in "/!" else self._component(part) for part in parts)

    def _component(self, name: str) -> str:
        if PLAIN_FILE.fullmatch(name):
            return name
        suffix = SUFFIX.search(name)
        end = suffix[0] if suffix else ""
        return self.names.name("path", name) + end


def _strings(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _strings(item, (*path, key))
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, path)


def _pairs(digits: str) -> str:
    return ":".join(digits[n : n + 2] for n in range(0, len(digits), 2))
