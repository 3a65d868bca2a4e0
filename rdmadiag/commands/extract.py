"""``rdmadiag extract``: a capsule, cut out of a dump."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rdmadiag.errors import UserError
from rdmadiag.gather import Gatherer

if TYPE_CHECKING:
    from rdmadiag.vmcore.dump import Dump


def extract(
    vmcore: str, out: Path, rules: Sequence[Path] = (), debuginfo: Sequence[Path] = ()
) -> tuple[str, int]:
    """
    Write the pages of *vmcore* that the diagnosis reads to *out*, a dump that gives the same findings and tables.

    :param debuginfo: What the capsule needs as well, to be read in full.
    :returns: What was written, in words, and the exit status.
    :raises UserError: If the dump cannot be read, or the capsule cannot be written.
    """
    from rdmadiag.vmcore.capsule import extract as cut
    from rdmadiag.vmcore.collect.run import collect_dump, kinds_on_demand

    def read(dump: "Dump") -> None:
        Gatherer(rules).read_dump(dump)
        collect_dump(dump, kinds=kinds_on_demand())

    if out.exists() and not out.is_file():
        raise UserError(f"{out}: is no plain file, so it cannot become a capsule")
    written = cut(vmcore, Path(os.path.realpath(out)), read, debuginfo)
    return f"{out}: {written.pages} pages, {written.bytes:,} bytes\n", 0
