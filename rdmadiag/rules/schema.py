"""What a rule file may say: event rules, diagnosis rules and fixes; msgspec checks it on load."""

from typing import Annotated, Literal

import msgspec

Verdict = Literal["confirmed", "probable", "possible"]
Severity = Literal["critical", "warning", "info"]
FieldType = Literal[
    "str", "int", "hex", "hexstr", "float", "ip", "bool", "errno", "device", "lower"
]
FieldValue = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | str | float | bool | None
"""What a field of a log line's fact may be: what the fields' types give, in the range that JSON's readers agree on."""


class Sample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line that an event rule must match, with some of the fields it must give."""

    text: str
    fields: dict[str, FieldValue] = {}


class Samples(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Lines that must and must not match; at least one of each."""

    match: list[Sample]
    miss: list[str]


class EventRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    r"""
    Turns a log record's message into a fact.

    :ivar event: The fact's kind, e.g. ``hca.cq_error``. Several rules may give the same kind.
    :ivar pattern: A ``regex`` pattern searched in the message (after host, tag and stamps were taken off);
        named groups become fields. ``%{type:name}`` is a typed group (``%{ip:laddr}``, ``%{int:tos}``;
        ``rdmadiag.logs.patterns.TYPES``). Blanks in it match any run of blanks.
    :ivar literal: A string that every matching line holds, for the prefilter, or a list of which every
        matching line holds one; the most telling fixed part of the pattern when not given.
    :ivar companion: A second literal (or one of a list) the line must hold too, when *literal* is an ordinary word.
    :ivar fields: Types of the groups that are not written as ``%{type:name}``: ``int`` (decimal), ``hex`` (a
        number in hex -> int), ``hexstr`` (-> "0x.." string), ``ip`` (as Python's ipaddress prints it, mapped
        IPv4 as IPv4), ``errno`` (number or name -> negative int), ``device``, ``lower``, ``float``, ``bool``
        (group present). A group that took no part gives ``None``.
    :ivar set: Constant fields.
    :ivar values: Decoding tables: field -> {raw value: meaning}, or the name of a table of an event file;
        gives a field ``FIELD_meaning``.
    :ivar difference: Counted fields: name -> [ahead, behind], two 32-bit counters that may have wrapped.
    """

    event: str
    subsystem: str
    meaning: str
    pattern: str
    samples: Samples
    literal: str | list[str] = ""
    companion: str | list[str] = ""
    level: Literal["error", "warning", "notice", "info"] = "info"
    fields: dict[str, FieldType] = {}
    set: dict[str, FieldValue] = {}
    values: dict[str, str | dict[str, str]] = {}
    difference: dict[str, tuple[str, str]] = {}
    source: list[str] = []


class Driver(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    How the messages of one driver begin.

    :ivar prefix: Pattern at the start of a message that may have been printed by this driver; a group
        ``device`` gives the device.
    :ivar literals: Strings of which every such line holds one, for the prefilter.
    :ivar own: Pattern at the start of a message that only this driver prints: such a line is an RDMA message
        also when its format is not known. Empty: none is.
    """

    subsystem: str
    prefix: str
    literals: list[str]
    own: str = ""


class MessageFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    The messages of one source file, recognised without a meaning.

    :ivar formats: printf format -> function that prints it.
    """

    driver: str
    formats: dict[str, str]


class EventFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    ``rules/events/*.yaml``.

    :ivar tables: Decoding tables by name: raw value -> meaning.
    :ivar drivers: Drivers by name.
    :ivar messages: Source file -> its messages.
    """

    events: list[EventRule] = []
    tables: dict[str, dict[str, str]] = {}
    drivers: dict[str, Driver] = {}
    messages: dict[str, MessageFile] = {}


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    A time window around another clue.

    :ivar of: Name of an earlier clue.
    :ivar at: A field of that clue that holds seconds *before* the clue's time, to take as the middle
        (``shutdown_wait_seconds``: the moment the shutdown began), or empty for its time.
    :ivar before: How many seconds before it the window opens; ``null``: any time before.
    :ivar after: How many seconds after it the window closes; ``null``: any time after.
    :ivar same_boot: A reboot ends the window.
    :ivar lines: The window is of the lines of the same input, whatever their times: *before* and *after* of 0 are
        none on that side, any other is all.
    """

    of: str
    at: str = ""
    before: float | None = 0.0
    after: float | None = 0.0
    same_boot: bool = False
    lines: bool = False


class Clue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    One thing a diagnosis looks for.

    :ivar kind: Fact kind or kinds.
    :ivar when: Condition over the fact's fields and the earlier clues (by name); a sandboxed Jinja2 expression.
    :ivar anchor: Facts of this clue open a candidate; candidates with equal ``key`` values are one.
    :ivar join: Fields that must equal the candidate's: names, or {field here: key there}. Default: the key for
        anchors, nothing (same host only) for others.
    :ivar any_host: Look on all hosts (the other end of a connection), not only on the candidate's.
    :ivar key: For an anchor: where its facts hold the diagnosis' key, {key: field here}, when named otherwise;
        an empty name: they do not tell.
    :ivar near: Time window; of several, the first whose clue was found.
    :ivar each: For an anchor: each of its facts is tried by itself, and the most telling of those with the same key
        counts; not all of them together.
    :ivar pick: Which of the matches stands for the clue; ``count`` holds how many there were.
    :ivar at_least: Needs so many matches (within *within* seconds of each other, when that is given).
    :ivar evidence: Whether it is shown as evidence.
    """

    kind: str | list[str]
    when: str = ""
    anchor: bool = False
    each: bool = False
    join: list[str] | dict[str, str] | None = None
    any_host: bool = False
    key: dict[str, str] = {}
    near: Window | list[Window] | None = None
    pick: Literal["first", "last", "nearest", "all"] = "first"
    at_least: int = 1
    within: float | None = None
    evidence: bool = True
    note: str = ""


class Verdicts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Conditions over the clues' names; the first that holds, from the strongest down, is the verdict."""

    confirmed: str = ""
    probable: str = ""
    possible: str = ""


class RuledOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a candidate is none, and why, in words."""

    when: str
    because: str


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to do next; *command* is something to paste."""

    text: str
    command: str = ""
    when: str = ""


class Diagnosis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    ``rules/diagnoses/<subsystem>/ID.yaml``: one diagnosis a file.

    Texts (*title*, *summary*, *explanation*, *because*, steps) are Jinja2 templates over the clues.

    :ivar key: Fields of the anchors that make the subject; with none there is one candidate a host.
    :ivar subject: Template by name; default: the key's fields.
    :ivar fixes: Ids of ``rules/fixes``.
    :ivar gives_way_to: Ids of diagnoses that explain better what they rest on too; ``*``: any that does not itself
        give way to all. A candidate whose anchor facts are all evidence of such a finding is ruled out by it.
    :ivar leftover: The diagnosis is about tasks that no finding explains: anchor facts of tasks that the other
        findings name, and of tasks that wait for one of them, are left out.
    :ivar severity_when: {severity: condition}: another severity than *severity* when the condition holds.
    :ivar needs: Fact kinds besides the anchors' without which the absence of a finding says nothing.
    :ivar background: More to read for ``explain``.
    """

    id: str
    title: str
    subsystem: str
    severity: Severity
    clues: dict[str, Clue]
    verdict: Verdicts
    summary: str
    explanation: str
    key: list[str] = []
    subject: dict[str, str] = {}
    ruled_out: list[RuledOut] = []
    next_steps: list[Step] = []
    fixes: list[str] = []
    gives_way_to: list[str] = []
    leftover: bool = False
    severity_when: dict[str, str] = {}
    needs: list[str] = []
    background: str = ""


class FixedIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    A release of a kernel tree: where a change came in, or went out.

    :ivar tree: ``mainline``, ``stable-6.1``, ``UEK4``, ``RHEL8``, ``Debian`` ..., or ``any``.
    :ivar version: Its number as that tree writes it; empty when the tree has the change and the release is
        not known.
    :ivar bound: ``exact``; ``at_latest``: this release has it and an earlier one may; ``at_earliest``: no
        earlier release has it; ``about``: this one or one near it.
    """

    tree: str
    version: str = ""
    bound: Literal["exact", "at_latest", "at_earliest", "about"] = "exact"
    note: str = ""


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    Something in a dump that only kernels with (or only kernels without) the fix have.

    :ivar mark: ``member:struct rds_ib_connection.i_flags``, ``enumerator:RDS_IB_CQ_ERR``,
        ``symbol:[MODULE:]NAME``, ``wq_flag:iw_cm_wq:WQ_MEM_RECLAIM``, ``string:MODULE:TEXT``; ``no_member:...``
        when its absence tells.
    :ivar means: What the mark says about the fix.
    :ivar otherwise: What it says when it is not there; default: the opposite of *means*.
    :ivar trees: Kernel trees it holds for; empty: all.
    :ivar since: First mainline release it holds for, when older ones have the same thing for another reason.
    """

    mark: str
    means: Literal["present", "missing"] = "present"
    otherwise: Literal["present", "missing", "unknown", ""] = ""
    trees: list[str] = []
    since: str = ""
    why: str = ""


class LogMark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line that only kernels with the fix print: a pattern, and the fact kinds it may come in (empty: any)."""

    pattern: str
    kinds: list[str] = []
    trees: list[str] = []
    samples: list[str] = []


class LogLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    A log line that goes with the fault.

    :ivar pattern: A ``regex`` pattern searched in the message.
    :ivar samples: Lines it must match; made up or real, at least one.
    :ivar common: The line has many other causes, so it only supports a match and never makes one.
    """

    pattern: str
    samples: list[str]
    common: bool = False


class Signature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    How the fault looks.

    :ivar stack: Function stems, innermost first, gaps allowed; alternatives with ``|``.
    :ivar basis: Where the stack is from: a ``trace`` that was read, functions ``named`` in a record or the
        code, or our ``reading`` of a title.
    :ivar also: Other stacks that go with the fault: of the task at the other end, of an allocation.
    :ivar must: Functions that are on every such stack, however common they are; alternatives with ``|``.
    :ivar without: Functions that are not on such a stack: they belong to a look-alike.
    :ivar shared: The stack shows where it hangs, not why: other faults give the same one, so it is never sure.
    :ivar modules: Modules of which one must be on the stack, when the trace names modules at all.
    :ivar work: Work functions or workqueues of which one must be the task's, when the trace names one.
    :ivar log: Log lines.
    :ivar kinds: Fact kinds the stack may come from (``kernel.use_after_free`` ...); empty: any trace.
    """

    stack: list[str] = []
    basis: Literal["trace", "named", "reading"] = "reading"
    also: list[list[str]] = []
    must: list[str] = []
    without: list[str] = []
    shared: bool = False
    modules: list[str] = []
    work: list[str] = []
    log: list[LogLine] = []
    kinds: list[str] = []


class Fix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    A known fault and its fix, ``rules/fixes/*.yaml``.

    :ivar id: ``ORA-...`` by Orabug, ``UP-...`` by upstream commit (``UP-T-...``: only the title is known),
        ``OBS-...`` seen, with no fix known.
    :ivar title: The title of the change as published, or a description where there is none.
    :ivar explanation: What goes wrong and what the change does.
    :ivar looks: What one sees of it.
    :ivar basis: What was read: ``source-diff``, ``commit-text``, ``cve-record``, ``patch``, ``title`` ...; with
        ``title`` the rest is a reading of the title and a hint only.
    :ivar confidence: ``verified``: numbers and signature are in the sources; ``likely``: the numbers are;
        ``hint``: neither is certain.
    :ivar orabug: Orabug numbers, the first is the one of *title*, others are the same change in other trees.
    :ivar commit: Upstream commit, 8 to 40 hex digits; *culprits*: the commits that brought the fault.
    :ivar fixed_in: First releases with the change.
    :ivar introduced: First releases with the fault. When there are any, a release before them all is not affected.
    :ivar reverted: Releases that took the change out again.
    :ivar never_in: Trees without the change, with the newest release that was read.
    :ivar workaround: What helps without the fix; *note*: what to know about the entry itself.
    :ivar related: Ids of other entries.
    """

    id: str
    title: str
    subsystem: str
    explanation: str
    basis: str
    confidence: Literal["verified", "likely", "hint"]
    sources: list[str]
    looks: str = ""
    orabug: list[str] = []
    cve: list[str] = []
    commit: str = ""
    uek_commit: str = ""
    culprits: list[str] = []
    signature: Signature = Signature()
    fixed_in: list[FixedIn] = []
    introduced: list[FixedIn] = []
    reverted: list[FixedIn] = []
    never_in: list[FixedIn] = []
    marks: list[Mark] = []
    log_marks: list[LogMark] = []
    workaround: str = ""
    note: str = ""
    url: str = ""
    related: list[str] = []


class FixFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``rules/fixes/*.yaml``: the fixes of one subsystem."""

    fixes: list[Fix]
