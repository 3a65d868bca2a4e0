"""``rdmadiag inspect``: what is in an input, as a table."""

from collections.abc import Sequence
from pathlib import Path

from rdmadiag.errors import UserError
from rdmadiag.gather import Gatherer
from rdmadiag.report.columns import TABLES
from rdmadiag.report.tables import log_table, render


def inspect(
    name: str, table: str, form: str, width: int, debuginfo: Sequence[Path] = ()
) -> tuple[str, int]:
    """
    Return *table* of the input *name*.

    :param form: ``text``, ``json`` or ``csv``.
    :returns: The text, and the exit status: 0, or 1 when what the table shows could not be read whole.
    :raises UserError: If there is no such table, or the input cannot be read.
    """
    if table not in (*TABLES, "log"):
        raise UserError(f"there is no table {table!r}; there are {', '.join((*TABLES, 'log'))}")
    if table == "log":
        return log_table(Gatherer(debuginfo=debuginfo).gather([name]).facts, form), 0
    kind = TABLES[table][0]
    collected = Gatherer(debuginfo=debuginfo, kinds=(kind,)).gather([name])
    lost = [c for c in collected.coverage if c.kind == kind and c.status != "complete"]
    text = render(table, (f for f in collected.facts if f.kind == kind), form, width)
    if form == "text":
        text += "".join(f"{c.status}: {c.reason}\n" for c in lost)
    return text, int(any(c.status in ("partial", "failed") for c in lost))
