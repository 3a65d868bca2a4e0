"""
Damaged dumps: no traceback, no hang, no invented finding, no silence about what was lost.

A few trials of each kind; ``RDMADIAG_FAULTS=225`` runs so many, ``python -m tests.faults`` prints the figures.
"""

import os
from pathlib import Path

import pytest

from .damage import Damage, damages
from .trial import SAMPLES, Verdict, run

NAMES = ("iwcm-delete-stuck-stock", "rds-healthy", "rds-mixed-queued", "rds-stuck-recv-612")
COUNT = int(os.environ.get("RDMADIAG_FAULTS", "36"))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("damage", damages(NAMES, COUNT), ids=lambda d: f"{d.seed}-{d.kind}")
def test_damage(damage: Damage, tmp_path: Path) -> None:
    assert (SAMPLES / damage.sample).is_dir()
    verdict = Verdict(damage, run(damage, tmp_path))
    assert verdict.seen.broke == ""
    assert verdict.invented == set()
    assert verdict.silent == set()
