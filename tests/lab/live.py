"""The tool under test on a guest that runs: through QEMU's monitor, and inside on /proc/kcore."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drgn import FaultError

from . import truth
from .paths import LabError, say

if TYPE_CHECKING:
    from .guest import Guest

REPOSITORY = Path(__file__).resolve().parents[2]
IN_GUEST = """
on() {{ grep -q " $1 " /proc/mounts; }}
modprobe -a 9pnet_virtio 9p 2>/dev/null
on /host || mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,ro host /host || exit 3
for d in proc sys dev; do on /host/$d || mount -o rbind /$d /host/$d; done
on /host/tmp || mount -t tmpfs tmp /host/tmp
export HOME=/tmp PYTHONDONTWRITEBYTECODE=1
chroot /host /bin/sh -c "cd {repository} && exec {python} -m rdmadiag diagnose --format json /proc/kcore >/tmp/report.json 2>/tmp/errors"
cat /host/tmp/report.json; echo; echo ERRORS; tail -n 5 /host/tmp/errors
"""


def _ids(report: dict[str, Any]) -> Counter[tuple[str, str]]:
    return Counter((f["id"], f["verdict"]) for f in report["findings"] if f["severity"] != "info")


def _parse(text: str) -> dict[str, Any] | None:
    start = text.find("{")
    try:
        return json.JSONDecoder().raw_decode(text[start:])[0] if start >= 0 else None
    except ValueError:
        return None


def _diagnose(source: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "rdmadiag", "diagnose", "--format", "json", source],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=REPOSITORY,
        check=False,
    )
    return done.stdout or done.stderr


def _by_drgn(guest: Guest, folder: Path) -> str:
    """The ground truth once more, read from the running guest: that the way is open at all."""
    before = json.loads((folder / "truth.json").read_text())
    try:
        now, _ = truth.read(guest.second_qmp_path, guest.kernel, before["own_modules"])
    except (LabError, LookupError, FaultError, OSError, ValueError) as error:
        return f"failed: {error}"
    return " ".join(f"{k}={v}" for k, v in now["counts"].items() if v)


def _halted(guest: Guest) -> dict[str, Any]:
    """How often and how long QEMU has halted the guest, and whether it runs now."""
    status = guest.qmp("query-status")
    at = {
        name: [
            e["timestamp"]["seconds"] + e["timestamp"]["microseconds"] / 1e6
            for e in guest.events
            if e["event"] == name
        ]
        for name in ("STOP", "RESUME")
    }
    spans = [round(end - start, 4) for start, end in zip(at["STOP"], at["RESUME"], strict=False)]
    running = isinstance(status, dict) and bool(status.get("running"))
    return {"running": running, "stops": len(at["STOP"]), "seconds": spans}


def compare(guest: Guest, folder: Path) -> list[str]:
    """Differences between the findings on the dump and on the running guest, both ways in.

    Results also go to ``live.json`` in the dump's folder.
    """
    wanted = _parse(_diagnose(str(folder / "vmcore")))
    guest.qmp("query-status")
    guest.events.clear()
    began = time.monotonic()
    ways = {"qmp": _diagnose(str(guest.second_qmp_path))}
    halted = {**_halted(guest), "of": round(time.monotonic() - began, 1)}
    inside = IN_GUEST.format(repository=REPOSITORY, python=sys.executable)
    ways["kcore"] = guest.try_sh(inside, 400)[1]
    results: dict[str, Any] = {"halted": halted, "drgn_by_monitor": _by_drgn(guest, folder)}
    bad = [] if halted["running"] else [f"{folder.name}: the guest was left halted"]
    for way, text in ways.items():
        got = _parse(text)
        if wanted is None or "findings" not in wanted:
            results[way] = "not compared: there is no report on the dump"
        elif got is None or "findings" not in got:
            results[way] = f"no report: {text.strip()[-300:]}"
        elif _ids(got) != _ids(wanted):
            results[way] = f"differs: {dict(_str(_ids(got)))} instead of {dict(_str(_ids(wanted)))}"
        else:
            results[way] = f"same findings: {dict(_str(_ids(got)))}"
            say(f"  live {way}: {results[way]}")
            continue
        bad.append(f"{folder.name} {way}: {results[way]}")
        say(f"  live {bad[-1]}")
    (folder / "live.json").write_text(json.dumps(results, indent=1) + "\n")
    return bad


def _str(ids: Counter[tuple[str, str]]) -> dict[str, int]:
    return {"/".join(k): n for k, n in sorted(ids.items())}
