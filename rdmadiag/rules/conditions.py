"""
Conditions and texts of rules: Jinja2's sandbox, so that nothing in a rule file can run code.

A condition sees the fact's fields and the earlier clues by name. A comparison with a value that is unknown is
not true, as in SQL; so is one between values that cannot be compared.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from rdmadiag.errors import RuleError

Condition = Callable[[Mapping[str, Any]], bool]
Text = Callable[[Mapping[str, Any]], str]


@lru_cache(maxsize=4096)
def condition(source: str, where: str = "") -> Condition:
    """
    Compile *source* to a condition; an empty one is always true.

    :param where: Rule file and key, for the error text.
    :raises RuleError: If it is not an expression.
    """
    if not source.strip():
        return lambda _names: True
    import jinja2

    from rdmadiag.rules.sandbox import sandbox

    try:
        expression = sandbox().compile_expression(source)
    except jinja2.TemplateSyntaxError as error:
        raise RuleError(f"{where}: not an expression: {source!r}: {error.message}") from error

    def holds(names: Mapping[str, Any]) -> bool:
        try:
            return bool(expression(names))
        except (TypeError, ValueError, ZeroDivisionError, OverflowError, jinja2.TemplateError):
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
    import jinja2

    from rdmadiag.rules.sandbox import sandbox

    try:
        compiled = sandbox().from_string(source.strip())
    except jinja2.TemplateSyntaxError as error:
        raise RuleError(f"{where}: not a template: {error.message}") from error

    def text(names: Mapping[str, Any]) -> str:
        try:
            return compiled.render(names)
        except (TypeError, ValueError, ZeroDivisionError, OverflowError, jinja2.TemplateError) as e:
            return f"(text of {where or 'rule'} could not be made: {e})"

    return text
