"""A comparison as text, Markdown or JSON."""

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Literal, get_args

import msgspec

from rdmadiag.report.compare import Brief, Change, Comparison
from rdmadiag.report.escape import encodable, visible
from rdmadiag.report.view import subject_text

CompareFormat = Literal["text", "markdown", "json"]
FORMATS: tuple[CompareFormat, ...] = get_args(CompareFormat)


def render(result: Comparison, format: CompareFormat = "text", width: int = 80) -> str:  # noqa: A002
    """Return *result* in a format."""
    match format:
        case "json":
            return _json(result)
        case "markdown":
            return _markdown(result)
        case "text":
            return _text(result, width)


def _json(result: Comparison) -> str:
    rows = _map(msgspec.to_builtins(result))
    return msgspec.json.format(msgspec.json.encode(rows), indent=1).decode() + "\n"


def _map(value: object) -> object:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list):
        return [_map(item) for item in value]
    if isinstance(value, dict):
        return {key: _map(item) for key, item in value.items()}
    return value


def _sections(result: Comparison) -> Iterator[tuple[str, list[str]]]:
    """Return headings and lines, what needs action first."""
    yield "New", [_brief(b) for b in result.new]
    yield "Gone", [_brief(b) for b in result.gone]
    changed = [
        f"{c.id}: {c.title} ({'; '.join(_change(d) for d in c.changes)})" for c in result.changed
    ]
    yield "Changed", changed
    yield "Checks that ended otherwise", _changes(result.checks)
    yield "Kernels", _changes(result.kernels)
    yield "Numbers of facts", _changes(result.facts)


def _brief(row: Brief) -> str:
    host = f" on {row.host}" if row.host else ""
    about = subject_text(row.subject)
    return (
        f"{row.severity}, {row.verdict}: {row.title} ({row.id}{host}{', ' if about else ''}{about})"
    )


def _changes(rows: Sequence[Change]) -> list[str]:
    return [_change(row) for row in rows]


def _change(row: Change) -> str:
    return f"{row.what}: {row.before} → {row.after}"


def verdict(result: Comparison) -> str:
    """Return the comparison in one sentence."""
    if not (result.new or result.gone or result.changed):
        return f"No finding is new, gone or changed ({result.same} the same)."
    return (
        f"{len(result.new)} new, {len(result.gone)} gone, {len(result.changed)} changed,"
        f" {result.same} the same."
    )


def _text(result: Comparison, width: int) -> str:
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    file = StringIO()
    console = Console(
        file=file,
        width=max(width, 40),
        color_system=None,
        highlight=False,
        markup=False,
        emoji=False,
    )
    console.print(Text(verdict(result)))
    for title, lines in _sections(result):
        if lines:
            console.print(Text(f"\n{title}"))
        for line in lines:
            console.print(Padding(Text(visible(line)), (0, 0, 0, 2)))
    return "\n".join(line.rstrip() for line in file.getvalue().split("\n"))


def _markdown(result: Comparison) -> str:
    from rdmadiag.report.markdown import escape

    lines = [f"# {verdict(result)}"]
    for title, rows in _sections(result):
        if rows:
            lines += ["", f"## {title}", "", *(f"- {escape(visible(row))}" for row in rows)]
    return "\n".join(lines) + "\n"
