"""The vocabulary: which messages are known, and what fact each one is."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from rdmadiag.errors import RuleError
from rdmadiag.facts.model import Fields
from rdmadiag.logs.alike import Shapes, is_kept, needle
from rdmadiag.logs.compiled import Compiled, Format, Rule, read_compiled
from rdmadiag.logs.drivers import MESSAGE_KIND, Begin, Driver, Match, given_up
from rdmadiag.logs.fields import convert, counter_difference
from rdmadiag.logs.formats import format_pattern
from rdmadiag.logs.starters import STARTERS
from rdmadiag.logs.timed import TimedPatterns
from rdmadiag.logs.words import words_of

MAX_MESSAGE = 8192

Span = tuple[int, int]


class _Candidates(NamedTuple):
    """What messages of one shape may say: numbers of rules, formats, drivers."""

    rules: list[int]
    formats: list[Format]
    drivers: list[Driver]


class Vocabulary:
    """All event rules and formats, looked up by the words of a message."""

    def __init__(self, parts: Iterable[Compiled]) -> None:
        """:param parts: The shipped rules first; what comes later is tried first and replaces its like."""
        self._patterns = TimedPatterns()
        self._format_patterns = TimedPatterns(format_pattern)
        self._tables: dict[str, dict[str, str]] = {}
        rules: dict[tuple[str, str], Rule] = {}
        self._formats: list[Format] = []
        self._drivers: dict[str, Driver] = {}
        self._driver_literals: list[str] = []
        for part in parts:
            own = {(r.event, r.pattern): r for r in part.rules}
            rules = own | {k: r for k, r in rules.items() if k not in own}
            self._formats += part.formats
            self._drivers |= {d.name: Driver(d, self._patterns) for d in part.drivers}
            self._driver_literals += [x for d in part.drivers for x in d.literals]
            self._tables |= part.tables
        self.rules = list(rules.values())
        self._driver_literals = list(dict.fromkeys(self._driver_literals))
        self._shapes = Shapes(self._candidates)
        self._index_rules()

    @classmethod
    def load(cls, dirs: Sequence[Path]) -> "Vocabulary":
        """
        Load the event rules below each of *dirs* (``DIR/events/*.yaml``).

        :param dirs: The folder of shipped rules, then those of ``--rules``. A rule of a later folder is
            tried before the earlier ones; with the same event and pattern it replaces them.
        :raises RuleError: With the file, the path of the key, and what is wrong there.
        """
        vocabulary = cls([_compiled(d) for d in dirs])
        vocabulary.check_names()
        return vocabulary

    def check_names(self) -> None:
        """
        Check that the tables and drivers that rules name exist.

        :raises RuleError: Naming the rule.
        """
        for rule in self.rules:
            for field, table in rule.values.items():
                if isinstance(table, str) and table not in self._tables:
                    raise RuleError(f"{rule.event}: values.{field}: no table {table!r}")
        for name in {f.driver for f in self._formats} - set(self._drivers):
            raise RuleError(f"messages: no driver {name!r}")

    def _index_rules(self) -> None:
        self._by_word: dict[str, list[int]] = {}
        self._by_literal: list[int] = []
        self._loose: set[int] = set()
        for number, rule in enumerate(self.rules):
            for word in rule.words:
                self._by_word.setdefault(word, []).append(number)
            if not rule.words:
                self._by_literal.append(number)
            elif not all(map(is_kept, rule.words)):
                self._loose.add(number)
        self._formats_by_word: dict[str, list[Format]] = {}
        self._loose_formats: list[Format] = []
        for text in self._formats:
            if is_kept(text.word):
                self._formats_by_word.setdefault(text.word, []).append(text)
            else:
                self._loose_formats.append(text)

    @cached_property
    def _needles(self) -> list[tuple[list[str], list[str]]]:
        """For each rule what a shape must hold one of: for its literals, and for its companions if it has any."""
        return [
            ([needle(x) for x in r.literals], [needle(x) for x in r.companions]) for r in self.rules
        ]

    def _candidates(self, shape: str) -> _Candidates:
        """Return what messages of a shape may say."""
        words = set(words_of(shape))
        numbers = {n for w in words & self._by_word.keys() for n in self._by_word[w]}
        numbers.update(self._by_literal, self._loose)
        formats = [
            f for w in words & self._formats_by_word.keys() for f in self._formats_by_word[w]
        ]
        return _Candidates(
            [n for n in sorted(numbers) if self._may_match(n, shape)],
            [f for f in (*formats, *self._loose_formats) if needle(f.literal) in shape],
            [d for d in self._drivers.values() if d.may_begin(shape)],
        )

    def _may_match(self, number: int, shape: str) -> bool:
        literals, companions = self._needles[number]
        if not any(x in shape for x in literals):
            return False
        return not companions or any(x in shape for x in companions)

    @property
    def timeouts(self) -> int:
        """How many times a pattern was given up because it took too long."""
        return self._patterns.timeouts + self._format_patterns.timeouts

    @cached_property
    def event_kinds(self) -> set[str]:
        """The kinds of facts that messages give."""
        return {MESSAGE_KIND, *(r.event for r in self.rules)}

    @cached_property
    def _scan(self) -> dict[str, set[str] | None]:
        """Literal -> companions of which a line needs one, or ``None`` when it needs none."""
        scan: dict[str, set[str] | None] = dict.fromkeys(STARTERS)
        for rule in self.rules:
            for literal in rule.literals:
                known = scan.get(literal, set())
                scan[literal] = (
                    known | set(rule.companions) if known is not None and rule.companions else None
                )
        scan |= dict.fromkeys(self._driver_literals)
        return scan | dict.fromkeys(f.literal for f in self._formats if f.alone)

    @cached_property
    def literals(self) -> list[bytes]:
        """What the block scanner looks for: every line that gives a fact or opens a trace holds one."""
        return [x.encode() for x in self._scan]

    @cached_property
    def companions(self) -> list[tuple[bytes, ...]]:
        """For each of :attr:`literals`: strings of which its line must hold one; empty when it needs none."""
        return [tuple(c.encode() for c in sorted(x or ())) for x in self._scan.values()]

    def match(self, message: str) -> list[Match]:
        """
        Return what *message* says: mostly nothing or one thing, more when records were glued together.

        Event rules go before formats, and of two event rules that match the same part the first one counts.
        """
        message = message[:MAX_MESSAGE]
        if "  " in message or "\t" in message:
            message = " ".join(message.split())
        candidates = self._shapes.of(message)
        matches = list(self._match_rules(message, candidates.rules))
        if matches or not (candidates.formats or candidates.drivers):
            return matches
        try:
            found = self._match_format(message, candidates)
        except TimeoutError:
            found = given_up(MESSAGE_KIND)
        return [found] if found else []

    def _match_rules(self, message: str, candidates: list[int]) -> Iterator[Match]:
        taken: list[Span] = []
        for number in candidates:
            rule = self.rules[number]
            if not _plausible(rule, message) or not self._has_word(number, message):
                continue
            try:
                found = self._patterns.search(rule.pattern, message)
            except TimeoutError:
                yield given_up(rule.event)
                continue
            if found and not any(a < found.end() and found.start() < b for a, b in taken):
                taken.append(found.span())
                yield Match(rule, self._fields(rule, found.groupdict()))

    def _has_word(self, number: int, message: str) -> bool:
        """Tell whether a rule's index words are in the message, where its shape does not tell."""
        return number not in self._loose or not {*self.rules[number].words}.isdisjoint(
            words_of(message)
        )

    def _fields(self, rule: Rule, groups: dict[str, Any]) -> Fields:
        fields: Fields = {n: convert(kind, groups[n]) for n, kind in rule.types.items()}
        fields |= rule.set
        for name, table in rule.values.items():
            known = self._tables.get(table, {}) if isinstance(table, str) else table
            raw = groups.get(name)
            meaning = known.get(str(fields.get(name)), known.get(raw) if raw else None)
            if meaning is not None:
                fields[f"{name}_meaning"] = meaning
        for name, (ahead, behind) in rule.difference.items():
            fields[name] = counter_difference(fields.get(ahead), fields.get(behind))
        return fields

    def _match_format(self, message: str, candidates: _Candidates) -> Match | None:
        begins = {d.name: b for d in candidates.drivers if (b := d.begins(message))}
        found = [f for f in candidates.formats if (begins or f.alone) and f.literal in message]
        found.sort(key=lambda f: (f.driver not in begins, -len(f.literal), f.file))
        found.sort(key=lambda f: not (f.driver in begins and begins[f.driver].own))
        for text in found:
            begin = begins.get(text.driver)
            if (begin or text.alone) and self._prints(text, message):
                return (begin or Begin(self._drivers[text.driver], None, own=False)).match(text)
        return next((b.match(None) for b in begins.values() if b.own), None)

    def _prints(self, text: Format, message: str) -> bool:
        return self._format_patterns.search(text.format, message) is not None


def _compiled(directory: Path) -> Compiled:
    compiled = read_compiled(directory)
    if compiled is None:
        from rdmadiag.logs.compiler import compile_rules

        compiled = compile_rules(directory)
    return compiled


def _plausible(rule: Rule, message: str) -> bool:
    """Tell whether the prefilter would have found the line for this rule."""
    return _holds(message, rule.literals) and (
        not rule.companions or _holds(message, rule.companions)
    )


def _holds(message: str, texts: list[str]) -> bool:
    return any(map(message.__contains__, texts))  # a third of the time that a generator takes
