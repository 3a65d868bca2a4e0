"""What a scenario file may say.

A scenario boots two guests, ``a`` and ``b``, takes its steps, and leaves one folder for each of its dumps::

    about: one line
    kernels: ["6.1", "6.12"]        # series; all that are set up if left out
    memory: 448                     # MB, each guest
    cpus: 1
    crash: false                    # true: guest a has a crash kernel, and node a a second disk
    steps:
      - both: rds_up                # shell text in both guests; it must succeed (functions: guest/lab.sh)
      - a: fault mute ...           # in one guest
      - until-a: in_stack 4 f       # again and again until it succeeds (120 s; or {run: ..., within: 300})
      - sleep: 5
      - stop: b                     # freeze the machine (also cont:, kill:); not under traffic: its full wire
                                    # would block the other guest's QEMU
      - unplug: b                   # cut its wire
      - live: rds-stuck-recv        # compare the tool on the running guest with what that dump expects
      - dump: rds-stuck-recv        # freeze both, dump, go on
      - crash: name                 # panic guest a, let its crash kernel write the dumps
    dumps:
      rds-stuck-recv:
        of: a                       # whose memory
        about: one line
        level: 31                   # makedumpfile's; the right one for the kernel if left out
        kernels: ["6.12"]           # when not all of the scenario's
        reached: {shutdown_tasks: 1, d_tasks: ">=1"}      # counts of the ground truth
        expect:                     # what a good tool says
          findings: [rds-shutdown-stuck-on-cq-error]      # subject and evidence come from the ground truth
          verdict: [confirmed]
          any_of: []
          none_of: [...]          # besides those that never fit
          may: [...]              # but not these
          subjects: destroying    # only what a task waits to destroy; none: no subject asked for; some: one will do
          checks: {...}
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from .paths import SCENARIOS, LabError

if TYPE_CHECKING:
    from pathlib import Path

STEPS = {
    "a",
    "b",
    "both",
    "until-a",
    "until-b",
    "sleep",
    "stop",
    "cont",
    "kill",
    "unplug",
    "dump",
    "live",
    "crash",
}
EXPECT = {"findings", "verdict", "any_of", "none_of", "checks", "subjects", "may"}


@dataclass(frozen=True)
class Dump:
    """One folder that a scenario leaves."""

    name: str
    about: str
    of: str = "a"
    level: int | None = None
    kernels: tuple[str, ...] = ()
    reached: dict[str, int | str] = field(default_factory=dict)
    expect: dict[str, Any] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Scenario:
    """One scenario file."""

    name: str
    about: str
    steps: tuple[tuple[str, Any], ...]
    dumps: dict[str, Dump]
    kernels: tuple[str, ...] = ()
    memory: int = 448
    cpus: int = 1
    crash: bool = False
    attempts: int = 3

    @property
    def runs_our_programs(self) -> bool:
        """Whether a guest has to run programs of this machine: a crash kernel's makedumpfile, the tool itself."""
        return self.crash or any(word == "live" for word, _ in self.steps)


def _only(where: str, given: dict[str, Any], allowed: set[str]) -> None:
    if extra := set(given) - allowed:
        raise LabError(f"{where}: not known: {', '.join(sorted(extra))}")


def _dump(where: str, name: str, given: dict[str, Any]) -> Dump:
    where = f"{where}: dump {name}"
    _only(where, given, {"of", "about", "level", "kernels", "reached", "expect", "note"})
    _only(where, given.get("expect", {}), EXPECT)
    if given.get("of", "a") not in ("a", "b") or "about" not in given:
        raise LabError(f"{where}: needs about, and of may be a or b")
    for count, want in given.get("reached", {}).items():
        if not isinstance(want, int) and not re.fullmatch(r">=\d+", str(want)):
            raise LabError(f"{where}: reached: {count}: a number or '>=number'")
    return Dump(name=name, **{**given, "kernels": tuple(given.get("kernels", ()))})


def _step(where: str, given: Any) -> tuple[str, Any]:
    if not isinstance(given, dict) or len(given) != 1:
        raise LabError(f"{where}: a step is one 'word: value', not {given!r}")
    ((word, value),) = given.items()
    if word not in STEPS:
        raise LabError(f"{where}: no step {word!r}")
    return word, value


def load(path: Path) -> Scenario:
    """One scenario.

    :raises LabError: the file says something that no scenario may say
    """
    where = path.name
    given = yaml.safe_load(path.read_text())
    _only(
        where, given, {"about", "kernels", "memory", "cpus", "crash", "attempts", "steps", "dumps"}
    )
    if missing := {"about", "steps", "dumps"} - set(given):
        raise LabError(f"{where}: missing: {', '.join(sorted(missing))}")
    steps = tuple(_step(where, s) for s in given["steps"])
    dumps = {name: _dump(where, name, d) for name, d in given["dumps"].items()}
    taken = {value for word, value in steps if word in ("dump", "crash")}
    if taken != set(dumps):
        raise LabError(
            f"{where}: dumps taken and described differ: {', '.join(sorted(taken ^ set(dumps)))}"
        )
    rest = {k: v for k, v in given.items() if k in ("memory", "cpus", "crash", "attempts", "about")}
    return Scenario(
        path.stem, steps=steps, dumps=dumps, kernels=tuple(given.get("kernels", ())), **rest
    )


def load_all() -> dict[str, Scenario]:
    """All scenarios by name."""
    return {path.stem: load(path) for path in sorted(SCENARIOS.glob("*.yaml"))}


def unmet(reached: dict[str, int | str], counts: dict[str, int]) -> list[str]:
    """Which of the wanted counts the ground truth does not have."""
    bad = []
    for name, want in reached.items():
        have = counts[name]
        if have < int(want[2:]) if isinstance(want, str) else have != want:
            bad.append(f"{name} is {have}, not {want}")
    return bad
