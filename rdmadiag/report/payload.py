"""
The rows of the HTML report's tables and time line, as compact JSON for its script.

Ten thousand rows as HTML would be slow to open; as columns of JSON, drawn when somebody looks, they are
not. A string is stored once and then named by its number: log lines repeat.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rdmadiag.facts.kinds import KINDS
from rdmadiag.report.model import Report, TimelineRow
from rdmadiag.report.view import flat, moment, time_text, value_text

MAX_ROWS = 20_000
_MARKUP = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}

Cell = str | int | float | None
Json = dict[str, Any]


class Strings:
    """Every string once, by number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        """Return the number of *text*."""
        return self.numbers.setdefault(text, len(self.numbers))


def payload(report: Report, labels: Mapping[str, str]) -> str:
    """
    Return the data of *report* as JSON that is safe inside a ``<script>`` element.

    :param labels: What to call a finding, by fingerprint (``F1``).
    """
    strings = Strings()
    tables = [_table(kind, rows, strings) for kind, rows in report.tables.items()]
    data = {
        "events": _events(report.timeline, labels, strings),
        "plots": _plots(report),
        "tables": tables,
        "strings": list(strings.numbers),
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(_MARKUP)


def _events(rows: Sequence[TimelineRow], labels: Mapping[str, str], strings: Strings) -> Json:
    columns: dict[str, list[Cell]] = {
        "time": [time_text(r.time) for r in rows[:MAX_ROWS]],
        "host": [r.host for r in rows[:MAX_ROWS]],
        "finding": [labels.get(r.finding, "") for r in rows[:MAX_ROWS]],
        "text": [r.text for r in rows[:MAX_ROWS]],
    }
    return _columns("events", columns, len(rows), strings)


def _table(kind: str, rows: Sequence[Mapping[str, Any]], strings: Strings) -> Json:
    shown = [flat(row) for row in rows[:MAX_ROWS]]
    names = _names(kind, shown)
    columns = {name: [_cell(row.get(name)) for row in shown] for name in names}
    return _columns(kind, columns, len(rows), strings)


def _names(kind: str, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the columns: as rows have them, those of the kind's description first."""
    seen = dict.fromkeys(name for row in rows for name in row)
    order = {name.split(".")[0]: n for n, name in enumerate(KINDS.get(kind, {}))}
    return sorted(
        seen, key=lambda name: order.get(name.split(".")[0], -1 if name == "host" else 99)
    )


def _cell(value: Any) -> Cell:
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        return value_text(value)
    if isinstance(value, int) and abs(value) >= 1 << 53:  # JavaScript would round it
        return str(value)
    return value if value == value and abs(value or 0) != float("inf") else str(value)


def _columns(name: str, columns: Mapping[str, list[Cell]], total: int, strings: Strings) -> Json:
    return {
        "name": name,
        "total": total,
        "columns": [_column(title, cells, strings) for title, cells in columns.items()],
    }


def _column(name: str, cells: list[Cell], strings: Strings) -> Json:
    """Return a column: ``text`` (numbers of strings, -1 for none) or ``raw`` (the values themselves)."""
    if all(cell is None or isinstance(cell, str) for cell in cells):
        return {
            "name": name,
            "text": [-1 if not isinstance(c, str) else strings(c) for c in cells],
        }
    return {"name": name, "raw": cells}


def _plots(report: Report) -> list[Json]:
    """Return one plot a clock: wall time is one for all hosts, uptime another for each of them."""
    plots: dict[str, Json] = {}
    for number, row in enumerate(report.timeline[:MAX_ROWS]):
        if at := moment(row.time):
            plot = _plot(plots, at[0], row.host)
            plot["rows"].append(number)
            plot["at"].append(round(at[1], 6))
            plot["lane"].append(_lane(plot, row.host))
            plot["hot"].append(1 if row.finding else 0)
    for source in report.inputs:
        start, end = moment(source.start), moment(source.end)
        if start and end and start[0] == end[0]:
            plot = _plot(plots, start[0], source.host)
            lane = _lane(plot, source.host)
            plot["spans"].append([lane, start[1], end[1], source.path, source.kind])
    return [_relative(plot) for plot in plots.values()]


def _plot(plots: dict[str, Json], clock: str, host: str) -> Json:
    key = clock if clock == "wall" else f"{clock} {host}"
    empty: Json = {
        "clock": clock,
        "hosts": [],
        "rows": [],
        "at": [],
        "lane": [],
        "hot": [],
        "spans": [],
    }
    return plots.setdefault(key, empty)


def _lane(plot: Json, host: str) -> int:
    hosts: list[str] = plot["hosts"]
    if host not in hosts:
        hosts.append(host)
    return hosts.index(host)


def _relative(plot: Json) -> Json:
    """Return the plot with its times counted from its first one: shorter, and exact in JavaScript."""
    firsts = [*plot["at"], *(span[1] for span in plot["spans"])]
    origin = min(firsts)
    plot["origin"] = origin
    plot["at"] = [round(at - origin, 6) for at in plot["at"]]
    plot["spans"] = [[s[0], s[1] - origin, s[2] - origin, *s[3:]] for s in plot["spans"]]
    return plot
