"""The report as JSON: the one format that says everything, exactly."""

import msgspec

from rdmadiag.report.escape import encodable
from rdmadiag.report.model import Report
from rdmadiag.report.rewrite import rewrite


def render(report: Report) -> str:
    """Return *report* as indented JSON (schema: ``report-1.schema.json`` beside this module)."""
    return msgspec.json.format(encode(report), indent=1).decode() + "\n"


def encode(report: Report) -> bytes:
    """Return *report* as compact JSON."""
    try:
        return msgspec.json.encode(report)
    except UnicodeEncodeError:  # a lone surrogate: rare, and the walk costs time
        return msgspec.json.encode(rewrite(report, lambda _, text: encodable(text)))


def schema() -> str:
    """Return the JSON schema (draft 2020-12) of the report."""
    rows = msgspec.json.schema(Report)
    rows = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:rdmadiag:report:1",
        "title": "rdmadiag report, schema 1",
        **rows,
    }
    return msgspec.json.format(msgspec.json.encode(rows), indent=1).decode() + "\n"
