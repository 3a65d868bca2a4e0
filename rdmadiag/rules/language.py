"""
What of Jinja2 rules may use: enough to compare and to word, nothing by which a short text takes all time or memory.

Jinja2's sandbox keeps rules away from the interpreter, not from ``'x'.center(10**9)``. So here is listed what may
be used; what makes texts longer, and loops, are counted when they run (:mod:`rdmadiag.rules.sandbox`).
"""

import math
from collections.abc import Container, Iterator

from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError

MAX_SOURCE = 8000
"""Characters of a condition or a text; the longest of the shipped ones has 3,236."""
MAX_LOOPS = 2
"""Loops inside each other."""

FILTERS = frozenset(
    (
        *(
            "abs",
            "count",
            "d",
            "default",
            "first",
            "float",
            "int",
            "join",
            "last",
            "length",
            "list",
        ),
        *("lower", "map", "max", "min", "reject", "rejectattr", "round", "select", "selectattr"),
        *("sort", "string", "sum", "title", "trim", "truncate", "unique", "upper"),
    )
)
METHODS = frozenset(
    (
        *("after", "column", "count", "endswith", "get", "items", "keys", "lower", "lstrip"),
        *("reboot", "rstrip", "split", "startswith", "strip", "upper", "values"),
    )
)
NODES = (
    *(nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign),
    *(nodes.Name, nodes.Const, nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair, nodes.Keyword),
    *(nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Call, nodes.Filter, nodes.Test),
    *(nodes.And, nodes.Or, nodes.Not, nodes.Compare, nodes.Operand, nodes.CondExpr),
    *(nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Neg, nodes.Pos),
    nodes.Concat,
)


def check(tree: nodes.Node, functions: Container[str]) -> None:
    """
    Look through a parsed condition or text.

    :param functions: Names that may be called.
    :raises TemplateSyntaxError: If it uses what is not for rules.
    """
    for node, loops in _walk(tree, 0):
        if fault := _fault(node, loops, functions):
            raise TemplateSyntaxError(f"{fault} is not for rules", node.lineno or 1)


def _walk(node: nodes.Node, loops: int) -> Iterator[tuple[nodes.Node, int]]:
    for child in node.iter_child_nodes():
        inside = loops + isinstance(child, nodes.For)
        yield child, inside
        yield from _walk(child, inside)


def _fault(node: nodes.Node, loops: int, functions: Container[str]) -> str:
    if not isinstance(node, NODES):
        return type(node).__name__.lower()
    if isinstance(node, nodes.For) and (loops > MAX_LOOPS or node.recursive):
        return f"a loop inside {MAX_LOOPS} others, or one that calls itself,"
    if isinstance(node, nodes.Call):
        return _called(node.node, functions)
    if isinstance(node, nodes.Const) and isinstance(node.value, float):
        return "" if math.isfinite(node.value) else "a number beyond all"
    return ""


def _called(callee: nodes.Node, functions: Container[str]) -> str:
    if isinstance(callee, nodes.Name):
        return "" if callee.name in functions else f"{callee.name}()"
    if isinstance(callee, nodes.Getattr):
        return "" if callee.attr in METHODS else f".{callee.attr}()"
    return "such a call"
