"""All formats by name; a renderer, and what it needs, is only imported when it is used."""

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
    match format:
        case "text":
            from rdmadiag.report import text

            return text.render(report, width, color, whole)
        case "html":
            from rdmadiag.report import html

            return html.render(report, templates)
        case "markdown":
            from rdmadiag.report import markdown

            return markdown.render(report)
        case "sarif":
            from rdmadiag.report import sarif

            return sarif.render(report)
        case "junit":
            from rdmadiag.report import junit

            return junit.render(report)
        case "json":
            from rdmadiag.report import json

            return json.render(report)
