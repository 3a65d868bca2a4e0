"""Takes a scenario's steps and leaves its dumps."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tarfile
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drgn import FaultError

from . import cases, forms, live, truth
from .guest import Guest
from .paths import LabError, run, say
from .scenario import Dump, Scenario, unmet

if TYPE_CHECKING:
    from collections.abc import Callable

    from .debian import Kernel

WORK = "rdmadiag-lab-"
CRASH_FORMS = ("elf", "zlib", "lzo", "snappy", "zstd", "raw", "flat", "split1", "split2")


class NotReached(LabError):
    """The guests did not get into the state; another try may."""


class Run:
    """One run of a scenario on one kernel."""

    def __init__(self, scenario: Scenario, kernel: Kernel, out: Path, work: Path) -> None:
        self.scenario, self.kernel, self.out, self.work = scenario, kernel, out, work
        self.guests: dict[str, Guest] = {}
        self.left: list[Path] = []
        self.live: list[str] = []

    # ---- booting and ending ----

    def boot(self) -> None:
        for node, name in ((1, "a"), (2, "b")):
            self.guests[name] = Guest(
                self.kernel,
                node,
                self.work,
                memory=self.scenario.memory + (512 if self.scenario.crash and node == 1 else 0),
                cpus=self.scenario.cpus,
                crash=self.scenario.crash and node == 1,
                share=any(word == "live" for word, _ in self.scenario.steps),
            )
        for guest in self.guests.values():
            guest.wait_ready()

    def end(self) -> None:
        for guest in self.guests.values():
            guest.kill()

    def keep_consoles(self, to: Path) -> None:
        """What the consoles and the guests said, for whoever looks into a failure."""
        to.mkdir(parents=True, exist_ok=True)
        for name, guest in self.guests.items():
            (to / f"{name}.console").write_bytes(guest.console_bytes())

    # ---- steps ----

    def take(self) -> None:
        words: dict[str, Callable[[Any], None]] = {
            "a": lambda v: self._shell("a", v),
            "b": lambda v: self._shell("b", v),
            "both": self._both,
            "until-a": lambda v: self._until("a", v),
            "until-b": lambda v: self._until("b", v),
            "sleep": time.sleep,
            "stop": lambda v: self.guests[v].stop(),
            "cont": lambda v: self.guests[v].cont(),
            "kill": lambda v: self.guests[v].kill(),
            "unplug": lambda v: self.guests[v].qmp("set_link", name="wire", up=False),
            "dump": self._dump,
            "live": self._live,
            "crash": self._crash,
        }
        for word, value in self.scenario.steps:
            if word != "sleep":
                say(f"  {word}: {str(value).strip().splitlines()[0]}")
            words[word](value)

    def _shell(self, name: str, text: str) -> None:
        self.guests[name].sh(text, 400)

    def _both(self, text: str) -> None:
        for guest in self.guests.values():
            guest.sh(text, 400)

    def _until(self, name: str, what: str | dict[str, Any]) -> None:
        text, within = (what, 120) if isinstance(what, str) else (what["run"], what["within"])
        end = time.monotonic() + within
        while self.guests[name].try_sh(text)[0]:
            if time.monotonic() > end:
                stacks = self.guests[name].try_sh("dmesg | tail -20; stacks")[1]
                raise NotReached(f"{name}: never came: {text}\n{stacks[-4000:]}")
            time.sleep(0.5)

    def _wanted(self, name: str) -> Dump | None:
        dump = self.scenario.dumps[name]
        if dump.level and self.kernel.arch.triplet:
            return None  # it cannot be filtered here
        return dump if not dump.kernels or self.kernel.series in dump.kernels else None

    def _log(self, guest: Guest) -> str:
        if guest.stopped or guest.process.poll() is not None:
            return ""
        try:
            return guest.sh("dmesg", 60)
        except LabError:
            return ""

    def _dump(self, name: str) -> None:
        dump = self._wanted(name)
        if not dump:
            return
        of = self.guests[dump.of]
        peer = self.guests["b" if dump.of == "a" else "a"]
        logs = {"dmesg.log": self._log(of), "peer-dmesg.log": self._log(peer)}
        own = of.sh("cat /tmp/own 2>/dev/null || true").split()
        frozen = [g for g in (of, peer) if not g.stopped and g.process.poll() is None]
        for guest in frozen:
            guest.stop()
        core = self.work / f"{name}.core"
        of.dump(core)
        self._leave(dump, core, own, logs)
        core.unlink()
        for guest in frozen:
            guest.cont()

    def _leave(self, dump: Dump, core: Path, own: list[str], logs: dict[str, str]) -> None:
        """Filter the core as an engineer's would be, and put the folder in its place."""
        facts, log = truth.read(core, self.kernel, own)
        if missing := unmet(dump.reached, facts["counts"]):
            raise NotReached(f"{dump.name}: {'; '.join(missing)}: {_short(facts)}")
        folder = self._folder(dump)
        level = dump.level or self.kernel.filter_level
        if self.kernel.arch.triplet:
            # makedumpfile filters dumps of its own architecture only
            self.guests[dump.of].dump_small(folder / "vmcore")
            level = 0
        else:
            makedumpfile = self.kernel.program("makedumpfile")
            run(*makedumpfile, "-f", "-c", "-d", level, core, folder / "vmcore")
        logs["dmesg.log"] = logs["dmesg.log"] or log
        self._finish(dump, folder, facts, logs, {"makedumpfile_level": level})

    def _folder(self, dump: Dump) -> Path:
        part = self.out / f".{dump.name}-{self.kernel.label}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        return part

    def _finish(
        self,
        dump: Dump,
        part: Path,
        facts: dict[str, Any],
        logs: dict[str, str],
        more: dict[str, Any],
    ) -> None:
        folder = self.out / part.name.removeprefix(".").removesuffix(".part")
        how = {
            "scenario": self.scenario.name,
            "kernel": self.kernel.release,
            "package_version": self.kernel.version,
            "steps": [{word: value} for word, value in self.scenario.steps],
            **more,
        }
        for name, text in logs.items():
            if text:
                (part / name).write_text(text)
        case = cases.case(folder.name, dump, self.kernel.release, facts)
        for name, value in (("truth", facts), ("case", case), ("run", how)):
            (part / f"{name}.json").write_text(json.dumps(value, indent=1) + "\n")
        old = self.out / f".{folder.name}.old"
        shutil.rmtree(old, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            folder.rename(old)
        part.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
        self.left.append(folder)
        say(f"  -> {folder}: {_short(facts)}")

    def _live(self, name: str) -> None:
        """The tool on the running guest, by QEMU's monitor and from inside, against what the dump says."""
        dump = self._wanted(name)
        if dump:
            self.live += live.compare(
                self.guests[dump.of], self.out / f"{name}-{self.kernel.label}"
            )

    def _missing_forms(self) -> None:
        """What a makedumpfile without snappy and zstd has left uncompressed, compressed here."""
        raw, other = self.work / "vmcore.snappy", self.work / "vmcore.zstd"
        if raw.stat().st_size != other.stat().st_size:
            return
        raw.rename(self.work / "vmcore.raw")
        for form in forms.COMPRESSIONS:
            forms.recompress(self.work / "vmcore.zlib", self.work / f"vmcore.{form}", form)

    def _crash(self, name: str) -> None:
        """The real way: the kernel panics, its crash kernel runs makedumpfile once for each form."""
        dump = self._wanted(name)
        if not dump:
            return
        of = self.guests["a"]
        logs = {"dmesg.log": "", "peer-dmesg.log": self._log(self.guests["b"])}
        own = of.sh("cat /tmp/own 2>/dev/null || true").split()
        of.sh("(sleep 1; echo c >/proc/sysrq-trigger) &")
        end = time.monotonic() + 900
        while of.process.poll() is None:
            if time.monotonic() > end:
                raise NotReached("the crash kernel did not come to an end")
            time.sleep(1)
        with tarfile.open(of.disk, ignore_zeros=True) as archive:
            for member in archive:
                part = archive.extractfile(member)
                if part and "/" not in member.name:
                    with (self.work / member.name).open("wb") as to:
                        shutil.copyfileobj(part, to)
        core = self.work / "vmcore.elf"
        facts, _ = truth.read(core, self.kernel, own)
        if missing := unmet(dump.reached, facts["counts"]):
            raise NotReached(f"{dump.name}: {'; '.join(missing)}: {_short(facts)}")
        logs["dmesg.log"] = (self.work / "dmesg.log").read_text(errors="replace")
        self._missing_forms()
        folder = self._folder(dump)
        shutil.move(self.work / "vmcore.lzo", folder / "vmcore")
        for form in CRASH_FORMS:
            if (self.work / f"vmcore.{form}").exists():
                shutil.move(self.work / f"vmcore.{form}", folder / f"vmcore.{form}")
        self._finish(dump, folder, facts, logs, {"makedumpfile_level": self.kernel.filter_level})


def _short(facts: dict[str, Any]) -> str:
    return " ".join(f"{k}={v}" for k, v in facts["counts"].items() if v)


def _sweep() -> None:
    """Delete what a lab has left that was killed outright."""
    for path in Path(tempfile.gettempdir()).glob(f"{WORK}*-*"):
        pid = path.name.removeprefix(WORK).partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(path, ignore_errors=True)


def play(scenario: Scenario, kernel: Kernel, out: Path) -> list[Path]:
    """Run a scenario until its state is reached; the folders it left.

    :raises LabError: not reached in the attempts it has; consoles are kept beside the dumps
    """
    for attempt in range(1, scenario.attempts + 1):
        say(f"{scenario.name} on {kernel.release}, attempt {attempt}")
        began = time.monotonic()
        _sweep()
        with tempfile.TemporaryDirectory(prefix=f"{WORK}{os.getpid()}-") as work:
            it = Run(scenario, kernel, out, Path(work))
            try:
                it.boot()
                it.take()
            except (LabError, LookupError, FaultError, OSError, tarfile.TarError) as error:
                it.keep_consoles(out / ".failed" / f"{scenario.name}-{kernel.label}")
                if attempt == scenario.attempts:
                    raise
                say(f"  {error}")
            else:
                say(f"{scenario.name} on {kernel.release}: {time.monotonic() - began:.0f} s")
                return it.left
            finally:
                it.end()
    return []
