"""
Facts: the one kind of row that everything before the rules produces and the rules read.

A rule never knows whether a fact came from a syslog line, the kernel's log buffer inside a dump, a
stack or a ring pointer.
"""

from typing import Any, Literal

import msgspec

Fields = dict[str, Any]
"""JSON values by name; nested dicts are allowed (``recv_ring`` -> ``nr`` ...)."""


class Moment(msgspec.Struct, frozen=True):
    """
    A point in time of one host.

    :ivar wall: Seconds since the epoch, UTC, or ``None`` when no wall clock is known.
    :ivar uptime: Seconds since boot (the kernel log's clock), or ``None``.
    :ivar boot: Which boot of the host in this input, counted from 0 in the order of the input.
    :ivar order: Position in the input: decides between two moments that are otherwise equal.
    """

    wall: float | None = None
    uptime: float | None = None
    boot: int = 0
    order: int = 0

    def since(self, other: "Moment") -> float | None:
        """
        Return the seconds from *other* to this moment.

        ``None`` when the two share no clock: no wall time on one of them and not the same boot's uptime.
        The kernel's own clock is preferred within a boot: it is finer than a syslog's second.
        """
        if self.uptime is not None and other.uptime is not None and self.boot == other.boot:
            return self.uptime - other.uptime
        if self.wall is not None and other.wall is not None:
            return self.wall - other.wall
        return None


class Where(msgspec.Struct, frozen=True):
    """
    Where a fact was seen: a place in a log, or an object in a dump.

    :ivar input: Name of the input as the user gave it (archive members as ``archive!member``).
    :ivar line: Line number from 1, in a log.
    :ivar offset: Byte offset of the line in the (decompressed) log.
    :ivar type: C type of the object, in a dump (``struct rds_ib_connection``).
    :ivar address: Its address.
    :ivar member: The member that decides, if one does.
    """

    input: str
    line: int | None = None
    offset: int | None = None
    type: str | None = None
    address: int | None = None
    member: str | None = None


class Fact(msgspec.Struct):
    """
    One observed thing.

    :ivar kind: Its kind, e.g. ``rds.connection_dropped``; see :mod:`rdmadiag.facts.kinds`.
    :ivar fields: Its values, as JSON values; see the kind for names and units.
    :ivar host: Short lower-case host name, or ``""`` when the input does not tell.
    :ivar time: When it was seen (a dump's state: the moment of the dump), or ``None``.
    :ivar text: The raw log line (undecodable bytes as backslash escapes), or one line that says what was read.
    """

    kind: str
    fields: Fields
    where: Where
    host: str = ""
    time: Moment | None = None
    text: str = ""


class Coverage(msgspec.Struct, frozen=True):
    """
    How far a kind of fact was looked for in one input.

    :ivar status: ``complete``: all there are were read. ``absent``: the thing does not exist here (module
        not loaded). ``partial``: some could not be read. ``failed``: none could.
    :ivar reason: One sentence; mandatory unless ``complete``.
    """

    kind: str
    input: str
    status: Literal["complete", "absent", "partial", "failed"]
    reason: str = ""
    host: str = ""


class Problem(msgspec.Struct, frozen=True):
    """
    Something about an input that the reader of the report must know: what, and where (may be empty).

    :ivar remark: Nothing went wrong and nothing was lost by it.
    """

    what: str
    where: str = ""
    remark: bool = False


class InputInfo(msgspec.Struct):
    """
    What an input turned out to be.

    :ivar kind: ``vmcore``, ``log``, ``archive``, ``live`` or ``unknown``.
    :ivar types: For a dump where its types came from: ``dwarf``, ``btf`` or ``none``.
    :ivar start: First moment the input speaks of, if known; *end*: the last (a dump: the moment of the dump).
    :ivar since: Earlier records were left out, as was asked for; *until*: later ones.
    """

    path: str
    kind: str = "unknown"
    host: str = ""
    kernel_release: str = ""
    bytes: int = 0
    records: int = 0
    unparsed: int = 0
    types: str = ""
    start: Moment | None = None
    end: Moment | None = None
    since: Moment | None = None
    until: Moment | None = None
    problems: list[Problem] = []


class Collected(msgspec.Struct):
    """All that was read from the inputs: what the rules work on."""

    inputs: list[InputInfo] = []
    facts: list[Fact] = []
    coverage: list[Coverage] = []

    def add(self, other: "Collected") -> None:
        """Take in what another collector read."""
        self.inputs += other.inputs
        self.facts += other.facts
        self.coverage += other.coverage
