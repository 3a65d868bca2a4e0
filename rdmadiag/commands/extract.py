"""``rdmadiag extract``: a capsule, cut out of a dump."""

from collections.abc import Sequence
from pathlib import Path

from rdmadiag.gather import Gatherer


def extract(vmcore: str, out: Path, rules: Sequence[Path] = ()) -> tuple[str, int]:
    """
    Write the pages of *vmcore* that the diagnosis reads to *out*, a dump that gives the same findings.

    :returns: What was written, in words, and the exit status.
    :raises UserError: If the dump cannot be read, or the capsule cannot be written.
    """
    from rdmadiag.vmcore.capsule import extract as cut

    gatherer = Gatherer(rules)
    written = cut(vmcore, out, gatherer.read_dump)
    return f"{out}: {written.pages} pages, {written.bytes:,} bytes\n", 0
