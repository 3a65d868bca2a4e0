"""Version comparison; the tables hold what rpm 4.18 and dpkg 1.21 said."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmadiag.knowledge.versions import (
    branch,
    dpkg_compare,
    parse_number,
    rpm_compare,
    rpmvercmp,
    show,
)

DATA = Path(__file__).parent / "data"


def pairs(name: str) -> list[tuple[str, str, int]]:
    rows = (line.split() for line in (DATA / name).read_text().splitlines())
    return [(left, right, int(order)) for left, right, order in rows]


def test_rpm_says_the_same():
    rows = pairs("rpm-vercmp.txt")
    assert len(rows) > 500
    assert [r for r in rows if rpm_compare(r[0], r[1]) != r[2]] == []


def test_dpkg_says_the_same():
    rows = pairs("dpkg-compare.txt")
    assert len(rows) > 300
    assert [r for r in rows if dpkg_compare(r[0], r[1]) != r[2]] == []


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("1.0", "1.0", 0),
        ("124.24.3", "124.24.10", -1),
        ("124.24.3", "124.24.3.1", -1),
        ("1.0~rc1", "1.0", -1),
        ("1.0^git1", "1.0", 1),
        ("1.0^git1", "1.0.1", -1),
        ("1.0^git1", "1.0~rc1", 1),
        ("001", "1", 0),
        ("a", "1", -1),
        ("1.2", "1_2", 0),
    ],
)
def test_rpmvercmp(left: str, right: str, order: int):
    assert rpmvercmp(left, right) == order
    assert rpmvercmp(right, left) == -order


def test_rpm_epoch_and_missing_release():
    assert rpm_compare("1:1.0-1", "2.0-1") == 1
    assert rpm_compare("1.0", "1.0-5") == 0
    assert rpm_compare("1.0-4", "1.0-5") == -1


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("6.1.192-2", (6, 1, 192, 0)),
        ("6.11", (6, 11, 0, 0)),
        ("2.6.32.9", (2, 6, 32, 9)),
        ("v5.4.17", (5, 4, 17, 0)),
        ("release not found", None),
        ("", None),
    ],
)
def test_parse_number(text: str, number: object):
    assert parse_number(text) == number


def test_branch_and_show():
    assert branch((6, 1, 192, 0)) == (6, 1, 0, 0)
    assert branch((2, 6, 32, 9)) == (2, 6, 32, 0)
    assert [show(n) for n in ((6, 1, 192, 0), (6, 11, 0, 0), (2, 6, 32, 9))] == [
        "6.1.192",
        "6.11",
        "2.6.32.9",
    ]


TEXTS = st.text(alphabet="0123456789abz.~^-+:_ \u0663", max_size=20)


@given(TEXTS, TEXTS)
def test_any_text_can_be_compared(left: str, right: str):
    for compare in (rpmvercmp, rpm_compare, dpkg_compare):
        assert compare(left, left) == 0
        assert compare(left, right) == -compare(right, left)


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str):
    parse_number(text)


def test_numbers_too_long_for_a_number():
    long = "9" * 6000
    assert rpmvercmp(long, f"1{long}") == -1
    assert dpkg_compare(f"{long}-1", f"{long}-2") == -1
    assert parse_number(f"6.{long}") is None
