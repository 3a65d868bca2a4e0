"""The lines of one printer (a CPU, a task, or a whole host without caller ids), parted into reports."""

from typing import TYPE_CHECKING

from rdmadiag.lazy import Lazy
from rdmadiag.logs import context
from rdmadiag.logs.frames import Frame, ends_stack, is_bare_address, parse_frame, parse_register
from rdmadiag.logs.headers import CUT_HERE, HEADERS, TASK_HEADERS, Groups, find_header
from rdmadiag.logs.report import MAX_HISTORY, TASK, Report
from rdmadiag.logs.words import word_set

if TYPE_CHECKING:
    from rdmadiag.facts.model import Moment
    from rdmadiag.logs.records import Record

PATIENCE = 60
PATIENCE_AFTER_END = 12
MAX_GAP = 90.0
MAX_LINE = 2048

_PROMPT = Lazy(r"\s*(?:crash\w*|drgn|\(gdb\)|>>>)\s*> ?.*|\s*(?:>>>|\(gdb\)) .*")
_LONE_MODULE = Lazy(r"\s*\[(?P<module>\w+)\]\s*")
_HELD_LOCK = Lazy(r"\(.*\)\{[^}]*\}(?:-\{[\d:]+\})?, at: (?P<frame>\S+(?: \[\w+\])?)")
_APART = word_set("""
    kernel.hung_task kernel.soft_lockup kernel.hard_lockup kernel.workqueue_lockup kernel.page_allocation_failure
    kernel.panic
    """)
"""Kinds of which each header line is a report of its own."""

_TOGETHER = frozenset(
    {
        ("kernel.use_after_free", "kernel.warning"),
        ("kernel.use_after_free", "kernel.oops"),
        ("kernel.warning", "kernel.use_after_free"),
        ("kernel.warning", "kernel.lockdep"),
        ("kernel.oops", "kernel.use_after_free"),
    }
)
"""Header lines that follow each other in one report: (kind so far, kind of the next line)."""

_CORRECTED = frozenset(
    {("kernel.warning", "kernel.use_after_free"), ("kernel.oops", "kernel.warning")}
)
"""Those of which the next line says better what it is; a damaged list is an oops only where a BUG follows."""

_WITH_TASK = word_set(
    "kernel.hung_task kernel.rcu_stall kernel.soft_lockup kernel.hard_lockup kernel.workqueue_lockup"
)
"""Reports in which a line about a task, or a CPU's backtrace, says whose stack follows."""


class Stream:
    """
    Parts records into reports.

    :ivar done: Reports that are finished; whoever reads them clears the list.
    """

    def __init__(self) -> None:
        self.done: list[Report] = []
        self._report: Report | None = None
        self._last = 0
        self._time: Moment | None = None

    def feed(self, record: "Record", count: int) -> None:
        """
        Read a record.

        Runs of blanks are made one: nothing here depends on them, and the patterns stay quick.

        :param count: How many records the input had so far: what patience is measured in.
        """
        message = " ".join(record.message[:MAX_LINE].split())
        if not message:
            return
        if self._too_late(record):
            self.close()
        if self._read(record, message):
            self._last, self._time = count, record.time

    def expired(self, count: int) -> bool:
        """Tell whether nothing of a report came for so long that none is to be expected."""
        if self._report is None:
            return True
        patience = PATIENCE_AFTER_END if self._report.ended else PATIENCE
        return count - self._last > patience

    def close(self) -> None:
        """End the report that is open."""
        if self._report is not None and self._report.is_fact:
            self._report.kind = self._report.kind or ""
            self.done.append(self._report)
        self._report = None

    def _too_late(self, record: "Record") -> bool:
        if self._time is None:
            return False
        gap = record.time.since(self._time)
        return gap is not None and abs(gap) > MAX_GAP

    def _open(self, record: "Record", kind: str = "") -> Report:
        self.close()
        self._report = Report(record, kind)
        return self._report

    def _read(self, record: "Record", message: str) -> bool:
        """Read a line; tell whether it belongs to a report."""
        if frame := parse_frame(message):
            self._frame(record, frame)
            return True
        if CUT_HERE in message:
            self._cut_here(record)
            return True
        return (
            self._header(record, message)
            or self._task_header(record, message)
            or self._place(record, message)
            or self._identity(record, message)
            or self._label(record, message)
            or self._mark(record, message)
        )

    def _cut_here(self, record: "Record") -> None:
        """Begin a report, unless the line before said already what is wrong (a damaged list, before its BUG)."""
        report = self._report
        if report is None or report.frames or not _said_before(report):
            report = self._open(record)
        report.cut_here = True

    def _frame(self, record: "Record", frame: Frame) -> None:
        report = self._report
        if report is None or (report.ended and not report.in_history and _begins_anew(frame)):
            report = self._open(record)
        report.add_frame(frame)
        if ends_stack(frame) and not frame.guess:
            report.ended = True

    def _header(self, record: "Record", message: str) -> bool:
        found = find_header(message, HEADERS)
        if found is None:
            return False
        header, groups = found
        report = self._report
        if report is None or not _joins(report, header.kind):
            report = self._open(record, header.kind)
        elif not report.kind or (report.kind, header.kind) in _CORRECTED:
            report.kind = header.kind
        if not (report.message or report.note):
            report.telling = record
        report.message = report.message or message
        report.elided |= message.startswith("...")
        report.learn(dict(groups))
        if report.place is None and groups.get("place"):
            report.place = parse_frame(str(groups["place"]))
        return True

    def _task_header(self, record: "Record", message: str) -> bool:
        found = find_header(message, TASK_HEADERS)
        if found is None:
            return False
        groups = _split_comm(found[1])
        report = self._report
        if report is None or not _takes_task(report, groups):
            report = self._open(record, TASK)
            report.message = message
        elif report.kind != TASK:
            groups.pop("source", None)
        report.learn(dict(groups))
        return True

    def _place(self, record: "Record", message: str) -> bool:
        frame = parse_register(message)
        if frame is None:
            return False
        report = self._report or self._open(record)
        if report.place and report.place.function == frame.function:
            return True
        if report.frames and not report.ended and not report.in_history:
            report.add_frame(frame)
        elif report.place is None and not (report.ended and report.kind):
            report.place = frame
        return True

    def _identity(self, record: "Record", message: str) -> bool:
        fields = context.identity(message)
        if not fields:
            if fields := context.work(message):
                (self._report or self._open(record)).learn(fields)
            return bool(fields)
        report = self._report
        if report is None or (report.frames and not report.in_history and "task" in fields):
            report = self._open(record)
        report.learn(fields)
        return True

    def _label(self, record: "Record", message: str) -> bool:
        if found := context.history_label(message):
            report = self._report or self._open(record)
            report.begin_history(*found)
            return True
        if not context.begins_stack(message):
            return False
        current = self._report
        if current is None or (current.frames and not current.in_history):
            current = self._open(record)
        current.in_history = False
        return True

    def _mark(self, record: "Record", message: str) -> bool:
        """Read a line that means something only within a report."""
        report = self._report
        if report is None:
            return False
        if context.TASK_END in message or context.TRACE_END in message:
            report.ended = bool(report.frames) or report.ended
            if context.TRACE_END in message:
                self.close()
            return True
        if _PROMPT.fullmatch(message):
            self.close()
            return False
        if report.cut_here and not (report.kind or report.note or context.is_noise(message)):
            report.telling = record
        return self._detail(report, message)

    def _detail(self, report: Report, message: str) -> bool:
        if context.is_elision(message):
            report.elided |= not report.ended
            return True
        if context.NMI_STACK in message:
            report.learn({"nmi": True})
            return True
        if report.kind == "kernel.workqueue_lockup" and context.add_works(report.busy, message):
            return True
        if (match := _LONE_MODULE.fullmatch(message)) and report.frames:
            _complete_last(report, match["module"])
            return True
        if report.kind == "kernel.lockdep" and (match := _HELD_LOCK.search(message)):
            if (frame := parse_frame(match["frame"])) and len(report.held) < MAX_HISTORY:
                report.held.append(frame)
            return True
        if context.is_noise(message) or is_bare_address(message):
            return True
        if report.cut_here and not report.kind and not report.note:
            report.note = message
            return True
        return False


def _said_before(report: Report) -> bool:
    """Tell whether the open report is a line that is printed before the cut line, or the header, of the same report."""
    return report.kind == "kernel.oops" and str(report.fields.get("bug")).startswith("list_")


def _begins_anew(frame: Frame) -> bool:
    """Tell whether a frame after the end of a stack is of another one."""
    return not (frame.guess or ends_stack(frame))


def _joins(report: Report, kind: str) -> bool:
    """Tell whether a header line belongs to the report that is open."""
    if report.kind in ("", kind) and not report.frames:
        return not (report.kind and kind in _APART)
    if report.kind == TASK:
        return False
    if report.in_history or not report.frames:
        said = kind == "kernel.warning" and _said_before(report)
        return said or (report.kind, kind) in _TOGETHER
    return False


def _takes_task(report: Report, groups: Groups) -> bool:
    """Tell whether a line about a task says whose the open report's stack is."""
    if report.frames:
        return False
    if report.kind in _WITH_TASK:
        return report.fields.get("pid") in (None, groups.get("pid")) or not groups.get("pid")
    return report.kind == TASK and not (report.fields.get("task") and groups.get("task"))


def _split_comm(groups: Groups) -> Groups:
    """Part ``kworker/0:1+events``, as ps and sysrq print a busy worker, into task and workqueue."""
    task = groups.get("task")
    if isinstance(task, str) and task.startswith("kworker/") and "+" in task:
        name, _, queue = task.partition("+")
        return groups | {"task": name, "workqueue": queue}
    return groups


def _complete_last(report: Report, module: str) -> None:
    """Give the last frame the module that was wrapped to the next line."""
    last = report.frames[-1]
    if not last.module:
        report.frames[-1] = Frame(
            f"{last.text} [{module}]", last.function, module, last.guess, last.style, last.index
        )
