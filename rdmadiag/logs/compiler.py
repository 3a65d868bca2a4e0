"""From the YAML of event files to the form that is loaded: checks, expansion of patterns, choice of literals."""

from collections.abc import Iterator
from pathlib import Path

import regex

from rdmadiag.errors import RuleError
from rdmadiag.logs.compiled import (
    Compiled,
    CompiledDriver,
    Format,
    Rule,
    event_files,
)
from rdmadiag.logs.formats import format_runs
from rdmadiag.logs.patterns import (
    MIN_LITERAL,
    PatternError,
    best_literal,
    fixed_runs,
    index_word,
    loosen_blanks,
    typed_groups,
    usable,
)
from rdmadiag.logs.words import points_to_rdma
from rdmadiag.rules.load import read_yaml
from rdmadiag.rules.schema import EventFile, EventRule

_KIND = regex.compile(r"[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+|[a-z][a-z0-9_]*")


def compile_rules(directory: Path) -> Compiled:
    """
    Read and check the event files of a folder of rules.

    :raises RuleError: With the file, the path of the key, and what is wrong there.
    """
    out = Compiled([], [], [], {})
    for path in event_files(directory):
        content = read_yaml(path, EventFile)
        out.rules += [_rule(rule, f"{path}: events[{i}]") for i, rule in enumerate(content.events)]
        out.tables.update(content.tables)
        out.drivers += [_driver(path, name, content) for name in content.drivers]
        out.formats += _formats(content)
    return out


def compile_pattern(rule: EventRule, where: str) -> tuple[str, dict[str, str], str]:
    """
    Return a rule's pattern for ``regex``, the types of its groups, and the pattern its literals come from.

    :raises RuleError: On a pattern that does not compile or could take exponential time.
    """
    try:
        typed, types = typed_groups(rule.pattern)
        pattern = loosen_blanks(typed)
        index = usable(pattern).groupindex
    except PatternError as error:
        raise RuleError(f"{where}.pattern: {error}") from error
    if missing := set(rule.fields) - set(index):
        raise RuleError(f"{where}.fields.{min(missing)}: the pattern has no such group")
    kinds = dict.fromkeys(index, "str") | types | dict(rule.fields)
    # In the order of the pattern: two runs must give the same bytes.
    return pattern, {name: kinds[name] for name in sorted(kinds, key=index.__getitem__)}, typed


def _rule(rule: EventRule, where: str) -> Rule:
    if not _KIND.fullmatch(rule.event):
        raise RuleError(f"{where}.event: {rule.event!r} is not a name like hca.cq_error")
    if not rule.samples.match:
        raise RuleError(f"{where}.samples.match: no line that must match")
    if not rule.samples.miss:
        raise RuleError(f"{where}.samples.miss: no line that must not match")
    pattern, types, typed = compile_pattern(rule, where)
    _check_names(rule, types, where)
    literals = _literals(rule, typed, where)
    return Rule(
        event=rule.event,
        subsystem=rule.subsystem,
        level=rule.level,
        meaning=rule.meaning,
        pattern=pattern,
        types=types,
        set=rule.set,
        values=rule.values,
        difference=rule.difference,
        literals=literals,
        companions=_listed(rule.companion),
        words=_words(rule, literals, where),
    )


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) and value else list(value)


def _check_names(rule: EventRule, types: dict[str, str], where: str) -> None:
    known = set(types) | set(rule.set)
    for name in rule.values:
        if name not in known:
            raise RuleError(f"{where}.values.{name}: the rule has no such field")
    for name, pair in rule.difference.items():
        if not set(pair) <= known:
            raise RuleError(f"{where}.difference.{name}: the rule has no such fields")


def _literals(rule: EventRule, typed: str, where: str) -> list[str]:
    literals = _listed(rule.literal) or [best_literal(fixed_runs(typed))]
    if any(len(x) < MIN_LITERAL for x in literals):
        key = "literal" if rule.literal else "pattern"
        raise RuleError(f"{where}.{key}: no fixed part of {MIN_LITERAL} or more characters")
    return literals


def _words(rule: EventRule, literals: list[str], where: str) -> list[str]:
    """
    Return an index word for each literal, or none at all when a literal has no whole word.

    :raises RuleError: On a literal that no sample holds: nothing would show whether it finds its lines.
    """
    words = []
    for literal in literals:
        texts = [" ".join(s.text.split()) for s in rule.samples.match]
        held = [t for t in texts if literal in t]
        if not held:
            raise RuleError(f"{where}.samples.match: no line with the literal {literal!r}")
        words.append(index_word(literal, held))
    return sorted(set(words)) if all(words) else []


def _driver(path: Path, name: str, content: EventFile) -> CompiledDriver:
    driver = content.drivers[name]
    where = f"{path}: drivers.{name}"
    if not driver.literals or any(len(x) < MIN_LITERAL for x in driver.literals):
        raise RuleError(f"{where}.literals: none, or one shorter than {MIN_LITERAL} characters")
    prefix = _prefix(driver.prefix, f"{where}.prefix")
    own = _prefix(driver.own, f"{where}.own")
    return CompiledDriver(name, driver.subsystem, prefix, driver.literals, own)


def _prefix(pattern: str, where: str) -> str:
    try:
        prefix = loosen_blanks(typed_groups(pattern)[0])
        usable(prefix)
    except PatternError as error:
        raise RuleError(f"{where}: {error}") from error
    return prefix


def _formats(content: EventFile) -> Iterator[Format]:
    """Yield the formats that can be told: those of conversions only are left to the driver's prefix."""
    for file, messages in content.messages.items():
        for text, function in messages.formats.items():
            literal = best_literal(format_runs(text))
            word = index_word(literal, [_bounded(text)])
            if word:
                alone = points_to_rdma(literal) and len(literal) >= 10
                yield Format(text, function, file, messages.driver, literal, word, alone)


def _bounded(text: str) -> str:
    """Return the format with its conversions made part of the words they touch."""
    return regex.sub(r"%[-+ #0-9.*]*(?:hh|h|ll|l|z)?[a-zA-Z]", "_0", text)
