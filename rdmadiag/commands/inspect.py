"""``rdmadiag inspect``: what is in an input, as a table."""

from collections.abc import Sequence
from pathlib import Path

from rdmadiag import __version__
from rdmadiag.errors import UserError
from rdmadiag.facts.model import Coverage, InputInfo
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
    dumps = [i for i in collected.inputs if i.kind in ("vmcore", "live")]
    if not dumps:
        raise UserError(
            f"{name}: the table {table!r} needs a dump, and this is none; "
            "the table 'log' shows what a log says of RDMA"
        )
    lost = [c for c in collected.coverage if c.kind == kind and c.status != "complete"]
    text = render(table, (f for f in collected.facts if f.kind == kind), form, width)
    if form == "text":
        text += "".join(f"{c.status}: {c.reason}\n" for c in lost) + _capsules(dumps, lost)
    return text, int(any(c.status in ("partial", "failed") for c in lost))


def _capsules(dumps: Sequence[InputInfo], lost: Sequence[Coverage]) -> str:
    """Say where a page may be missing because a capsule has what the version that has cut it reads, and nothing else."""
    from rdmadiag.vmcore.corefile import read_core_file

    missing = {c.input for c in lost if c.status != "absent"}
    paths = (i.path for i in dumps if i.path in missing and Path(i.path).is_file())  # not split
    cut = [path for path in paths if read_core_file(path).cut_by not in (None, __version__)]
    return "".join(
        f"{path} is a capsule that another version of rdmadiag has cut, so what this table needs may not be in it; "
        "cut it again from its dump: rdmadiag extract VMCORE -o CAPSULE\n"
        for path in cut
    )
