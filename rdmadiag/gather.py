"""Reading all inputs: which station reads each, and the facts of all of them together."""

import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rdmadiag.errors import UserError
from rdmadiag.facts.kinds import KINDS
from rdmadiag.facts.merge import merge
from rdmadiag.facts.model import Collected, Coverage, InputInfo, Problem
from rdmadiag.inputs.files import STDIN, Target, expand
from rdmadiag.inputs.opening import open_target
from rdmadiag.inputs.source import Source
from rdmadiag.logs.options import LogOptions
from rdmadiag.logs.timed import tell_given_up
from rdmadiag.logs.vocabulary import Vocabulary
from rdmadiag.progress import Progress, Task
from rdmadiag.rules.load import rule_dirs

if TYPE_CHECKING:
    from rdmadiag.vmcore.corefile import CoreFile
    from rdmadiag.vmcore.dump import Dump


class Gatherer(msgspec.Struct, dict=True):
    """
    Reads inputs.

    :ivar rules: Folders of ``--rules``.
    :ivar debuginfo: What ``--debuginfo`` names.
    :ivar kinds: The only kinds of a dump's facts that are wanted; empty: those that rules ask for.
    """

    rules: Sequence[Path] = ()
    debuginfo: Sequence[Path] = ()
    options: LogOptions = msgspec.field(default_factory=LogOptions)
    collected: Collected = msgspec.field(default_factory=Collected)
    kinds: Sequence[str] = ()
    _files: Sequence[Path] = ()
    _read: set[Path] = msgspec.field(default_factory=set)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The event rules; read when the first log is."""
        return Vocabulary.load(rule_dirs(self.rules))

    def gather(self, inputs: Sequence[str]) -> Collected:
        """
        Read *inputs* and bring their facts together.

        :raises UserError: If none of them can be read.
        """
        targets = expand(inputs)
        self._files = [path for target in targets for path in target.paths]
        dumps = [t for t in targets if _is_dump(t)]
        with Progress() as progress, progress.task("reading", sum(map(_size, targets))) as done:
            for target in dumps:
                for source in open_target(target):
                    self.collected.add(self._read_dump(source))
                done.advance(_size(target))
            if len(dumps) < len(targets):
                self._read_logs([t for t in targets if t not in dumps], done)
        _refuse_nothing(self.collected.inputs)
        tell_given_up(self.collected)
        merge(self.collected)
        return self.collected

    def _read_logs(self, targets: Sequence[Target], done: Task) -> None:
        """Read logs, and the dumps that lie in the same folders."""
        from rdmadiag.logs.collect import LogCollector
        from rdmadiag.logs.parallel import collect_targets

        read = collect_targets(LogCollector(self.vocabulary, self.options), targets)
        for target, (parts, dumps) in zip(targets, read, strict=True):
            for part in (*map(self._read_dump, dumps), *parts):
                self.collected.add(part)
            done.advance(_size(target))

    def _read_dump(self, source: Source) -> Collected:
        from rdmadiag.vmcore.dump import open_dump

        # drgn's commands are for a prompt; loading them is a good part of reading a small dump.
        os.environ.setdefault("DRGN_DISABLE_PLUGINS", "builtin_commands,crash_commands,rdmadiag")
        if source.path in self._read:  # with another part of the same split dump
            return Collected()
        try:
            dump = open_dump(source.path or source.name, self.debuginfo, self._files)
        except UserError as error:
            return self._unreadable(source, str(error))
        self._read.update(part.path for part in dump.core.parts)
        return self.read_dump(dump, _name(dump.core) or source.name)

    def _unreadable(self, source: Source, reason: str) -> Collected:
        """Return that nothing was checked of a dump that cannot be opened: neither its objects nor the log in it."""
        from rdmadiag.logs.printk import log_coverage

        info = InputInfo(source.name, "unknown", bytes=source.size or 0, problems=[Problem(reason)])
        objects = [Coverage(kind, source.name, "failed", reason) for kind in KINDS]
        return Collected(
            [info], coverage=[*objects, *log_coverage(self.vocabulary, info, "failed", reason)]
        )

    def read_dump(self, dump: "Dump", name: str = "") -> Collected:
        """Return a dump's kernel facts, and those of the log buffer in it."""
        from rdmadiag.knowledge.base import load
        from rdmadiag.knowledge.status import marks_wanted
        from rdmadiag.logs.printk import collect_printk, log_coverage
        from rdmadiag.vmcore.collect.run import collect_dump
        from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why

        marks = marks_wanted(load(tuple(self.rules)).fixes.values())
        found = collect_dump(dump, name, marks, self.kinds)
        info = found.inputs[0]
        try:
            records = dump.dmesg()
            found.add(collect_printk(records, info, self.vocabulary, dump.lost_log))
        except READ_ERRORS as error:
            reason = f"the kernel's log buffer cannot be read: {why(error)}"
            info.problems.append(Problem(reason))
            found.coverage += log_coverage(self.vocabulary, info, "failed", reason)
        info.problems += [p for p in dump.problems if p not in info.problems]
        return found


def unread(inputs: Iterable[InputInfo], names: Collection[str]) -> list[str]:
    """Return of what the user named, files that could not be read at all, each with the reason."""
    lost = [i for i in inputs if i.kind == "unknown" and i.path in names]
    return [f"{i.path}: {_reason(i)}" for i in lost if not os.path.isdir(i.path)]  # noqa: PTH112 - raises nothing


def _size(target: Target) -> int:
    """Return the bytes of a target's files, for the progress bar; 0 where nobody knows."""
    total = 0
    for name in target.names:
        with suppress(OSError, ValueError):
            total += os.stat(name).st_size  # noqa: PTH116 - names of the user, not paths of ours
    return total


def _name(core: "CoreFile") -> str:
    """Return what to call a split dump; an empty text for any other."""
    first, *others = core.parts or (core,)
    return " + ".join([str(first.path), *(part.path.name for part in others)]) if others else ""


def _is_dump(target: Target) -> bool:
    if len(target.names) != 1 or target.problems or target.names[0] == STDIN:
        return False
    if _is_pipe(target.names[0]):  # no dump can be read from one, and what is looked at is gone
        return False
    source = next(open_target(target), None)
    return source is not None and source.kind in ("vmcore", "live")


def _is_pipe(name: str) -> bool:
    try:
        return Path(name).is_fifo()
    except OSError:  # opening it says why
        return False


def _refuse_nothing(inputs: Sequence[InputInfo]) -> None:
    if any(_says_something(i) for i in inputs):
        return
    reasons = dict.fromkeys(f"{i.path}: {_reason(i)}" for i in inputs)
    raise UserError("; ".join(reasons) or "there is nothing to read")


def _says_something(info: InputInfo) -> bool:
    return info.kind in ("vmcore", "live") or (info.kind == "log" and info.records > 0)


def _reason(info: InputInfo) -> str:
    """Say in a few words why nothing could be read of an input."""
    if problems := [p for p in info.problems if not p.remark]:
        return "; ".join(dict.fromkeys(p.what.removeprefix(f"{info.path}: ") for p in problems))
    return "is empty" if not info.bytes else "nothing in it reads as a log or a dump"
