"""Golden files: ``RDMADIAG_GOLDEN=1 pytest tests/report`` makes them anew; look at the difference then."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare a text with its golden file."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("RDMADIAG_GOLDEN"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return check
