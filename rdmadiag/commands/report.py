"""``rdmadiag report``: a saved JSON report in another format."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from rdmadiag.errors import UserError
from rdmadiag.report.baseline import FailOn, exit_status, mark_known
from rdmadiag.report.load import load
from rdmadiag.report.model import Report
from rdmadiag.report.render import Format, render


class Output(msgspec.Struct, frozen=True):
    """
    How a report is to be shown.

    :ivar color: Whether ``text`` may use colours: the output is a terminal.
    :ivar whole: Whether lines of the evidence stay unbroken in ``text``: the output is no terminal.
    :ivar redact: Replace names by pseudonyms.
    :ivar key: File with the key for it.
    :ivar save_key: File to write the key to.
    :ivar words: More words to replace.
    :ivar baseline: JSON report whose findings are known already.
    """

    format: Format = "text"
    width: int = 80
    color: bool = False
    whole: bool = False
    templates: Path | None = None
    redact: bool = False
    key: Path | None = None
    save_key: Path | None = None
    words: Sequence[str] = ()
    baseline: Path | None = None
    fail_on: FailOn = "never"


def report(path: Path, output: Output) -> tuple[str, int]:
    """
    Render the saved report *path*.

    :returns: The text, and the exit status.
    :raises UserError: A file that cannot be read, or is not what it should be.
    """
    return finish(load(path), output)


def finish(result: Report, output: Output) -> tuple[str, int]:
    """Mark what is known, redact, render: the last steps of every command that ends in a report."""
    if output.baseline is not None:
        result = mark_known(result, load(output.baseline))
    if output.redact or output.key or output.save_key:
        result = _redacted(result, output)
    text = render(
        result,
        output.format,
        width=output.width,
        color=output.color,
        whole=output.whole,
        templates=_folder(output.templates),
    )
    return text, exit_status(result, output.fail_on)


def _redacted(result: Report, output: Output) -> Report:
    from rdmadiag.report.keyfile import read_key, write_key
    from rdmadiag.report.redact import redactor_for

    key = read_key(output.key) if output.key else None
    redactor = redactor_for(result, key, output.words)
    result = redactor.report(result)
    if output.save_key:
        write_key(output.save_key, redactor.names.key, redactor.names.table)
    return result


def _folder(path: Path | None) -> Path | None:
    if path is not None and not path.is_dir():
        raise UserError(f"{path}: no folder of templates")
    return path
