"""All formats by name; a renderer, and what it needs, is only imported when it is used."""

from importlib import import_module
from pathlib import Path
from typing import Literal, get_args

from rdmadiag.report.model import Report

Format = Literal["text", "json", "html", "markdown", "sarif", "junit"]
FORMATS: tuple[Format, ...] = get_args(Format)


def render(
    report: Report,
    format: Format,  # noqa: A002 - as the command line calls it
    *,
    width: int = 80,
    color: bool = False,
    whole: bool = False,
    templates: Path | None = None,
) -> str:
    """
    Return *report* in a format.

    :param width: Columns of the ``text`` format.
    :param color: Whether the ``text`` format may use a terminal's colours.
    :param whole: Whether the ``text`` format keeps lines of the evidence unbroken: nobody reads it on a terminal.
    :param templates: Folder whose files stand in for the shipped templates of the ``html`` format.
    """
    renderer = import_module(f"rdmadiag.report.{format}")
    options: tuple[object, ...] = ()
    if format == "text":
        options = width, color, whole
    elif format == "html":
        options = (templates,)
    return str(renderer.render(report, *options))
