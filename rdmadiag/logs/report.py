"""A report that the kernel printed (hung task, oops, warning ...), or a pasted stack, as it is put together."""

from typing import TYPE_CHECKING, Any

import msgspec

from rdmadiag.facts.model import Fact, Where
from rdmadiag.lazy import Lazy
from rdmadiag.logs.frames import Frame, at_bottom, real
from rdmadiag.logs.words import word_set

if TYPE_CHECKING:
    from rdmadiag.logs.records import Record

_DIGITS = Lazy(r"\d+")

MAX_FRAMES = 256
MAX_HISTORY = 16
MAX_MESSAGE = 400
MAX_TEXT = 4096
SIGNATURE_FRAMES = 4
REPORTING_FRAMES = 8

TASK = "task"
TRACE = "kernel.trace"

HEADER_ONLY = word_set("""
    kernel.hung_task kernel.soft_lockup kernel.hard_lockup kernel.rcu_stall kernel.workqueue_lockup kernel.oops
    kernel.use_after_free kernel.warning kernel.lockdep kernel.memory_leak kernel.page_allocation_failure kernel.panic
    """)
"""Reports that say something without a stack, too."""

_REPORTERS: tuple[tuple[str, frozenset[str]], ...] = (
    (
        "kernel.use_after_free",
        word_set("""kasan_report __kasan_report kasan_report_invalid_free kasan_report_double_free print_report
            kasan_report_error refcount_warn_saturate refcount_sub_and_test_checked"""),
    ),
    (
        "kernel.lockdep",
        word_set("print_circular_bug check_noncircular print_deadlock_bug print_usage_bug"),
    ),
    ("kernel.panic", frozenset({"panic"})),
    (
        "kernel.oops",
        word_set("oops_end die __die no_context page_fault_oops die_kernel_fault bug_handler"),
    ),
    ("kernel.soft_lockup", frozenset({"watchdog_timer_fn"})),
    (
        "kernel.hard_lockup",
        word_set("watchdog_overflow_callback watchdog_hardlockup_check"),
    ),
    (
        "kernel.rcu_stall",
        word_set("print_other_cpu_stall print_cpu_stall rcu_check_callbacks"),
    ),
    ("kernel.page_allocation_failure", word_set("warn_alloc warn_alloc_failed")),
    ("kernel.memory_leak", word_set("slab_err list_slab_objects")),
    (
        "kernel.warning",
        word_set(
            "__warn report_bug warn_slowpath_fmt warn_slowpath_common warn_slowpath_null __warn_printk"
        ),
    ),
)
"""Functions on a stack that tell what report it is from, when its header is lost."""

_REPORTING = frozenset().union(*(names for _, names in _REPORTERS)) | word_set("""
    dump_stack __dump_stack dump_stack_lvl show_stack print_address_description asm_exc_invalid_op exc_invalid_op
    handle_bug do_invalid_op invalid_op do_error_trap do_trap schedule __schedule schedule_timeout __switch_to
    __slab_err __kmem_cache_shutdown wait_for_completion __wait_for_common wait_for_common dump_backtrace
    kasan_save_stack kmem_cache_alloc_trace __kmalloc context_switch kasan_check_range __kasan_check_read
    __kasan_check_write check_memory_region kasan_object_err print_report
    """)
_CHECKS = ("__asan_", "__hwasan_", "__kasan_", "__tsan_", "__kcsan_", "__ubsan_")
"""Beginnings of the functions that compilers and the kernel put before an access to check it."""

_SLEEPING = (
    "schedule",
    "__schedule",
    "__switch_to",
    "context_switch",
    "io_schedule",
    "preempt_schedule_common",
)


class Stack(msgspec.Struct):
    """A stack that is history: where something was allocated, freed or locked."""

    label: str
    pid: int | None
    frames: list[Frame] = []


class Report(msgspec.Struct):
    """
    What was read of one report.

    :ivar kind: Its kind, ``""`` until a header or the frames tell.
    :ivar record: The record it began with; *telling*: the one that says what it is, where that is another.
    :ivar cut_here: It began with the line that begins warnings and bugs.
    :ivar note: Text between that line and the header: what the warning says.
    :ivar held: Where the locks were taken that the lock checker names.
    :ivar place: Where the CPU was: the ``RIP``, ``pc`` or ``NIP`` line.
    :ivar in_history: The frames that come are history: who allocated, freed or locked.
    :ivar busy: Busy workqueues, as listed after a workqueue lockup.
    :ivar elided: Lines were left out of it.
    :ivar ended: Its stack was printed to the end.
    """

    record: "Record"
    kind: str = ""
    fields: dict[str, Any] = {}
    message: str = ""
    telling: "Record | None" = None
    cut_here: bool = False
    note: str = ""
    held: list[Frame] = []
    frames: list[Frame] = []
    place: Frame | None = None
    history: list[Stack] = []
    in_history: bool = False
    busy: list[dict[str, Any]] = []
    elided: bool = False
    ended: bool = False

    def learn(self, fields: dict[str, Any]) -> None:
        """Take fields over that are not known yet."""
        for name, value in fields.items():
            if self.fields.get(name) is None:
                self.fields[name] = value

    def add_frame(self, frame: Frame) -> None:
        """Add a frame to the stack that is being read."""
        frames = self.history[-1].frames if self.in_history else self.frames
        if len(frames) < MAX_FRAMES:
            frames.append(frame)

    def begin_history(self, label: str, pid: int | None) -> None:
        """Let the frames that follow be of a stack that is history."""
        self.in_history = True
        if len(self.history) < MAX_HISTORY:
            self.history.append(Stack(label, pid))

    @property
    def is_fact(self) -> bool:
        """Whether there is enough of it to say something."""
        if self.kind in HEADER_ONLY or (self.cut_here and self.note):
            return True
        return bool(self.frames) or any(s.frames for s in self.history)

    def infer_kind(self) -> str:
        """Return its kind; where the header is lost, what the frames and the stacks beside them tell."""
        if self.kind:
            return self.kind
        if any(s.label in ("allocated", "freed") for s in self.history):
            return "kernel.use_after_free"
        names = {f.function for f in self.frames[:12]}
        for kind, reporters in _REPORTERS:
            if names & reporters:
                return kind
        if self.cut_here:
            return "kernel.warning"
        styles = {f.style for f in self.frames}
        return TASK if styles & {"proc", "crash", "debugger"} or self._asleep() else TRACE

    def _asleep(self) -> bool:
        """Tell whether the stack begins in the scheduler: nothing prints such a one but of a task that sleeps."""
        return len(self.frames) > 1 and self.frames[0].function in _SLEEPING and self.place is None

    def complete(self) -> bool:
        """Tell whether neither the head nor the tail nor anything between is known to be missing."""
        if self.elided or not self.kind or not self.frames or not at_bottom(self.frames):
            return self._whole_leak()
        first = self.frames[0]
        if first.style == "crash":
            return first.index == 0 and self._numbered()
        sleeps = self.kind == "kernel.hung_task" or self.fields.get("source") == "sysrq"
        return not sleeps or self.fields.get("state") == "R" or first.function in _SLEEPING

    def _whole_leak(self) -> bool:
        """Tell whether this is a leak report with as many frames as the detector stores."""
        return self.kind == "kernel.memory_leak" and not self.elided and len(self.frames) == 16

    def _numbered(self) -> bool:
        numbers = [f.index for f in self.frames if f.index is not None]
        return numbers == list(range(len(numbers)))

    def fact(self, source: str) -> Fact:
        """
        Return the fact that the report is.

        :param source: Name of the input.
        """
        record = self.telling or self.record
        return Fact(
            kind=self.infer_kind(),
            fields=self._all_fields(),
            where=Where(source, record.line, record.offset),
            host=record.host,
            time=record.time,
            text=record.text[:MAX_TEXT].rstrip("\r\n"),
        )

    def _all_fields(self) -> dict[str, Any]:
        stack = list(real(self._whole_stack()))
        functions = [f.function for f in stack]
        task = self.fields.get("task")
        fields: dict[str, Any] = dict.fromkeys(sorted(COMMON))
        fields |= self.fields
        fields |= {
            "message": (self.note or self.message)[:MAX_MESSAGE],
            "comm": task,
            "frames": [f.text for f in self.frames],
            "functions": functions,
            "modules": list(dict.fromkeys(f.module for f in stack if f.module)),
            "subsystem": next((f.subsystem for f in [*stack, *self.held] if f.subsystem), ""),
            "duplicate_functions": _duplicates(stack),
            "place": self.place.text if self.place else self.fields.get("place"),
            "complete": self.complete(),
            "elided": self.elided,
            "history": [_history(s) for s in self.history if s.frames],
            "style": self.frames[0].style if self.frames else "",
        }
        fields["work_function"] = fields["work_function"] or _work_function(functions)
        fields["signature"] = self._signature(stack)
        if self.infer_kind() == "kernel.workqueue_lockup":
            fields["workqueues"] = self.busy
        return fields

    def _whole_stack(self) -> list[Frame]:
        """Return the frames with the place where the CPU was in front, unless it is there already."""
        names = [f.function for f in self.frames if not f.guess]
        if self.place is None or self.place.function in names[:REPORTING_FRAMES]:
            return self.frames
        return [self.place, *self.frames]

    def _signature(self, stack: list[Frame]) -> str:
        """Return what is the same in two reports of one fault."""
        telling = [f.function for f in stack if not _reports(f.function)]
        head = " ".join(str(self.fields[n]) for n in ("bug", "cache") if self.fields.get(n))
        return (
            " < ".join(telling[:SIGNATURE_FRAMES])
            or head
            or _DIGITS.sub("#", (self.note or self.message)[:80])
        )


COMMON = word_set(
    "task pid cpu state seconds workqueue work_function release tainted bug source nmi"
)
"""Fields that every report has; ``None`` when the log does not tell."""

FIELDS = COMMON | word_set(
    """
    message comm frames functions modules subsystem duplicate_functions place complete elided history style signature
    workqueues cpus pool kind_of cache size order mode reason address file line flavour flusher flushed ppid access
    """
)
"""All fields of the facts that traces give."""


def _reports(function: str) -> bool:
    """Tell whether a function only reports what went wrong in another, or how a task went to sleep."""
    return function in _REPORTING or function.startswith(_CHECKS)


def _history(stack: Stack) -> dict[str, Any]:
    return {
        "label": stack.label,
        "pid": stack.pid,
        "frames": [f.text for f in stack.frames],
        "functions": [f.function for f in real(stack.frames)],
    }


def _duplicates(stack: list[Frame]) -> list[str]:
    """Return the RDMA functions that are on the stack more than once."""
    names = [f.function for f in stack if f.subsystem]
    return [n for n in dict.fromkeys(names) if names.count(n) > 1]


def _work_function(functions: list[str]) -> str | None:
    """Return the function that a kworker runs, from its stack."""
    if "process_one_work" not in functions:
        return None
    index = functions.index("process_one_work")
    return functions[index - 1] if index else None
