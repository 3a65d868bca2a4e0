"""Packages of the distribution: from the suites that the machine's apt follows, or from one that it does not.

A suite of the latter kind has an apt configuration of its own in the cache; the machine's stays as it is. Mirror and
keys are the machine's, so the signatures are checked as ever.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from .paths import CACHE, LabError, run, say

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = {
    "bullseye": (("Debian", "bullseye"), ("Debian-Security", "bullseye-security")),
    "trixie-backports": (
        ("Debian", "trixie"),
        ("Debian-Security", "trixie-security"),
        ("Debian", "trixie-backports"),
    ),
    "sid": (("Debian", "sid"),),
}
LABELS = (["Debian", "main"], ["Debian-Security", "main"])
"""Other suites with kernels, by the name that the lab gives them: label and suite of what is taken together."""


def _own_suites() -> list[str]:
    """What the machine follows of the distribution: URI and suite."""
    form = "$(LABEL) $(COMPONENT) $(REPO_URI) $(RELEASE)"
    text = run("apt-get", "indextargets", "--format", form, "Created-By: Packages")
    rows = [line.split() for line in text.splitlines()]
    return [" ".join(row[2:]) for row in rows if row[:2] in LABELS]


@lru_cache
def _mirrors() -> dict[str, str]:
    """The machine's mirrors by their label."""
    text = run(
        "apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"
    )
    mirrors = {}
    for line in text.splitlines():
        label, _, uri = line.partition(" ")
        mirrors.setdefault(label, uri)
    return mirrors


@dataclass(frozen=True)
class Apt:
    """apt for one suite; ``""`` is what the machine follows.

    :ivar arch: another architecture than the machine's; its packages are only fetched, never installed
    """

    suite: str = ""
    arch: str = ""

    @property
    def _home(self) -> Path:
        return CACHE / "apt" / "-".join(filter(None, (self.suite, self.arch)))

    def sources(self) -> list[str]:
        """Lines of a ``sources.list``. A suite that is not renewed any more has a date in the past.

        :raises LabError: the machine has no mirror for it
        """
        options = f"[signed-by={KEYS} check-valid-until=no]"
        if not self.suite:
            return [f"deb {options} {where} main" for where in _own_suites()]
        mirrors = _mirrors()
        if missing := [label for label, _ in SUITES[self.suite] if label not in mirrors]:
            raise LabError(f"apt has no source for {', '.join(missing)}: apt-get update")
        options = f"[signed-by={KEYS} check-valid-until=no]"
        return [f"deb {options} {mirrors[label]} {name} main" for label, name in SUITES[self.suite]]

    @cached_property
    def options(self) -> list[str]:
        """Options for the apt programs; a suite's lists are fetched when they are not there."""
        if not self.suite and not self.arch:
            return []
        home = self._home
        where = {
            "Dir::Etc::sourcelist": home / "sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::State::lists": home / "lists",
            "Dir::Cache": home / "cache",
            "APT::Update::Post-Invoke-Success": "",
            "Acquire::AllowInsecureRepositories": "false",
        }
        if self.arch:
            where |= {
                "APT::Architecture": self.arch,
                "APT::Architectures": self.arch,
                "Dir::State::status": home / "status",
            }
        options = [word for key, value in where.items() for word in ("-o", f"{key}={value}")]
        if not (home / "done").exists():
            say("apt-get update for", self.suite, self.arch)
            for name in ("lists/partial", "cache/archives/partial"):
                (home / name).mkdir(parents=True, exist_ok=True)
            (home / "status").touch()
            (home / "sources.list").write_text("\n".join(self.sources()) + "\n")
            run("apt-get", *options, "-q", "-o", "APT::Update::Error-Mode=any", "update")
            (home / "done").touch()
        return options

    def search(self, pattern: str) -> list[str]:
        """Names of packages that match."""
        text = run("apt-cache", *self.options, "search", "--names-only", pattern)
        return [line.split()[0] for line in text.splitlines()]

    def versions(self, package: str) -> list[str]:
        """Versions of a package, newest first; none when it is not known."""
        with suppress(LabError):
            lines = run("apt-cache", *self.options, "madison", package).splitlines()
            return [fields[1].strip() for line in lines if len(fields := line.split("|")) == 3]
        return []

    def download(self, package: str, version: str, to: Path) -> Path:
        """Fetch a package into an empty directory."""
        where = f"{package}={version}"
        run("apt-get", *self.options, "download", "-q", where, cwd=to, timeout=3600)
        (deb,) = to.glob("*.deb")
        return deb

    def download_all(self, packages: Iterable[str], to: Path) -> list[Path]:
        """Fetch packages and all they depend on into an empty directory; for another architecture."""
        (to / "partial").mkdir()
        options = [*self.options, "-o", f"Dir::Cache::archives={to}"]
        options += ["-o", "Debug::NoLocking=true", "--no-install-recommends"]
        run("apt-get", *options, "install", "-y", "-q", "--download-only", *packages, timeout=1800)
        return list(to.glob("*.deb"))
