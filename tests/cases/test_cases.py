"""Every log case in ``tests/cases/logs``: from the file to the findings, with the shipped rules."""

import json
import sys
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from expected import faults

from rdmadiag.commands.diagnose import Request, make_report

LOGS = Path(__file__).parent / "logs"
CASES = sorted(p.parent.name for p in LOGS.glob("*/case.json"))


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    folder = LOGS / name
    case = json.loads((folder / "case.json").read_text())
    report = make_report(Request([str(folder / i) for i in case["inputs"]]))
    assert faults(msgspec.to_builtins(report), case["expect"]) == []


def test_there_are_cases() -> None:
    assert len(CASES) >= 60
