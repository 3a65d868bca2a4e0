"""The report as Markdown, to paste into a ticket."""

import re
from collections.abc import Iterator, Mapping, Sequence

from rdmadiag.lazy import Lazy
from rdmadiag.report import view
from rdmadiag.report.escape import clean
from rdmadiag.report.groups import Group, Member, Stacks, grouped, labelled, labels_of
from rdmadiag.report.headline import headline
from rdmadiag.report.model import Evidence, Finding, FixRow, InputRow, Report, StepRow
from rdmadiag.report.picture import Picture, picture

_SPECIAL = Lazy(r"[\\`*{}\[\]<>|~]|(?<![^\W_])_|_(?![^\W_])")
_LINE_START = Lazy(r"(?m)^(\s*)([#+=-]|\d+[.)])")
_FIX = {"missing": "not in this kernel", "present": "in this kernel", "unknown": "not known"}
EVIDENCE = 16

Lines = Iterator[str]


def render(report: Report) -> str:
    """Return *report* as GitHub-flavoured Markdown without raw HTML."""
    return "\n".join(_report(clean(report))) + "\n"


def escape(text: str) -> str:
    """Return *text* so that Markdown shows it as it is."""
    # An entity, not a backslash: some dialects would still see a mention of somebody in "\@name".
    text = text.replace("&", "&amp;")
    text = _SPECIAL.sub(lambda m: "\\" + m[0], text).replace("@", "&#64;")
    return _LINE_START.sub(_no_block, text)


def _no_block(match: re.Match[str]) -> str:
    blank, mark = match[1], match[2]
    return f"{blank}{mark[:-1]}\\{mark[-1]}"


def code(text: str) -> str:
    """Return *text* as inline code, whatever backticks it has."""
    text = text.replace("\n", " ")
    ticks = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text or ' '}{pad}{ticks}"


def fence(text: str, indent: str = "") -> Lines:
    """Return *text* as a code block."""
    ticks = "`" * max(3, _longest_run(text) + 1)
    yield f"{indent}{ticks}text"
    yield from (indent + line for line in text.split("\n"))
    yield indent + ticks


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _report(report: Report) -> Lines:
    head = headline(report)
    yield f"# {head.tone.upper()}: {escape(head.text)}"
    yield ""
    yield escape(" ".join(head.notes)) if head.notes else "Every check could run."
    if report.redacted:
        yield "Names and addresses are pseudonyms."
    yield from _blind(report)
    chain = Chain(view.short_paths(report))
    for group in grouped(labelled(report.findings)):
        yield from _one(group, chain) if len(group) == 1 else _many(group, chain)
    yield from _checks(report)
    yield from _inputs(report.inputs)
    tool = report.tool
    yield ""
    yield escape(
        f"{tool.name} {tool.version}, rules {tool.rules_version}, {view.time_text(report.started)}"
    )


def _blind(report: Report) -> Lines:
    reasons = view.by_reason(view.blind(report))
    if reasons:
        yield "\n## Could not run\n"
        yield "What these look for may be there all the same.\n"
    for reason, checks in reasons.items():
        yield f"- {escape(reason)}: {', '.join(map(code, checks))}"


def _heading(group: Group) -> Lines:
    finding = group.shared
    yield f"\n## {group.label} {escape(finding.title)}\n"
    words = [finding.severity, finding.verdict, "known" if finding.known else ""]
    yield f"**{', '.join(w for w in words if w)}** · {code(finding.id)}" + (
        f" · host {code(finding.host)}" if finding.host else ""
    )


def _one(group: Group, chain: "Chain") -> Lines:
    yield from _heading(group)
    finding = group.members[0].own
    yield f"\n{escape(finding.summary)}\n"
    if finding.subject:
        yield f"- About: {code(view.subject_text(finding.subject))}"
    if seen := view.seen_text(finding):
        yield f"- Seen: {escape(seen)}"
    yield from _drawing(picture(finding))
    yield from chain.rows(group.members[0])
    yield from _common(finding)


def _common(finding: Finding) -> Lines:
    yield from _steps(finding)
    yield from _fixes(finding.fixes)
    if finding.explanation:
        yield "\n### Why it happens\n"
        yield escape(finding.explanation)


def _many(group: Group, chain: "Chain") -> Lines:
    """Tell what findings of one diagnosis have in common once, then of each what differs; the first is drawn."""
    yield from _heading(group)
    yield ""
    for member in group.members:
        yield f"- {member.label}: {code(view.subject_text(member.finding.subject) or '-')}"
    yield from _drawing(picture(group.members[0].finding))
    yield from chain.rows(Member(group.label, group.shared, group.shared))
    yield from _common(group.shared)
    for member in group.members:
        yield from _differing(member, group.shared, chain)


def _differing(member: Member, shared: Finding, chain: "Chain") -> Lines:
    own = member.own
    yield f"\n### {member.label} {code(view.subject_text(own.subject) or '-')}\n"
    if own.title != shared.title:
        yield f"{escape(own.title)}\n"
    yield escape(own.summary)
    if seen := view.seen_text(own):
        yield f"\nSeen {escape(seen)}."
    if own.explanation:
        yield f"\n{escape(own.explanation)}"
    yield ""
    yield from chain.proofs(member)
    for step in own.next_steps:
        yield from _step("-", step)
    yield from _fix_rows(own.fixes)


def _drawing(drawn: Picture) -> Lines:
    if drawn.here or drawn.there:
        yield f"- {code(drawn.here or '?')} to {code(drawn.there or '?')}: {code(drawn.state or '?')}"
    parts = [*drawn.device, *(f"{name} {text}" for name, text, _ in drawn.queues)]
    if parts:
        yield f"- {', '.join(map(code, parts))}"
    for ring in drawn.rings:
        yield (
            f"- {ring.name} ring: **{ring.in_flight}** of {ring.nr} in flight"
            f" (alloc {ring.alloc_ptr}, free {ring.free_ptr})"
        )
    if drawn.waiters:
        yield "\n### Who waits for whom\n"
    for number, link in enumerate(drawn.waiters):
        lead = "waits for it: " if number else ""
        yield f"{number + 1}. {lead}{code(link.title)} {escape(link.detail)}"
    if drawn.bound and drawn.bound.arithmetic:
        yield f"\nHow long it can last: {escape(drawn.bound.arithmetic)}"


class Chain:
    """
    The evidence of findings.

    :ivar short: What to call the inputs.
    """

    def __init__(self, short: Mapping[str, str]) -> None:
        self.short = short
        self._stacks = Stacks()

    def rows(self, member: Member) -> Lines:
        """Return the evidence of a finding that it does not share, under a heading."""
        if member.own.evidence:
            yield "\n### Evidence\n"
        yield from self.proofs(member)

    def proofs(self, member: Member) -> Lines:
        """Return the same without the heading."""
        steps = view.chain(member.own)
        for number, step in enumerate(steps[:EVIDENCE], 1):
            row = step.evidence
            often = f" ({row.count} times)" if row.count > 1 else ""
            when = " ".join(p for p in (view.time_text(row.time), step.after) if p)
            yield f"{number}. **{escape(row.note or row.clue)}**{often} {escape(when)}, {code(view.where_text(row.where, self.short))}"
            yield ""
            yield from fence("\n".join([row.text, *self._frames(row, member.label)]), "   ")
            yield ""
        if len(steps) > EVIDENCE:
            yield f"{len(steps) - EVIDENCE} more are in the JSON report."

    def _frames(self, row: Evidence, label: str) -> list[str]:
        frames = row.fields.get("frames")
        names = [f"  {view.value_text(f)}" for f in frames] if isinstance(frames, list) else []
        first = self._stacks.shown_in(names, label) if names else ""
        return [f"  (the same stack as in {first})"] if first else names


def _steps(finding: Finding) -> Lines:
    if finding.next_steps:
        yield "\n### What to do\n"
    for number, step in enumerate(finding.next_steps, 1):
        yield from _step(f"{number}.", step)


def _step(mark: str, step: StepRow) -> Lines:
    yield f"{mark} {escape(step.text)}"
    if step.command:
        yield ""
        yield from fence(step.command, "   ")
        yield ""


def _fixes(fixes: Sequence[FixRow]) -> Lines:
    if fixes:
        yield "\n### Known fixes\n"
    yield from _fix_rows(fixes)


def _fix_rows(fixes: Sequence[FixRow]) -> Lines:
    for fix in fixes:
        where = ", ".join(f"{row.tree} {row.version}" for row in fix.fixed_in)
        refs = [*view.references(fix), fix.url]
        yield f"- **{_FIX[fix.status]}**: {escape(fix.title or fix.id)}. {escape(fix.why)}"
        parts = [code(ref) for ref in refs if ref] + ([f"fixed in {code(where)}"] if where else [])
        yield f"  {'; '.join(parts)}"


def _checks(report: Report) -> Lines:
    groups = view.by_outcome(report)
    if groups:
        yield "\n## Checks\n"
    labels = labels_of(report.findings)
    for outcome, checks in groups.items():
        if outcome == "explained":
            for why, names in view.by_reason(checks, labels).items():
                yield f"- ruled-out, {escape(why)} ({len(names)}): {', '.join(map(code, names))}"
            continue
        if outcome == "fired":
            yield from (f"- fired: {code(c.id)}, {escape(c.reason)}" for c in checks)
            continue
        yield f"- {outcome} ({len(checks)}): {', '.join(code(c.id) for c in checks)}"


def _inputs(inputs: Sequence[InputRow]) -> Lines:
    yield "\n## Inputs\n"
    for row in inputs:
        parts = [
            row.kind,
            f"host {code(row.host)}" if row.host else "",
            f"kernel {code(row.kernel_release)}" if row.kernel_release else "",
            f"{row.bytes:,} bytes",
            f"{row.records:,} records",
        ]
        yield f"- {code(row.path)}: {', '.join(p for p in parts if p)}"
        for problem in row.problems:
            place = f" ({code(problem.where)})" if problem.where else ""
            word = "remark" if problem.remark else "problem"
            yield f"  - {word}: {escape(problem.what)}{place}"
