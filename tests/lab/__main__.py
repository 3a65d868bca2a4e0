"""``python -m tests.lab``: see README.md here."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from tarfile import TarError

from drgn import FaultError

from . import build, debian, scenario
from .paths import CACHE, LabError, as_root, say
from .runner import play
from .score import table

REPOSITORY = Path(__file__).resolve().parents[2]
SERIES = ("6.1", "6.12")


def _setup(args: argparse.Namespace) -> list[debian.Kernel]:
    kernels = []
    for wanted in args.kernel or _available():
        kernel = debian.choose(wanted)
        debian.install([kernel])
        debian.fetch(kernel)
        build.modules(kernel)
        build.initramfs(kernel)
        kernels.append(kernel)
    return kernels


def _available() -> list[str]:
    known = [k for k in SERIES if k in debian.offered()]
    return known or list(debian.offered())[-1:]


def _chosen(names: list[str]) -> list[scenario.Scenario]:
    """Scenarios by their names or by the names of their dumps."""
    every = scenario.load_all()
    if not names:
        return list(every.values())
    found = {}
    for name in names:
        match = [s for s in every.values() if name == s.name or name in s.dumps]
        if not match:
            raise LabError(f"no scenario {name}; there are {', '.join(every)}")
        found |= {s.name: s for s in match}
    return list(found.values())


def _run(args: argparse.Namespace) -> int:
    failed = []
    for kernel in _setup(args):
        for item in _chosen(args.names):
            if item.kernels and kernel.series not in item.kernels:
                continue
            if kernel.arch.triplet and item.runs_our_programs:
                say(
                    f"not on {kernel.arch.name}: {item.name} runs this machine's programs in a guest"
                )
                continue
            try:
                play(item, kernel, args.out)
            except (LabError, LookupError, FaultError, OSError, TarError) as error:
                say(f"FAILED {item.name} on {kernel.release}: {error}")
                failed.append(f"{item.name}-{kernel.label}")
    if failed:
        say("not reached:", *failed)
    return 1 if failed else 0


def _test(args: argparse.Namespace) -> int:
    status = 0 if args.keep else _run(args)
    return max(status, _score(args))


def _score(args: argparse.Namespace) -> int:

    return table(args.out, args.names, with_debug_info=args.debuginfo)


def _list(args: argparse.Namespace) -> int:
    for item in _chosen(args.names):
        print(f"{item.name} ({', '.join(item.kernels or SERIES)}): {item.about}")
        for dump in item.dumps.values():
            print(f"    {dump.name}: {dump.about}")
    return 0


def _clean(args: argparse.Namespace) -> int:
    if CACHE.exists():
        jails = any(CACHE.glob("kernels/*/jail"))
        subprocess.run([*(as_root() if jails else []), "rm", "-rf", str(CACHE)], check=True)
    return 0


def main() -> int:
    """Parse the command line and do it."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, help_text in (
        ("setup", "install, fetch and build; nothing is booted"),
        ("run", "run scenarios (all, or those named; setup first where needed)"),
        ("test", "run, then score the tool on the dumps"),
        ("score", "score the tool on the dumps that are there"),
        ("list", "the scenarios and their dumps"),
        ("clean", "delete the cache"),
    ):
        sub = commands.add_parser(name, help=help_text)
        sub.add_argument("names", nargs="*", help="scenarios or dumps")
        sub.add_argument(
            "--kernel", action="append", help="series, release or newest (default: 6.1 and 6.12)"
        )
        sub.add_argument(
            "--out", type=Path, default=CACHE / "out", help="where dumps go (default: %(default)s)"
        )
        sub.add_argument(
            "--keep", action="store_true", help="test: score what is there, run nothing"
        )
        sub.add_argument(
            "--debuginfo",
            action="store_true",
            help="test, score: give the tool the debug packages' files",
        )
    args = parser.parse_args()
    # an end by signal ends the guests too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    commands_by_name = {"run": _run, "test": _test, "score": _score, "list": _list, "clean": _clean}
    try:
        if args.command == "setup":
            print(json.dumps([k.release for k in _setup(args)]))
            status = 0
        else:
            status = commands_by_name[args.command](args)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    say(f"{args.command}: {time.monotonic() - began:.0f} s in all")
    return status


if __name__ == "__main__":
    sys.exit(main())
