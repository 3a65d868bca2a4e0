"""What the tool says of the lab's dumps, against what is true of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from .paths import CACHE

REPOSITORY = Path(__file__).resolve().parents[2]
Row = tuple[str, str, str]


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {prefix[:-1]: value}
    return {k: v for key, sub in value.items() for k, v in _flat(sub, f"{prefix}{key}.").items()}


def _has(want: dict[str, Any], got: dict[str, Any] | None) -> bool:
    have = _flat(got or {})
    return all(k in have and str(have[k]).lower() == str(v).lower() for k, v in _flat(want).items())


def _matches(want: dict[str, Any], finding: dict[str, Any]) -> bool:
    return (
        finding["id"] == want["id"]
        and finding["verdict"] in want.get("verdict", [finding["verdict"]])
        and _has(want.get("subject", {}), finding["subject"])
        and all(
            any(
                e["kind"] == item["kind"] and _has(item["fields"], e["fields"])
                for e in finding["evidence"]
            )
            for item in want.get("evidence", [])
        )
    )


def judge(expect: dict[str, Any], report: dict[str, Any]) -> list[str]:
    """What in a report is not as the case expects it.

    :param expect: ``expect`` of a case.json
    :param report: a report of schema 1
    """
    findings = report["findings"]
    ids = Counter(f["id"] for f in findings)
    loud = sorted({f["id"] for f in findings if f["severity"] != "info"})
    bad = [f"false: {name}" for name in expect.get("none_of", ()) if ids[name]]
    any_of = expect.get("any_of")
    if any_of == [] and loud:
        bad.append(f"false: {', '.join(loud)}")
    elif any_of and not any(ids[name] for name in any_of):
        bad.append(f"missing: one of {', '.join(any_of)}")
    for want in expect.get("findings", ()):
        if not any(_matches(want, f) for f in findings):
            near = [f"{f['verdict']} {f['subject']}" for f in findings if f["id"] == want["id"]]
            bad.append(
                f"missing: {want['id']} {want['subject']}" + (f" (has {near[0]})" if near else "")
            )
    bad += [
        f"{ids[n]} times {n}, not {want}"
        for n, want in expect.get("counts", {}).items()
        if ids[n] != want
    ]
    outcomes = {c["id"]: c["outcome"] for c in report.get("checks", ())}
    for name, allowed in expect.get("checks", {}).items():
        if outcomes.get(name) not in allowed:
            bad.append(f"check {name} is {outcomes.get(name)}")
    return bad


def _debug_info(folder: Path) -> list[str]:
    """Options that name the debug packages' files, and the modules of our own that were loaded."""
    release = json.loads((folder / "run.json").read_text())["kernel"]
    own = json.loads((folder / "truth.json").read_text())["own_modules"]
    root = CACHE / "kernels" / release
    paths = [root / "debug", *(root / "own" / f"{flavour}.ko" for flavour in own)]
    return [word for path in paths for word in ("--debuginfo", str(path))]


def inputs_of(folder: Path) -> dict[str, list[str]]:
    """The dump and the same dump in other forms, by what to call them in the table; the parts of a split one together."""
    found = {folder.name: list(json.loads((folder / "case.json").read_text())["inputs"])}
    for path in sorted(folder.glob("vmcore.*")):
        form = path.suffix[1:].rstrip("0123456789")
        found.setdefault(f"{folder.name} {form}", []).append(path.name)
    return found


def _one(folder: Path, name: str, files: list[str], *, with_debug_info: bool) -> Row:
    case = json.loads((folder / "case.json").read_text())
    inputs = [str(folder / file) for file in files]
    options = _debug_info(folder) if with_debug_info else []
    done = subprocess.run(
        [sys.executable, "-m", "rdmadiag", "diagnose", "--format", "json", *options, *inputs],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=REPOSITORY,
        check=False,
    )
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return name, "no report", done.stderr.strip()[-200:]
    said = Counter(f"{f['id']} ({f['verdict']})" for f in report["findings"])
    text = ", ".join(f"{n} x {what}" if n > 1 else what for what, n in sorted(said.items()))
    bad = judge(case["expect"], report)
    return name, "; ".join(bad) or "as expected", text or "nothing"


def table(out: Path, names: list[str], *, with_debug_info: bool = False) -> int:
    """Print one line a dump; 0 when all are as expected."""
    folders = sorted(p.parent for p in out.glob("[!.]*/case.json"))
    if names:
        folders = [f for f in folders if any(f.name.rpartition("-")[0] == name for name in names)]
    rows = [
        _one(folder, name, files, with_debug_info=with_debug_info)
        for folder in folders
        for name, files in inputs_of(folder).items()
    ]
    print("| dump | against the ground truth | what the tool says |\n|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    good = sum(r[1] == "as expected" for r in rows)
    print(f"\n{good} of {len(rows)} as expected")
    return 0 if rows and good == len(rows) else 1
