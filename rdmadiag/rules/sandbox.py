"""Jinja2's sandbox, as rules see it. Imported when the first condition is looked at: most inputs ask for few."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.environment import TemplateExpression
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from rdmadiag.data import data_dir
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
from rdmadiag.rules.generated import Generated, read_generated
from rdmadiag.rules.language import FILTERS, check

MAX_STEPS = 1_000_000
"""What one condition or text may do; it takes about a second."""

SOURCE_FAULTS = (jinja2.TemplateSyntaxError, RecursionError, SyntaxError, ValueError)
"""What compiling a source ends with that is none: nested too deep, with a number of 5,000 digits."""
RUN_FAULTS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError),
    jinja2.TemplateError,
)
"""What running one ends with when its values do not suit it."""


class Unknown(jinja2.ChainableUndefined):
    """A name that is not there: false, and so is every comparison with it."""

    __slots__ = ()

    def _is_unknown(self, _other: object) -> bool:
        return False

    __lt__ = __le__ = __gt__ = __ge__ = _is_unknown  # type: ignore[assignment]

    def __call__(self, *_args: object, **_keys: object) -> "Unknown":  # type: ignore[override]
        """Return itself: a method of a clue that was not found gives nothing."""
        return self


class RuleSandbox(ImmutableSandboxedEnvironment):
    """
    Jinja2's sandbox for the language of :mod:`rdmadiag.rules.language`, with a limit to what one run may do.

    :ivar steps: Characters that were put together and turns of loops, since :meth:`begin`.
    :ivar made: The Python of what was compiled, and of what need not be.
    """

    intercepted_binops = frozenset("+*%")
    steps = 0

    def __init__(self, made: Generated) -> None:
        # what is used a few times is not worth optimizing
        super().__init__(undefined=Unknown, trim_blocks=True, lstrip_blocks=True, optimized=False)
        self.made = made
        self._python = ""

    def expression(self, source: str) -> TemplateExpression:
        """
        Compile a condition.

        :raises jinja2.TemplateSyntaxError: Or another of :data:`SOURCE_FAULTS`, if it is none.
        """
        if python := self.made.expressions.get(source):
            return TemplateExpression(self._loaded(python), undefined_to_none=True)
        expression = self.compile_expression(source)
        self.made.expressions[source] = self._python
        return expression

    def text(self, source: str) -> jinja2.Template:
        """
        Compile a text with ``{{ expressions }}``.

        :raises jinja2.TemplateSyntaxError: Or another of :data:`SOURCE_FAULTS`, if it is none.
        """
        if python := self.made.texts.get(source):
            return self._loaded(python)
        template = self.from_string(source)
        self.made.texts[source] = self._python
        return template

    def _loaded(self, python: str) -> jinja2.Template:
        code = compile(python, "<template>", "exec")
        return jinja2.Template.from_code(self, code, self.make_globals(None))

    def begin(self) -> None:
        """Count from nothing again: before each condition and each text."""
        self.steps = 0

    def spend(self, count: int) -> None:
        """
        Count *count* steps.

        :raises SecurityError: If there are too many.
        """
        self.steps += count
        if self.steps > MAX_STEPS:
            raise SecurityError(f"more than {MAX_STEPS:,} steps")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Refuse what is neither of numbers, nor puts two texts or lists together."""
        if isinstance(left, int | float) and isinstance(right, int | float):
            if operator == "*" and isinstance(left, int) and isinstance(right, int):
                self.spend(left.bit_length() + right.bit_length())
        elif operator != "+":
            raise SecurityError(f"{operator} is for numbers")
        elif isinstance(left, str | list) and isinstance(right, str | list):
            self.spend(len(left) + len(right))
        return super().call_binop(context, operator, left, right)

    def join(self, values: Iterable[Any], between: str = "", attribute: str | None = None) -> str:
        """Put texts together; jinja2's filter and ``~``, counted."""
        if attribute is not None:
            values = (self.getitem(value, attribute) for value in values)
        parts = []
        for text in map(str, values):
            self.spend(len(text) + len(between))
            parts.append(text)
        return between.join(parts)

    def turns(self, values: Iterable[Any]) -> Iterator[Any]:
        """Yield *values*; what a loop runs over."""
        for value in values:
            self.spend(1)
            yield value

    def _generate(
        self,
        source: nodes.Template,
        name: str | None,
        filename: str | None,
        defer_init: bool = False,
    ) -> str:
        """Check what was parsed, and have counted what is to be; jinja2's hook between parser and compiler."""
        check(source, {*self.globals, "gap"})
        _Counted().visit(source)
        self._python = super()._generate(source, name, filename, defer_init)
        return self._python


class _Counted(NodeTransformer):
    """Puts the filters that count in place of ``~`` and around what loops run over."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - jinja2's name for it
        self.generic_visit(node)
        node.iter = _filtered(node.iter, "turns")
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - jinja2's name for it
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), "join")


def _filtered(node: nodes.Node, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


@cache
def sandbox() -> RuleSandbox:
    """Return the sandbox for all rules."""
    return make_sandbox(read_generated(data_dir("rules")))


def make_sandbox(made: Generated) -> RuleSandbox:
    """Return a sandbox with the names that rules may use."""
    env = RuleSandbox(made)
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
    env.filters = {name: env.filters[name] for name in FILTERS}
    env.filters |= {"duration": duration, "sleeps_in": sleeps_in, "memory_user": memory_user}
    env.filters |= {"join": env.join, "turns": env.turns}
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
