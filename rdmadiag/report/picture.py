"""
What a finding's evidence draws: the two ends, the device, its queues, the rings, and who waits for whom.

Fields come from saved reports too, so each is checked before it is taken for a number.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from rdmadiag.report.model import Evidence, Finding
from rdmadiag.report.view import duration, value_text

MAX_RING = 1 << 24
MAX_SLOTS = 64
"""Queues drawn one by one; the rest is a number."""
MAX_WAITERS = 24


class Ring(msgspec.Struct, frozen=True):
    """A work queue ring: slots ``free_ptr`` up to ``alloc_ptr`` (around the end) are in flight."""

    name: str
    nr: int
    alloc_ptr: int
    free_ptr: int
    in_flight: int


class Slot(msgspec.Struct, frozen=True):
    """One queue of a controller; *state* is ``live``, ``stuck`` or ``idle``."""

    label: str
    state: str


class Link(msgspec.Struct, frozen=True):
    """One in a chain of waiters: each waits for the one before it."""

    what: str
    title: str
    detail: str


class Bound(msgspec.Struct, frozen=True):
    """How long a wait has lasted and can last at most, in seconds; *total* with all attempts left."""

    waited: float
    limit: float | None
    total: float | None
    arithmetic: str


class Picture(msgspec.Struct):
    """All that is drawn of one finding; empty parts are left out."""

    here: str = ""
    here_note: str = ""
    there: str = ""
    there_note: str = ""
    state: str = ""
    up: bool = False
    shutting_down: bool = False
    device: list[str] = []
    queues: list[tuple[str, str, bool]] = []
    rings: list[Ring] = []
    slots: list[Slot] = []
    more_slots: int = 0
    waiters: list[Link] = []
    bound: Bound | None = None

    def __bool__(self) -> bool:
        """Whether there is anything to draw."""
        return bool(self.here or self.there or self.device or self.waiters)


def picture(finding: Finding) -> Picture:
    """Return what can be drawn of *finding*."""
    drawn = Picture()
    for kind, take in _TAKERS.items():
        rows = [e for e in finding.evidence if e.kind == kind]
        if rows:
            take(drawn, max(rows, key=lambda row: _fit(row, finding.subject)).fields)
    subject = finding.subject
    if drawn.device and not (drawn.here or drawn.there):  # known from a log only
        drawn.here = _text(subject, "laddr") or _text(subject, "controller")
        drawn.there = _text(subject, "faddr") or _text(subject, "traddr")
    drawn.here_note = drawn.here_note or finding.host
    drawn.waiters += _waiting(finding, drawn)
    return drawn


def _fit(evidence: Evidence, subject: Mapping[str, Any]) -> tuple[int, bool]:
    """Return how much a row is the one to draw: what the finding is about, else what somebody waits on."""
    fields = evidence.fields
    names = ("laddr", "faddr", "tos", "controller", "traddr", "device")
    same = sum(name in subject and fields.get(name) == subject[name] for name in names)
    waits = ("shutdown_task", "blocked_task", "destroy_task", "setup_task")
    return same, any(fields.get(name) is not None for name in waits)


def _connection(drawn: Picture, fields: Mapping[str, Any]) -> None:
    drawn.here, drawn.there = _text(fields, "laddr"), _text(fields, "faddr")
    drawn.there_note = f"tos {_text(fields, 'tos')}" if fields.get("tos") is not None else ""
    drawn.state, drawn.up = _text(fields, "state"), fields.get("state") == "UP"
    drawn.shutting_down = (
        fields.get("shutdown_task") is not None or fields.get("shutdown_waiting") is True
    )
    _device(drawn, fields)
    for name in ("send", "recv"):
        if cq := _text(fields, f"{name}_cq"):
            drawn.queues.append((f"{name} CQ", cq, False))
        if ring := _ring(name, fields.get(f"{name}_ring")):
            drawn.rings.append(ring)


def _device(drawn: Picture, fields: Mapping[str, Any]) -> None:
    qp = " ".join(_text(fields, name) for name in ("qp_num", "qp_state")).strip()
    drawn.device = [_text(fields, "device") or "device", *([f"QP {qp}"] if qp else [])]


def _controller(drawn: Picture, fields: Mapping[str, Any]) -> None:
    drawn.here, drawn.there = _text(fields, "controller"), _text(fields, "traddr")
    drawn.there_note = _text(fields, "nqn")
    drawn.state, drawn.up = _text(fields, "state"), fields.get("state") == "LIVE"
    queues = fields.get("queues")
    queues = [q for q in queues if isinstance(q, dict)] if isinstance(queues, list) else []
    stuck = fields.get("blocked_queue")
    drawn.slots = [_slot(queue, stuck) for queue in queues[:MAX_SLOTS]]
    drawn.more_slots = max(0, len(queues) - MAX_SLOTS)
    drawn.bound = _bound(fields)


def _slot(queue: Mapping[str, Any], stuck: Any) -> Slot:
    names = queue.get("flag_names")
    live = isinstance(names, list) and any("LIVE" in str(name) for name in names)
    index = queue.get("index")
    state = "stuck" if index is not None and index == stuck else "live" if live else "idle"
    return Slot(value_text(index), state)


def _bound(fields: Mapping[str, Any]) -> Bound | None:
    waited = _number(fields, "blocked_wait_seconds")
    limit, total = _number(fields, "bound_seconds"), _number(fields, "bound_total_seconds")
    if waited is None or (limit is None and not fields.get("bound_arithmetic")):
        return None
    return Bound(waited, limit, total, _text(fields, "bound_arithmetic"))


def _cm_id(drawn: Picture, fields: Mapping[str, Any]) -> None:
    drawn.here = drawn.here or _text(fields, "laddr")
    drawn.there = drawn.there or _text(fields, "raddr")
    drawn.state = drawn.state or _text(fields, "state")
    drawn.device = drawn.device or [_text(fields, "device") or "device"]
    waits = fields.get("connect_wait") is True
    state = " ".join([_text(fields, "state"), *(["CONNECT_WAIT"] if waits else [])])
    drawn.queues.append(("cm_id", state, waits))


def _cq_error(drawn: Picture, fields: Mapping[str, Any]) -> None:
    name = _text(fields, "device") or _text(fields, "pci")
    drawn.device = drawn.device or [name or "HCA"]
    cqn = fields.get("cqn")
    if cqn is None:
        return
    number = f"0x{cqn:06x}" if isinstance(cqn, int) else value_text(cqn)
    drawn.queues.insert(0, ("CQ in error", number, True))


_TAKERS = {
    "rds.ib_connection": _connection,
    "nvme.rdma_controller": _controller,
    "iwcm.cm_id": _cm_id,
    "hca.cq_error": _cq_error,
}


def _waiting(finding: Finding, drawn: Picture) -> list[Link]:
    """Return who waits for whom: the thing, the task that waits for it, and who waits for that task."""
    wanted = _wanted(drawn)
    tasks = [e.fields for e in finding.evidence if e.kind == "task"]
    if wanted:
        sleepers = _sleepers(finding)
        links = [wanted, *(_task(t) for t in tasks if _pid(t) in sleepers)]
    else:
        links = _chain(tasks)
    for evidence in finding.evidence:
        links += _behind(evidence)
    unique = {link.title: link for link in reversed(links) if link}
    chain = list(reversed(unique.values()))
    return chain[:MAX_WAITERS] if len(chain) > 1 else []


def _sleepers(finding: Finding) -> set[Any]:
    """Return the tasks that wait for the connection or identifier itself."""
    names = ("shutdown_task", "blocked_task", "destroy_task", "setup_task")
    pids = [e.fields.get(n) for e in finding.evidence for n in names]
    return {pid for pid in pids if isinstance(pid, int)}


def _pid(fields: Mapping[str, Any]) -> int | None:
    pid = fields.get("pid")
    return pid if isinstance(pid, int) else None


def _chain(tasks: Sequence[Mapping[str, Any]]) -> list[Link]:
    """Return the longest chain of waits of a task, from its end: each waits for the one before it."""
    chains = [rows for t in tasks if isinstance(rows := t.get("chain"), list)]
    longest = max(chains, key=len, default=[])
    known = {_pid(t): _task(t) for t in tasks}
    rows = [row for row in reversed(longest) if isinstance(row, dict)]
    links = [
        known.get(_pid(r)) or Link("task", _name(r), f"state {_text(r, 'state')}") for r in rows
    ]
    return links or [_task(t) for t in tasks[:1]]


def _wanted(drawn: Picture) -> Link | None:
    """What the first task waits for: the end of the chain."""
    out = [r for r in drawn.rings if r.in_flight]
    if out and drawn.shutting_down:
        ring = out[0]
        words = {"recv": "receive"}.get(ring.name, ring.name)
        return Link("object", f"{ring.in_flight:,} {words} completions", "that have not come")
    waits = [text for name, text, bad in drawn.queues if name == "cm_id" and bad]
    return Link("object", "the pending connection attempt", waits[0]) if waits else None


def _behind(evidence: Evidence) -> Iterator[Link]:
    fields = evidence.fields
    if evidence.kind == "workqueue.work" and fields.get("behind") is not None:
        place = f"queued on {_text(fields, 'workqueue')} behind PID {_text(fields, 'behind')}"
        yield Link("work", f"{_text(fields, 'function')} {_text(fields, 'work')}", place)
    elif fields.get("behind_task") is not None:
        place = f"queued on {_text(fields, 'workqueue')} behind PID {_text(fields, 'behind_task')}"
        name = f"{_text(fields, 'laddr')} → {_text(fields, 'faddr')} (tos {_text(fields, 'tos')})"
        yield Link("work", f"RDS {name}", f"{_text(fields, 'state')}, its work is {place}")
    for name in ("behind", "waiting_behind"):
        rows = fields.get(name)
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, dict):
                yield Link("task", _name(row), _text(row, "what"))


def _task(fields: Mapping[str, Any]) -> Link:
    functions = fields.get("functions")
    names = [str(f) for f in functions] if isinstance(functions, list) else []
    sleeps = next((n for n in names if "schedule" not in n), "")
    waited = _number(fields, "wait_seconds")
    parts = [
        f"state {_text(fields, 'state')}" if fields.get("state") else "",
        f"in {sleeps}" if sleeps else "",
        f"for {duration(waited)}" if waited is not None else "",
        f"work {_text(fields, 'work_function')}" if fields.get("work_function") else "",
    ]
    return Link("task", _name(fields), ", ".join(p for p in parts if p))


def _name(fields: Mapping[str, Any]) -> str:
    return f"{_text(fields, 'comm')} (PID {_text(fields, 'pid')})"


def _ring(name: str, fields: Any) -> Ring | None:
    if not isinstance(fields, dict):
        return None
    numbers = [fields.get(key) for key in ("nr", "alloc_ptr", "free_ptr", "in_flight")]
    if not all(type(n) is int for n in numbers):
        return None
    ring = Ring(name, *numbers)  # type: ignore[arg-type]
    sane = 0 < ring.nr <= MAX_RING and 0 <= ring.in_flight <= ring.nr
    inside = 0 <= ring.alloc_ptr < ring.nr and 0 <= ring.free_ptr < ring.nr
    return ring if sane and inside else None


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return "" if value is None else value_text(value)


def _number(fields: Mapping[str, Any], name: str) -> float | None:
    value = fields.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
