"""
Conditions and texts of rules: Jinja2's sandbox, so that nothing in a rule file can run code.

A condition sees the fact's fields and the earlier clues by name. A comparison with a value that is unknown is
not true, as in SQL; so is one between values that cannot be compared.
"""

import ipaddress
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.sandbox import SandboxedEnvironment

from rdmadiag.errors import RuleError

Condition = Callable[[Mapping[str, Any]], bool]
Text = Callable[[Mapping[str, Any]], str]


def in_stack(functions: Any, *wanted: str) -> bool:
    """
    Tell whether *wanted* occur in *functions* in this order, gaps allowed.

    :param functions: Function names, innermost first (a fact's ``functions``).
    :param wanted: Names; ``a|b`` takes either.
    """
    if not isinstance(functions, Sequence) or isinstance(functions, str):
        return False
    rest = iter(functions)
    return all(any(f in names.split("|") for f in rest) for names in wanted)


def callee(functions: Any, names: str) -> str:
    """
    Return the function that the outermost of *names* on the stack has called.

    :param names: Names; ``a|b`` takes either.
    :returns: ``""`` when it is the innermost frame (``/proc/PID/stack`` leaves the scheduler's out), ``"?"`` when
        it is not on the stack.
    """
    if not isinstance(functions, Sequence) or isinstance(functions, str):
        return "?"
    at = max((i for i, f in enumerate(functions) if f in names.split("|")), default=-1)
    if at <= 0:
        return "" if at == 0 else "?"
    return str(functions[at - 1])


SCHEDULER = frozenset(
    (
        *("__schedule", "schedule", "__schedule_loop", "schedule_timeout", "__switch_to"),
        *("context_switch", "schedule_preempt_disabled", "preempt_schedule_common"),
    )
)
"""Functions that every sleeping stack begins with."""


def sleeps_in(functions: Any, count: int = 4) -> str:
    """Return the innermost *count* functions of a sleeping stack that are not the scheduler's, as a text."""
    if not isinstance(functions, Sequence) or isinstance(functions, str):
        return ""
    awake = list(itertools.dropwhile(SCHEDULER.__contains__, functions))
    return " <- ".join((awake or list(functions))[:count])


MEMORY = re.compile(
    r"_*(k[vz]?m?alloc|k[vz]?free|kmem_|kasan|slab|save_stack|set_track|poison|stack_)"
)
"""Functions that hand memory out, take it back, or note who did."""


def memory_user(functions: Any) -> str:
    """Return who had memory allocated or freed, from the stack of that moment; ``""`` when it is not on it."""
    if not isinstance(functions, Sequence) or isinstance(functions, str):
        return ""
    return next((f for f in functions if not MEMORY.match(f) and f not in SCHEDULER), "")


def duration(seconds: Any) -> str:
    """Render seconds as people say them: ``32 us``, ``0.24 s``, ``41.7 s``, ``12 min``, ``3.2 h``, ``2 days``."""
    if not isinstance(seconds, int | float):
        return "an unknown time"
    size = abs(seconds)
    if size == 0:  # two records in one second of a clock that has no finer steps
        return "less than 1 s"
    for limit, unit, text in (
        (0.001, 1e-6, "{:.0f} us"),
        (1, 1, "{:.2f} s"),
        (120, 1, "{:.1f} s"),
        (7200, 60, "{:.0f} min"),
        (172800, 3600, "{:.1f} h"),
    ):
        if size < limit:
            return text.format(seconds / unit)
    return f"{seconds / 86400:.1f} days"


def who(pid: Any, name: Any = None) -> str:
    """Name a task as well as it is known."""
    label = f"pid {pid}" if pid else ""
    return (f"{label} ({name})" if label and name else label or str(name or "")) or "a task"


def release_at_least(release: Any, *first: str) -> bool:
    """
    Tell whether a kernel is one of the releases that *first* begin, or a later one of the same series.

    ``4.14.35-1902.300.11.el7uek.x86_64`` is later than ``4.14.35-1844.2.1``; of another series nothing is said.
    """
    base, _, build = str(release or "").partition("-")
    numbers = [int(n) for n in re.split(r"[.-]", re.split(r"[.-][a-z]", build)[0]) if n.isdigit()]
    series = dict(f.split("-", 1) for f in first)
    return base in series and numbers >= [int(n) for n in series[base].split(".")]


def same_subnet(left: Any, right: Any, bits: int = 24) -> bool:
    """Tell whether two IPv4 addresses share their first *bits* bits."""
    try:
        network = ipaddress.ip_network(f"{left}/{bits}", strict=False)
        return ipaddress.ip_address(str(right)) in network
    except ValueError:
        return False


class Unknown(jinja2.ChainableUndefined):
    """A name that is not there: false, and so is every comparison with it."""

    __slots__ = ()

    def _is_unknown(self, _other: object) -> bool:
        return False

    __lt__ = __le__ = __gt__ = __ge__ = _is_unknown  # type: ignore[assignment]

    def __call__(self, *_args: object, **_keys: object) -> "Unknown":  # type: ignore[override]
        """Return itself: a method of a clue that was not found gives nothing."""
        return self


class RuleSandbox(SandboxedEnvironment):
    """Jinja2's sandbox without the two operators by which a short text takes all time and memory."""

    intercepted_binops = frozenset({"**", "*"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Refuse powers, and products of anything but numbers."""
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        if operator == "**" or not numbers:
            raise jinja2.exceptions.SecurityError(f"{operator} is not for rules")
        return super().call_binop(context, operator, left, right)


def environment() -> SandboxedEnvironment:
    """Return the sandbox with the names that rules may use."""
    env = RuleSandbox(undefined=Unknown, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    env.tests["in_stack"] = in_stack
    env.globals.clear()
    env.globals.update(
        in_stack=in_stack,
        callee=callee,
        who=who,
        release_at_least=release_at_least,
        same_subnet=same_subnet,
        abs=abs,
        min=min,
        max=max,
    )
    env.filters["duration"] = duration
    env.filters["sleeps_in"] = sleeps_in
    env.filters["memory_user"] = memory_user
    return env


@lru_cache(maxsize=1)
def _environment() -> SandboxedEnvironment:
    return environment()


@lru_cache(maxsize=4096)
def condition(source: str, where: str = "") -> Condition:
    """
    Compile *source* to a condition; an empty one is always true.

    :param where: Rule file and key, for the error text.
    :raises RuleError: If it is not an expression.
    """
    if not source.strip():
        return lambda _names: True
    try:
        expression = _environment().compile_expression(source)
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
    try:
        compiled = _environment().from_string(source.strip())
    except jinja2.TemplateSyntaxError as error:
        raise RuleError(f"{where}: not a template: {error.message}") from error

    def text(names: Mapping[str, Any]) -> str:
        try:
            return compiled.render(names)
        except (TypeError, ValueError, ZeroDivisionError, OverflowError, jinja2.TemplateError) as e:
            return f"(text of {where or 'rule'} could not be made: {e})"

    return text


def names_in(source: str) -> set[str]:
    """Return the free names of a condition or a text, for ``rules check``."""
    return meta.find_undeclared_variables(_parsed(source))


def fields_in(source: str) -> set[tuple[str, str]]:
    """Return what a condition or a text takes of its names: (name, field), ``drop.column('tos')`` as (drop, tos)."""
    tree = _parsed(source)
    taken = {
        (node.node.name, node.attr)
        for node in tree.find_all(nodes.Getattr)
        if isinstance(node.node, nodes.Name)
    }
    columns = {
        (call.node.node.name, call.args[0].value)
        for call in tree.find_all(nodes.Call)
        if isinstance(call.node, nodes.Getattr)
        and call.node.attr == "column"
        and isinstance(call.node.node, nodes.Name)
        and isinstance(call.args[0], nodes.Const)
    }
    return taken | columns


def _parsed(source: str) -> nodes.Template:
    body = source if "{{" in source or "{%" in source else "{{ (" + source + ") }}"
    return _environment().parse(body)
