"""The tables of ``inspect`` as CSV: what is empty stays empty, what looks like a formula is none."""

import csv
import io
from typing import Any

import pytest

from rdmadiag.facts.model import Fact, Where
from rdmadiag.report.columns import TABLES
from rdmadiag.report.tables import log_table, render


def row(fields: dict[str, Any]) -> dict[str, str]:
    text = render("rings", [Fact(TABLES["rings"][0], fields, Where("dump"))], "csv")
    (only,) = csv.DictReader(io.StringIO(text))
    return only


def test_what_is_not_known_is_an_empty_cell() -> None:
    got = row({"laddr": "192.0.2.1", "cq_error_flag": None, "state": "", "corrupt": False})
    assert {name: cell for name, cell in got.items() if cell} == {
        "local": "192.0.2.1",
        "corrupt": "False",
    }


@pytest.mark.parametrize(
    ("text", "cell"),
    [("=1+1", "'=1+1"), ("@SUM(A1)", "'@SUM(A1)"), ("-1+x", "'-1+x"), ("-5", "-5"), ("-", "-")],
)
def test_a_formula_is_text_and_a_number_is_not(text: str, cell: str) -> None:
    assert row({"state": text})["state"] == cell


def test_an_empty_line_of_a_log() -> None:
    fact = Fact("rds.connected", {}, Where("log", line=7), text="")
    assert log_table([fact], "csv") == "kind,line,text\nrds.connected,7,\n"
