"""Reading all inputs: which station reads each, and the facts of all of them together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rdmadiag.errors import UserError
from rdmadiag.facts.merge import merge
from rdmadiag.facts.model import Collected, InputInfo, Problem
from rdmadiag.inputs.opening import open_input
from rdmadiag.inputs.source import Source
from rdmadiag.logs.vocabulary import Vocabulary
from rdmadiag.rules.load import rule_dirs

if TYPE_CHECKING:
    from rdmadiag.vmcore.dump import Dump


@dataclass
class Gatherer:
    """
    Reads inputs.

    :ivar rules: Folders of ``--rules``.
    :ivar debuginfo: What ``--debuginfo`` names.
    """

    rules: Sequence[Path] = ()
    debuginfo: Sequence[Path] = ()
    since: float | None = None
    until: float | None = None
    jobs: int = 1
    collected: Collected = field(default_factory=Collected)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The event rules; read when the first log is."""
        return Vocabulary.load(rule_dirs(self.rules))

    def gather(self, inputs: Sequence[str]) -> Collected:
        """
        Read *inputs* and bring their facts together.

        :raises UserError: If none of them can be read.
        """
        refused: list[str] = []
        for name in inputs:
            for source in open_input(name):
                try:
                    self.collected.add(self._read(source))
                except UserError as error:
                    refused.append(str(error))
                    self.collected.inputs.append(_refused(source, error))
        if refused and not any(i.kind != "unknown" for i in self.collected.inputs):
            raise UserError("; ".join(refused))
        merge(self.collected)
        return self.collected

    def _read(self, source: Source) -> Collected:
        if source.kind in ("vmcore", "live"):
            from rdmadiag.vmcore.dump import open_dump

            return self.read_dump(open_dump(str(source.path), self.debuginfo), source.name)
        if source.kind == "log":
            from rdmadiag.logs.collect import collect_log

            return collect_log(source, self.vocabulary)
        reasons = "; ".join(p.what for p in source.problems) or "it is neither a dump nor a log"
        raise UserError(f"{source.name}: {reasons}")

    def read_dump(self, dump: "Dump", name: str = "") -> Collected:
        """Return a dump's kernel facts, and those of the log buffer in it."""
        from rdmadiag.knowledge.base import load
        from rdmadiag.knowledge.status import marks_wanted
        from rdmadiag.logs.printk import collect_printk, log_coverage
        from rdmadiag.vmcore.collect.run import collect_dump
        from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why

        found = collect_dump(dump, name, marks_wanted(load(tuple(self.rules)).fixes.values()))
        info = found.inputs[0]
        try:
            found.add(collect_printk(dump.dmesg(), info, self.vocabulary))
        except READ_ERRORS as error:
            reason = f"the kernel's log buffer cannot be read: {why(error)}"
            info.problems.append(Problem(reason))
            found.coverage += log_coverage(self.vocabulary, info, "failed", reason)
        return found


def _refused(source: Source, error: UserError) -> InputInfo:
    problems = source.problems or [Problem(str(error), source.name)]
    return InputInfo(source.name, "unknown", bytes=source.size or 0, problems=list(problems))
