"""The scenario files and the lab's judgement; no guest is booted here."""

from __future__ import annotations

import importlib
import importlib.util
import struct
import sys
import zlib
from pathlib import Path

import pytest
import zstandard

# the folder is no installed package: load it from where it lies
HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location(
    "rdmadiag_lab", HERE / "__init__.py", submodule_search_locations=[str(HERE)]
)
sys.modules["rdmadiag_lab"] = importlib.util.module_from_spec(spec)
cases, forms, scenario, score, paths = (
    importlib.import_module(f"rdmadiag_lab.{name}")
    for name in ("cases", "forms", "scenario", "score", "paths")
)

SCENARIO = """
about: x
steps:
  - a: true
  - dump: one
dumps:
  one: {about: y, reached: {d_tasks: 1}}
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    return path


def test_all_scenarios_load() -> None:
    names = [d for s in scenario.load_all().values() for d in s.dumps]
    assert len(names) > 30
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a: true", "c: true", "no step 'c'"),
        ("dump: one", "dump: two", "differ: one, two"),
        ("about: y", "what: y", "not known: what"),
        ("d_tasks: 1", "d_tasks: lots", "a number"),
        ("about: x", "abuot: x", "not known: abuot"),
    ],
)
def test_wrong_scenario_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(paths.LabError, match=message):
        scenario.load(write(tmp_path, SCENARIO.replace(old, new)))


def test_unmet_names_the_count() -> None:
    assert scenario.unmet({"d_tasks": 1, "iw_ids": ">=3"}, {"d_tasks": 1, "iw_ids": 3}) == []
    assert scenario.unmet({"d_tasks": 2}, {"d_tasks": 1}) == ["d_tasks is 1, not 2"]
    assert scenario.unmet({"iw_ids": ">=3"}, {"iw_ids": 2}) == ["iw_ids is 2, not >=3"]


IW = {
    "address": "0xffff8880",
    "state": "CONN_SENT",
    "flags": "0x4",
    "connect_wait": True,
    "refcount": 2,
}
TRUTH = {
    "rdma_ids": [
        {
            "owner": {"controller": "nvme1", "traddr": "192.0.2.1"},
            "iw": {**IW, "waiters": [{"pid": 1}]},
        },
        {
            "owner": {"controller": "nvme2", "traddr": "192.0.2.1"},
            "iw": {**IW, "connect_wait": False},
        },
    ]
}


def report(**finding: object) -> dict[str, object]:
    blank = {"verdict": "confirmed", "severity": "critical", "subject": {}, "evidence": []}
    return {"findings": [{**blank, **finding}]}


def test_case_and_judgement_agree() -> None:
    name = "nvme-rdma-blocked-by-iwcm-connect-wait"
    dump = scenario.Dump("x", "x", expect={"findings": [name]})
    expect = cases.case("x-6.1", dump, "6.1", TRUTH)["expect"]
    assert expect["counts"] == {name: 1}
    good = report(
        id=name,
        subject={"controller": "nvme1", "traddr": "192.0.2.1", "nqn": "n"},
        evidence=[{"kind": "iwcm.cm_id", "fields": IW}],
    )
    assert score.judge(expect, good) == []
    assert score.judge(expect, report(id=name, subject={"controller": "nvme2"}))[0].startswith(
        "missing"
    )
    assert score.judge(expect, report(id="rds-shutdown-stuck-on-cq-error"))[0].startswith("false")


def test_healthy_dump_allows_nothing_loud() -> None:
    expect = cases.case("x-6.1", scenario.Dump("x", "x", expect={"any_of": []}), "6.1", TRUTH)[
        "expect"
    ]
    assert score.judge(expect, {"findings": []}) == []
    assert score.judge(expect, report(id="hung-task", severity="warning")) == ["false: hung-task"]


def test_expected_finding_without_evidence_in_the_truth_is_an_error() -> None:
    dump = scenario.Dump("x", "x", expect={"findings": ["rds-shutdown-stuck"]})
    with pytest.raises(LookupError, match="nothing in the ground truth"):
        cases.case("x-6.1", dump, "6.1", {"rds_connections": []})


def kdump(pages: list[bytes]) -> bytes:
    """A small kdump-compressed file with zlib pages of 4 KB."""
    header = bytearray(8192)
    header[:8] = b"KDUMP   "
    struct.pack_into("<IiiI", header, 424, 1, 4096, 1, 2)
    bitmap = ((1 << len(pages)) - 1).to_bytes(4096, "little")
    data, rows = b"", b""
    at = 8192 + 8192 + 24 * len(pages)
    for page in pages:
        packed = zlib.compress(page)
        rows += struct.pack("<QIIQ", at + len(data), len(packed), 1, 7)
        data += packed
    return bytes(header) + bitmap * 2 + rows + data


def test_recompressed_dump_has_the_same_pages(tmp_path: Path) -> None:
    pages = [bytes([n]) * 4096 for n in (1, 2, 3)]
    (tmp_path / "zlib").write_bytes(kdump(pages))
    forms.recompress(tmp_path / "zlib", tmp_path / "zstd", "zstd")
    new = (tmp_path / "zstd").read_bytes()
    assert struct.unpack_from("<I", new, 424)[0] == 0x20
    rows = [struct.unpack_from("<QIIQ", new, 16384 + 24 * n) for n in range(3)]
    assert [zstandard.decompress(new[o : o + n]) for o, n, _, _ in rows] == pages
    assert {(flags, page_flags) for _, _, flags, page_flags in rows} == {(0x20, 7)}


def test_other_forms_of_a_dump_are_scored_too(tmp_path: Path) -> None:
    for name in ("vmcore", "vmcore.lzo", "vmcore.split1", "vmcore.split2"):
        (tmp_path / name).touch()
    (tmp_path / "case.json").write_text('{"inputs": ["vmcore"]}')
    name = tmp_path.name
    assert score.inputs_of(tmp_path) == {
        name: ["vmcore"],
        f"{name} lzo": ["vmcore.lzo"],
        f"{name} split": ["vmcore.split1", "vmcore.split2"],
    }
