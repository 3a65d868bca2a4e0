"""The samples of event rules: what ``rules check`` and ``rules test`` try."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rdmadiag.logs.compiled import event_files
from rdmadiag.logs.compiler import compile_pattern
from rdmadiag.logs.vocabulary import Vocabulary
from rdmadiag.rules.load import read_yaml
from rdmadiag.rules.schema import EventFile, EventRule


def check_samples(dirs: Sequence[Path]) -> Iterator[str]:
    """
    Try the samples of all event rules below *dirs* against the whole vocabulary.

    :returns: What is wrong, as ``file: path of the key: what``; nothing when all is well.
    :raises RuleError: On a file that does not follow the schema.
    """
    vocabulary = Vocabulary.load(dirs)
    for directory in dirs:
        for path in event_files(directory):
            for number, rule in enumerate(read_yaml(path, EventFile).events):
                yield from check_rule(vocabulary, rule, f"{path}: events[{number}]")


def count_samples(dirs: Sequence[Path]) -> int:
    """Return how many samples the event rules below *dirs* have: lines that match, and lines that must not."""
    rules = (r for d in dirs for path in event_files(d) for r in read_yaml(path, EventFile).events)
    return sum(len(r.samples.match) + len(r.samples.miss) for r in rules)


def check_rule(vocabulary: Vocabulary, rule: EventRule, where: str) -> Iterator[str]:
    """Yield what is wrong with the samples of one rule; *where* begins each text."""
    pattern = compile_pattern(rule, where)[0]
    for number, sample in enumerate(rule.samples.match):
        at = f"{where}.samples.match[{number}]"
        found = [m for m in vocabulary.match(sample.text) if m.rule.event == rule.event]
        own = [m for m in found if m.rule.pattern == pattern]
        if not own:
            taken = ", ".join(m.rule.event for m in vocabulary.match(sample.text)) or "nothing"
            yield f"{at}: not matched by this rule, but by {taken}: {sample.text}"
            continue
        for name, value in sample.fields.items():
            if own[0].fields.get(name, ...) != value:
                yield f"{at}.fields.{name}: is {own[0].fields.get(name)!r}, not {value!r}"
    for number, text in enumerate(rule.samples.miss):
        if any(m.rule.pattern == pattern for m in vocabulary.match(text)):
            yield f"{where}.samples.miss[{number}]: matched: {text}"
