"""The lines that say why the kernel printed a stack, and those around it that say whose it is."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from rdmadiag.lazy import Lazy
from rdmadiag.logs.alike import Shapes, needle

if TYPE_CHECKING:
    import re

Groups = dict[str, str | int | None]

_NUMBERS = frozenset(("pid", "ppid", "cpu", "seconds", "line", "size", "order"))


class Header(msgspec.Struct, frozen=True):
    """
    A kind of header line.

    :ivar kind: Kind of the fact that it opens.
    :ivar pattern: Searched in the message; its groups become fields.
    :ivar needs: Strings of which the line, with single blanks, must hold one.
    :ivar extra: Constant fields.
    """

    kind: str
    pattern: Lazy[str]
    needs: tuple[str, ...]
    extra: tuple[tuple[str, str], ...] = ()


def _header(kind: str, needs: str | tuple[str, ...], pattern: str, **extra: str) -> Header:
    literals = (needs,) if isinstance(needs, str) else needs
    return Header(kind, Lazy(pattern), literals, tuple(extra.items()))


_LOCKDEP = (
    *(
        "possible recursive locking",
        "possible circular locking",
        "lock inversion",
        "inconsistent lock state",
    ),
    *(
        "suspicious RCU usage",
        "unsafe lock order",
        "bad unlock balance",
        "held lock freed",
        "Invalid wait context",
    ),
)

HEADERS: tuple[Header, ...] = (
    _header(
        "kernel.hung_task",
        ("INFO: task", "blocked for more than"),
        r"INFO: task (?P<task>.+):(?P<pid>\d+) (?:<\S+> )?blocked\b(?! on )(?: in I/O wait)?"
        r"(?: for(?: more(?: than(?: (?P<seconds>\d+))?)?)?)?",
    ),
    _header(
        "kernel.soft_lockup",
        "soft lockup",
        r"BUG: soft lockup - CPU#(?P<cpu>\d+) stuck for (?P<seconds>\d+)s!(?: \[(?P<task>.+?):(?P<pid>\d+)\])?",
    ),
    _header(
        "kernel.hard_lockup",
        ("hard LOCKUP", "Hard LOCKUP"),
        r"[Hh]ard LOCKUP on cpu (?P<cpu>\d+)",
    ),
    _header(
        "kernel.hard_lockup",
        ("hard LOCKUP", "Hard LOCKUP"),
        r"CPU (?P<cpu>\d+) (?:self-)?(?:detected )?[Hh]ard LOCKUP",
    ),
    _header(
        "kernel.rcu_stall",
        ("self-detected stall", "detected stalls", "detected expedited stalls"),
        r"(?P<flavour>rcu\w*) (?:self-)?detected (?:expedited )?stalls?\b(?:.*?\{ (?P<cpu>\d+))?",
    ),
    _header(
        "kernel.workqueue_lockup",
        "workqueue lockup - pool",
        r"BUG: workqueue lockup - pool (?P<pool>(?:cpus=(?P<cpus>\S+) )?.*?)(?: stuck for (?P<seconds>\d+)s!?)?$",
    ),
    _header(
        "kernel.oops",
        "BUG: KASAN: ",
        r"BUG: KASAN: (?P<bug>null-ptr-deref|wild-memory-access|user-memory-access)",
    ),
    _header(
        "kernel.use_after_free",
        ("BUG: KASAN: ", "BUG: KFENCE: "),
        r"BUG: K(?:ASAN|FENCE): (?P<bug>[a-z-]+(?: [a-z]+)*?)(?: in (?P<place>\S+))?(?:\s|$)",
    ),
    _header(
        "kernel.use_after_free",
        "refcount_t: ",
        r"refcount_t: (?P<bug>.*use-after-free)",
    ),
    _header(
        "kernel.use_after_free",
        ("Poison overwritten", "Redzone overwritten", "Padding overwritten", "Object already free"),
        r"BUG (?P<cache>\S+) \(.*\): (?P<bug>\w+ overwritten|Object already free)",
    ),
    _header("kernel.warning", "refcount_t: ", r"refcount_t: (?P<bug>.+)"),
    _header(
        "kernel.memory_leak",
        "unreferenced object",
        r"unreferenced object 0x[0-9a-f]+ \(size (?P<size>\d+)\)",
        kind_of="kmemleak",
    ),
    _header(
        "kernel.memory_leak",
        ("Objects remaining", "Slab cache still has objects"),
        r"(?:BUG |kmem_cache_destroy )(?P<cache>[\w:.-]+)(?: \(.*?\))?: (?:Objects remaining|Slab cache still has objects)",
        kind_of="slab",
    ),
    _header(
        "kernel.page_allocation_failure",
        "page allocation ",
        r"^(?P<task>\S.*?): page allocation (?:failure|stalls for \d+ms)[.:,]* order:(?P<order>\d+), mode:(?P<mode>0x[0-9a-f]+)",
    ),
    _header(
        "kernel.panic",
        "Kernel panic - not syncing",
        r"^(?!.*end Kernel panic).*?Kernel panic - not syncing:? ?(?P<reason>.*)",
    ),
    _header("kernel.lockdep", _LOCKDEP, rf"(?:WARNING|INFO|BUG): .*(?P<bug>{'|'.join(_LOCKDEP)})"),
    _header(
        "kernel.lockdep",
        ("is trying to acquire lock", "is trying to release lock"),
        r"(?:(?P<task>[^\s/]{1,64}(?:/[^\s/]{1,64})?)/(?P<pid>\d+) )?is trying to (?:acquire|release) lock",
    ),
    _header(
        "kernel.warning",
        "is flushing !WQ_MEM_RECLAIM",
        r"workqueue: (?:WQ_MEM_RECLAIM|PF_MEMALLOC task) (?P<flusher>\S+).*? is flushing !WQ_MEM_RECLAIM (?P<flushed>\S+)",
        bug="flush dependency",
    ),
    _header(
        "kernel.warning",
        "WQ_MEM_RECLAIM ",
        r"workqueue: WQ_MEM_RECLAIM (?P<flusher>\S+)",
        bug="flush dependency",
    ),
    _header(
        "kernel.warning",
        ("WARNING: CPU: ", "WARNING: at "),
        r"WARNING: (?:CPU: (?P<cpu>\d+) )?(?:PID: (?P<pid>\d+) )?at (?P<file>[\w./=-]+):(?P<line>\d+)(?: (?P<place>\S[^()]*).*)?",
    ),
    _header(
        "kernel.warning",
        "CPU#",
        r"^WARNING: (?P<file>[\w./-]+\.[ch]):(?P<line>\d+) at (?P<place>\S+)(?:.*?CPU#(?P<cpu>\d+))?",
    ),
    _header("kernel.warning", "DEBUG_LOCKS_WARN_ON", r"DEBUG_LOCKS_WARN_ON\((?P<bug>.*)\)"),
    _header(
        "kernel.warning",
        ("UBSAN: ", "BUG: KCSAN: "),
        r"^(?:UBSAN|BUG: KCSAN): (?P<bug>[\w -]+) in ",
    ),
    _header(
        "kernel.warning",
        (
            "BUG: scheduling while",
            "BUG: sleeping function",
            "BUG: spinlock",
            "BUG: workqueue leaked",
            "BUG: using ",
            "INFO: trying to register non-static key",
        ),
        r"^(?:BUG|INFO): (?P<bug>scheduling while atomic|sleeping function called from invalid context|spinlock \w+"
        r"|workqueue leaked lock or atomic|using \w+\(\) in preemptible|trying to register non-static key)",
    ),
    _header(
        "kernel.oops",
        ("nable to handle kernel", "nable to handle page fault", "kernel NULL pointer dereference"),
        r"(?P<bug>[Uu]nable to handle(?: kernel)?(?: NULL pointer dereference| paging request| page fault| pointer dereference"
        r"| data access| access)?|kernel NULL pointer dereference)"
        r"(?:.*?\b(?:address:?|at) (?P<address>(?:0x)?[0-9a-f]{8,16})\b)?",
    ),
    _header(
        "kernel.oops",
        "general protection fault",
        r"^(?:Oops: )?(?P<bug>general protection fault)\b(?:.*?non-canonical address (?P<address>0x[0-9a-f]+))?.*\[#\d+\]",
    ),
    _header(
        "kernel.oops",
        "kernel BUG at",
        r"(?P<bug>kernel BUG) at (?P<file>[\w./-]+):(?P<line>\d+)",
    ),
    _header(
        "kernel.oops",
        ("list_del corruption", "list_add corruption"),
        r"^(?P<bug>list_(?:del|add) corruption)",
    ),
    _header(
        "kernel.oops",
        (
            "Oops: ",
            "invalid opcode: ",
            "divide error: ",
            "stack segment: ",
            "double fault: ",
            "Internal error: ",
        ),
        r"^(?P<bug>Oops|invalid opcode|divide error|stack segment|double fault|Internal error): .*\[#\d+\]",
    ),
    _header(
        "kernel.oops",
        "RIP: 0010:",
        r"^RIP: 0010:(?:0x0$|\[<0{16}>\])",
        bug="jump to address 0",
    ),
    _header("kernel.oops", "stack guard page was hit", r"BUG: (?P<bug>.*stack guard page was hit)"),
)
"""Tried in this order; the first that fits says what the report is."""

TASK_HEADERS: tuple[Header, ...] = (
    _header(
        "task",
        tuple(f"state:{x}" for x in "DSRITtZXP"),
        r"task:(?P<task>\S.*?)\s+state:(?P<state>\w)(?:\s+running task)?"
        r"(?:\s+stack:\s*\S+)?(?:\s+pid:\s*(?P<pid>\d+))?(?:.*?ppid:\s*(?P<ppid>\d+))?",
        source="sysrq",
    ),
    _header(
        "task",
        (" 0x0000", " 0x8000", " 0x0020", " 0x0040", " 0x0010"),
        r"^(?P<task>[\w/:.+-]+(?: [\w/:.+-]+)?)\s+(?P<state>[DSRTtZXI])\s*(?:[0-9a-f]{16}\s+)?\d+\s+(?P<pid>\d+)\s+(?P<ppid>\d+)"
        r"(?:\s+\d+)?\s+0x[0-9a-f]{8}\b",
        source="sysrq",
    ),
    _header(
        "task",
        "COMMAND: ",
        r"PID:\s+(?P<pid>\d+)\s+TASK:\s+(?P<address>[0-9a-f]+)\s+(?:\[(?P<state>\w)\w*\]\s+)?CPU:\s+(?P<cpu>\d+)\s+COMMAND:\s+\"(?P<task>[^\"]*)\"",
        source="crash",
    ),
    _header(
        "task",
        tuple(f"? {x}" for x in "DSRITZ"),
        r"^\S+\s+(?P<pid>\d+)\s+[\d.]+\s+[\d.]+\s+\d+\s+\d+\s+\?\s+(?P<state>[DSRTtZXI])\S*\s+\S+\s+\d+:\d\d(?:\s+\[?(?P<task>[^\]]+)\]?)?$",
        source="proc",
    ),
    _header("task", "/proc/", r"/proc/(?P<pid>\d+)/(?:task/\d+/)?stack\b", source="proc"),
    _header("task", ("[kworker/", "[krdsd"), r"^\[(?P<task>k\w+(?:/[^\]]*)?)\]$", source="proc"),
    _header("task", "NMI backtrace for cpu", r"NMI backtrace for cpu (?P<cpu>\d+)", source="nmi"),
)
"""Lines that name the task whose stack follows."""

CUT_HERE = "------------[ cut here ]------------"


def groups_of(match: "re.Match[str]") -> Groups:
    """Return a header's groups as field values."""
    return {
        n: int(v) if v and n in _NUMBERS else v and v.strip() for n, v in match.groupdict().items()
    }


def find_header(message: str, headers: tuple[Header, ...]) -> tuple[Header, Groups] | None:
    """Return the header that *message* is, with its fields."""
    for header in _POSSIBLE[id(headers)].of(message):
        if any(x in message for x in header.needs) and (match := header.pattern.search(message)):
            return header, groups_of(match) | dict(header.extra)
    return None


def _possible(headers: tuple[Header, ...]) -> Shapes[list[Header]]:
    needles = [(h, [needle(x) for x in h.needs]) for h in headers]
    return Shapes(lambda shape: [h for h, texts in needles if any(x in shape for x in texts)])


_POSSIBLE = {id(headers): _possible(headers) for headers in (HEADERS, TASK_HEADERS)}


def literals() -> Iterator[str]:
    """Yield the strings of which every header line holds one, as the prefilter looks for them."""
    for header in (*HEADERS, *TASK_HEADERS):
        # ps prints eight blanks there, without which the prefilter would stop at every other line.
        yield from (x.replace("? ", "?        ") for x in header.needs)
