"""Facts of a kind as a table: for the terminal, as JSON or as CSV."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from rdmadiag.facts.model import Fact
from rdmadiag.facts.store import value_of
from rdmadiag.report.columns import TABLES
from rdmadiag.report.escape import visible


def render(name: str, facts: Iterable[Fact], form: str, width: int = 0) -> str:
    """
    Return a table.

    :param name: One of :data:`rdmadiag.report.columns.TABLES`.
    :param form: ``text``, ``json`` (all fields) or ``csv`` (the columns).
    :param width: Columns of the terminal; 0: as wide as the rows are.
    """
    _, columns = TABLES[name]
    rows = list(facts)
    if form == "json":
        return (
            msgspec.json.format(msgspec.json.encode([f.fields for f in rows]), indent=1).decode()
            + "\n"
        )
    cells = [[_cell(value_of(f, path)) for path in columns.values()] for f in rows]
    return _csv(list(columns), cells) if form == "csv" else _text(list(columns), cells, width)


def log_table(facts: Iterable[Fact], form: str) -> str:
    """Return what the inputs' logs say about RDMA, one line a fact."""
    rows = [f for f in facts if f.where.line is not None]
    if form == "json":
        body = [
            {"kind": f.kind, "line": f.where.line, "fields": f.fields, "text": f.text} for f in rows
        ]
        return msgspec.json.format(msgspec.json.encode(body), indent=1).decode() + "\n"
    cells = [[f.kind, str(f.where.line), f.text] for f in rows]
    return (
        _csv(["kind", "line", "text"], cells)
        if form == "csv"
        else "".join(f"{visible(c[2])}\n" for c in cells)
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, dict):
        return " ".join(str(v) for v in value.values() if v is not None)
    if isinstance(value, tuple | list):
        return ", ".join(_cell(v) for v in value)
    return str(value)


def _csv(headings: list[str], cells: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows([_no_formula(c) for c in row] for row in cells)
    return out.getvalue()


def _no_formula(cell: str) -> str:
    """Return a cell that no spreadsheet runs: one that begins like a formula gets an apostrophe before it."""
    formula = cell.startswith(("=", "+", "-", "@")) and cell != "-" and not _number(cell)
    return f"'{cell}" if formula else cell


def _number(text: str) -> bool:
    return text.lstrip("+-").replace(".", "", 1).isdigit()


def _text(headings: list[str], cells: Sequence[Sequence[str]], width: int) -> str:
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    table = Table(*(Column(h, overflow="fold") for h in headings), box=None, pad_edge=False)
    for row in cells:
        table.add_row(*(Text(visible(c)) for c in row))
    natural = max(
        80, sum(max(map(len, column)) + 2 for column in zip(headings, *cells, strict=True))
    )
    out = io.StringIO()
    Console(file=out, width=min(width or natural, natural), color_system=None).print(table)
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())
