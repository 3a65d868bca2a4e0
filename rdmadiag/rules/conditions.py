"""
Conditions and texts of rules: Jinja2's sandbox, so that nothing in a rule file can run code.

A condition sees the fact's fields and the earlier clues by name. A comparison with a value that is unknown is
not true, as in SQL; so is one between values that cannot be compared.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from rdmadiag.errors import RuleError
from rdmadiag.rules.schema import Diagnosis

Condition = Callable[[Mapping[str, Any]], bool]
Text = Callable[[Mapping[str, Any]], str]
T = TypeVar("T")

SHOWN = 200
"""Characters of a source that are shown in what is said of it."""


@lru_cache(maxsize=4096)
def condition(source: str, where: str = "") -> Condition:
    """
    Compile *source* to a condition; an empty one is always true.

    :param where: Rule file and key, for the error text.
    :raises RuleError: If it is not an expression.
    """
    if not source.strip():
        return lambda _names: True
    from rdmadiag.rules.sandbox import RUN_FAULTS, sandbox

    expression = _compiled(sandbox().expression, source, f"{where}: not an expression")

    def holds(names: Mapping[str, Any]) -> bool:
        sandbox().begin()
        try:
            return bool(expression(names))
        except RUN_FAULTS:
            return False

    return holds


@lru_cache(maxsize=4096)
def template(source: str, where: str = "") -> Text:
    """
    Compile *source*, a text with ``{{ expressions }}``.

    :raises RuleError: If it is not a template.
    """
    if "{" not in source:
        plain = source.strip()
        return lambda _names: plain
    from rdmadiag.rules.sandbox import RUN_FAULTS, sandbox

    compiled = _compiled(sandbox().text, source.strip(), f"{where}: not a template")

    def text(names: Mapping[str, Any]) -> str:
        sandbox().begin()
        try:
            return sandbox().join(compiled.generate(names))
        except RUN_FAULTS as e:
            return f"(text of {where or 'rule'} could not be made: {e})"

    return text


def _compiled(compiler: Callable[[str], T], source: str, what: str) -> T:
    from rdmadiag.rules.language import MAX_SOURCE
    from rdmadiag.rules.sandbox import SOURCE_FAULTS

    if len(source) > MAX_SOURCE:
        raise RuleError(f"{what}: longer than {MAX_SOURCE:,} characters")
    try:
        return compiler(source)
    except SOURCE_FAULTS as error:
        said = getattr(error, "message", error)
        raise RuleError(f"{what}: {source[:SHOWN]!r}: {said}") from error


def texts_of(rule: Diagnosis) -> Iterator[tuple[str, str, Callable[[str, str], object]]]:
    """Yield the conditions and texts of *rule* that are about its clues: (key, source, what compiles it)."""
    for verdict in ("confirmed", "probable", "possible"):
        yield f"verdict.{verdict}", getattr(rule.verdict, verdict), condition
    for name in ("title", "summary", "explanation"):
        yield name, getattr(rule, name), template
    for key, text in rule.subject.items():
        yield f"subject.{key}", text, template
    for severity, source in rule.severity_when.items():
        yield f"severity_when.{severity}", source, condition
    for row in rule.ruled_out:
        yield "ruled_out.when", row.when, condition
        yield "ruled_out.because", row.because, template
    for step in rule.next_steps:
        yield "next_steps.when", step.when, condition
        yield "next_steps.text", step.text, template
        yield "next_steps.command", step.command, template


def compile_all(rule: Diagnosis, where: str) -> None:
    """
    Compile all conditions and texts of *rule*: a fault is to be told before anything was read.

    :raises RuleError: If one is none.
    """
    for name, clue in rule.clues.items():
        condition(clue.when, f"{where}: clues.{name}.when")
    for name, source, compiler in texts_of(rule):
        compiler(source, f"{where}: {name}")
