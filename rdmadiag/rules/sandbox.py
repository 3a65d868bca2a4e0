"""Jinja2's sandbox, as rules see it. Imported when the first condition is looked at: most inputs ask for few."""

from functools import cache
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.sandbox import SandboxedEnvironment

from rdmadiag.rules.functions import (
    callee,
    duration,
    in_stack,
    memory_user,
    release_at_least,
    same_subnet,
    sleeps_in,
    who,
)


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


@cache
def sandbox() -> SandboxedEnvironment:
    """Return the sandbox with the names that rules may use."""
    # what is used a few times is not worth optimizing
    env = RuleSandbox(
        undefined=Unknown, trim_blocks=True, lstrip_blocks=True, autoescape=False, optimized=False
    )
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
    return sandbox().parse(body)
