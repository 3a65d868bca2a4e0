"""Lines between a report's header and its frames: whose stack it is, on which kernel, and which stack follows."""

from typing import Any

from rdmadiag.lazy import Lazy

_RELEASE = r"(?P<release>\d+\.\d+\S*)(?:\s.*)?"
_TAINT = r"(?P<tainted>Not tainted|Tainted: .*?)"
_CPU = Lazy(
    rf"\s*CPU: (?P<cpu>\d+)(?: UID: \d+)? PID: (?P<pid>\d+) Comm: (?P<task>.+?) (?:Kdump: loaded )?(?:{_TAINT} )?{_RELEASE}"
)
_OLD_CPU = Lazy(rf"\s*Pid: (?P<pid>\d+), comm: (?P<task>.+?) {_TAINT}\s+(?:\(?{_RELEASE}\)?)")
_TAINTED = Lazy(rf"\s*{_TAINT}\s+{_RELEASE}")
_WORKQUEUE = Lazy(
    r"\s*Workqueue:\s+(?:0x0 \((?P<bare>[^)]+)\)|(?P<workqueue>\S+)(?:\s+(?P<work>[A-Za-z_][\w.]*))?(?:\s+\[(?P<module>\w+)\])?)"
)
_COMM = Lazy(r'\s*comm "(?P<task>[^"]*)", pid (?P<pid>\d+)')
_READ_BY = Lazy(
    r"\s*(?P<access>Read|Write) of size (?P<size>\d+) at addr \w+ by task (?P<task>.+)/(?P<pid>\d+)"
)
_RCU_CPU = Lazy(r"\s*(?:rcu:)?\s*(?P<cpu>\d+)-\S+: \(")
_HISTORY = Lazy(
    r"\s*(?:(?P<what>[Aa]llocated|[Ff]reed) by task (?P<pid>\d+).*|(?P<work>(?:Second to l|L)ast potentially related work creation):?"
    r"|(?P<chain>-> #\d+) .*|the existing dependency chain .*|the \S+ lock that .*|the dependencies between .*)"
)
_MAIN = Lazy(r"\s*(?:stack )?(?:[Bb]acktrace|Call [Tt]race|Stack)(?: \(.*\))?:?(?:\s*\(.*\))?")
_NOISE = Lazy(
    r"\s*(?:Modules linked in|Hardware name|Code|Stack|R[A-D0-9S]\w{0,2}|RSP|EFLAGS|FS|CS|DS|CR[0-9]|DR[0-9]|PKRU|ORIG_RAX|PGD|#PF|BTF"
    r"|Oops|SMP|Mem abort info|Data abort info|\[[0-9a-f]{16}\] pgd|pstate|lr|sp|x\d+|GPR\d+|NIP|LR|MSR|CFAR|Krnl PSW|Krnl GPRS"
    r"|Call Trace|Last Breaking-Event-Address|The buggy address|Memory state around|hex dump|irq event stamp|hardirqs|softirqs"
    r"|\d+ locks? held by|page:|raw:|flags:|pool \d+|last sysfs file|Sending NMI|NMI backtrace)\b.*"
    r"|\s*<?/?(?:IRQ|TASK|NMI|SOFTIRQ|EOI|ENTRY_TRAMPOLINE)>\s*|\s*={10,}|\s*(?:other info|1 lock|no locks).*"
    r'|\s*"echo 0 > .*|\s*disables this message.*'
)
_ELISION = Lazy(
    r"\s*(?:\.{3,}|\[\.{2,3}\]|\u2026|--+|<+(?:snip|\.\.\.)>+|\[(?:snip|cut)\]|\(\.\.\.\))\s*"
)
_WQ = Lazy(r"\s*workqueue (?P<name>\S+): flags=")
_WORKS = Lazy(r"\s*(?P<what>in-flight|pending|delayed|inactive): (?P<works>.*)")
_IN_FLIGHT = Lazy(r"(?P<pid>\d+)(?:\(RESCUER\))?:(?P<function>[\w.]+)")

TASK_END = "</TASK>"
TRACE_END = "---[ end trace"
NMI_STACK = "NMI exception stack"
MAX_WORKS = 64

Fields = dict[str, Any]


def identity(message: str) -> Fields:
    """Return task, pid, CPU, release and taint that a line gives, by field; nothing when it gives none."""
    for pattern in (_CPU, _OLD_CPU, _COMM, _READ_BY, _RCU_CPU):
        if match := pattern.match(message):
            return {n: _value(n, v) for n, v in match.groupdict().items() if v is not None}
    return kernel(message)


def kernel(message: str) -> Fields:
    """Return release and taint from a ``Not tainted`` or ``Tainted:`` line."""
    match = _TAINTED.fullmatch(message)
    return {n: _value(n, v) for n, v in match.groupdict().items()} if match else {}


def _value(name: str, text: str) -> str | int:
    if name in ("cpu", "pid", "size"):
        return int(text)
    if name == "tainted":
        return "" if text.startswith("Not") else " ".join(text.removeprefix("Tainted:").split())
    return text


def work(message: str) -> Fields:
    """Return workqueue, work function and its module from a ``Workqueue:`` line."""
    match = _WORKQUEUE.match(message)
    if match is None:
        return {}
    return {"workqueue": match["bare"] or match["workqueue"], "work_function": match["work"]}


def history_label(message: str) -> tuple[str, int | None] | None:
    """Return what a stack that is history is of, and the task's pid, from the line above it."""
    match = _HISTORY.fullmatch(message)
    if match is None:
        return None
    label = (match["what"] or match["chain"] or ("work creation" if match["work"] else "")).lower()
    return label or "dependency", int(match["pid"]) if match["pid"] else None


def begins_stack(message: str) -> bool:
    """Tell whether the line says that a stack follows."""
    return _MAIN.fullmatch(message) is not None


def is_noise(message: str) -> bool:
    """Tell whether the line belongs to a report without saying anything that is used."""
    return _NOISE.fullmatch(message) is not None


def is_elision(message: str) -> bool:
    """Tell whether somebody left lines out here."""
    return _ELISION.fullmatch(message) is not None


def add_works(busy: list[Fields], message: str) -> bool:
    """
    Read a line of the list of busy workqueues.

    :param busy: What was read so far: ``{name, in_flight: [{pid, function}], pending: [function]}``.
    :returns: Whether the line was one.
    """
    if match := _WQ.match(message):
        if len(busy) < MAX_WORKS:
            busy.append({"name": match["name"], "in_flight": [], "pending": []})
        return True
    match = _WORKS.match(message)
    if match is None or not busy:
        return "pwq " in message or "Showing busy workqueues" in message
    if match["what"] == "in-flight":
        found = [
            {"pid": int(m["pid"]), "function": m["function"]}
            for m in _IN_FLIGHT.finditer(match["works"])
        ]
        busy[-1]["in_flight"] += found[:MAX_WORKS]
    else:
        busy[-1]["pending"] += [w.strip() for w in match["works"].split(",") if w.strip()][
            :MAX_WORKS
        ]
    return True
