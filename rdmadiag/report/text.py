"""The report for a terminal, or for a pipe: the same order as the page, within 80 columns."""

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

from rich.console import Console, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from rdmadiag.report import view
from rdmadiag.report.escape import clean
from rdmadiag.report.groups import Group, Member, Stacks, grouped, labelled, labels_of
from rdmadiag.report.headline import headline
from rdmadiag.report.model import Evidence, Finding, FixRow, InputRow, Report, StepRow
from rdmadiag.report.picture import picture
from rdmadiag.report.sketch import TONES, indented, sketch, underlined

_STYLE = {
    **TONES,
    "missing": "bold red",
    "present": "bold green",
    "unknown": "bold yellow",
}
_FIX = {"missing": "not in this kernel", "present": "in this kernel", "unknown": "not known"}
EVIDENCE = 16
STACK = 14
EVENTS = 30
MEMBERS = 100
"""Findings of one group that are shown."""

Rows = Iterator[RenderableType]


def render(report: Report, width: int = 80, color: bool = False, whole: bool = False) -> str:
    """
    Return *report* as text.

    :param width: Columns to fit.
    :param color: Write the ANSI sequences of a terminal; without it the text is plain.
    :param whole: Keep each line of the evidence in one, however long: for a reader that is a program.
    """
    console = Console(
        file=StringIO(),
        width=max(width, 40),
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    for row in _report(clean(report), whole):
        _print(console, row)
    lines = console.file.getvalue().rstrip("\n").split("\n")  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _print(console: Console, row: RenderableType) -> None:
    if isinstance(row, Text):  # print() would forget how a text wants to be wrapped
        crop = row.overflow != "ignore"
        console.print(row, no_wrap=row.no_wrap, overflow=row.overflow, crop=crop)
    else:
        console.print(row)


def _report(report: Report, whole: bool) -> Rows:
    head = headline(report)
    yield Text.assemble((head.tone.upper(), _STYLE[head.tone]), "  ", (head.text, "bold"))
    if head.notes:
        yield Text(" ".join(head.notes))
    if report.redacted:
        yield Text("Names and addresses are pseudonyms.")
    yield from _blind(report)
    chain = Chain(view.short_paths(report), whole)
    for group in grouped(labelled(report.findings)):
        yield from _one(group, chain) if len(group) == 1 else _many(group, chain)
    yield from _timeline(report)
    yield from _checks(report)
    yield from _facts(report)
    yield from _inputs(report.inputs)
    tool = report.tool
    yield Rule(style="dim")
    yield Text(
        f"{tool.name} {tool.version}, rules {tool.rules_version}, {view.time_text(report.started)},"
        f" {view.duration(report.seconds)}",
        "dim",
    )


def _blind(report: Report) -> Rows:
    if not view.blind(report):
        return
    yield from _title("Could not run: what these look for may be there all the same", "incomplete")
    for why, checks in view.by_reason(view.blind(report)).items():
        yield Text(why)
        yield indented(Text(", ".join(checks), "dim"))


def _title(text: str, style: str = "") -> Rows:
    yield Text()
    yield Rule(Text(text, _STYLE.get(style, "bold")), align="left", style=_STYLE.get(style, "dim"))


def _heading(group: Group) -> Rows:
    finding = group.shared
    known = ", known" if finding.known else ""
    host = f", {finding.host}" if finding.host else ""
    yield from _title(
        f"{group.label} {finding.severity}, {finding.verdict}{known}{host}", finding.severity
    )
    yield Text(finding.title, "bold")


def _one(group: Group, chain: "Chain") -> Rows:
    yield from _heading(group)
    (member,) = group.members
    finding = member.own
    yield indented(Text(finding.summary))
    yield indented(_pairs(_about(finding)))
    yield from sketch(picture(finding))
    yield from chain.rows(member)
    yield from _steps(finding)
    yield from _fixes(finding.fixes)
    yield from _why(finding)


def _many(group: Group, chain: "Chain") -> Rows:
    """Tell what findings of one diagnosis have in common once, then of each what differs; the first is drawn."""
    yield from _heading(group)
    shared, first = group.shared, group.members[0]
    members, more = group.members[:MEMBERS], len(group) - MEMBERS
    rows = [(m.label, view.subject_text(m.finding.subject)) for m in members]
    yield indented(_pairs([("diagnosis", shared.id), *rows]))
    yield from sketch(picture(first.finding))
    yield from chain.rows(Member(group.label, shared, shared), "Evidence for all of them")
    yield from _steps(shared)
    yield from _fixes(shared.fixes)
    yield from _why(shared)
    for member in members:
        yield from _differing(member, shared)
        yield from chain.rows(member) if member is first else chain.bare(member)
        yield from _own_steps(member.own)
    if more > 0:
        yield Text(f"and {more:,} more like these, in the JSON report")


def _differing(member: Member, shared: Finding) -> Rows:
    own = member.own
    yield Text()
    yield Text(f"{member.label} {view.subject_text(own.subject)}", "bold")
    if own.title != shared.title:
        yield indented(Text(own.title))
    yield indented(Text(own.summary))
    if seen := view.seen_text(own):
        yield indented(Text(f"seen {seen}", "dim"))
    for paragraph in filter(None, own.explanation.split("\n\n")):
        yield indented(Text(paragraph))


def _own_steps(own: Finding) -> Rows:
    for step in own.next_steps:
        yield indented(_pairs([("-", step.text)]))
        yield from _command(step)
    yield from _fixes(own.fixes)


def _why(finding: Finding) -> Rows:
    if finding.explanation:
        yield underlined("Why it happens")
        yield indented(Text(finding.explanation))


def _about(finding: Finding) -> list[tuple[str, str]]:
    rows = [
        ("about", view.subject_text(finding.subject)),
        ("seen", view.seen_text(finding)),
        ("diagnosis", finding.id),
    ]
    return [(name, text) for name, text in rows if text]


class Chain:
    """
    The evidence of findings.

    :ivar short: What to call the inputs.
    :ivar whole: Do not break lines of the evidence.
    """

    def __init__(self, short: Mapping[str, str], whole: bool) -> None:
        self.short = short
        self._wrap: dict[str, Any] = {"no_wrap": True, "overflow": "ignore"} if whole else {}
        self._stacks = Stacks()

    def rows(self, member: Member, heading: str = "Evidence") -> Rows:
        """Return the evidence of a finding that it does not share; a stack that was shown before is only named."""
        steps = view.chain(member.own)
        if steps:
            yield underlined(heading)
        for step in steps[:EVIDENCE]:
            yield self._head(step)
            yield from self._body(step, member.label)
        yield from _left_out(steps)

    def bare(self, member: Member) -> Rows:
        """Return the same without the words for it: another finding of the group has them."""
        steps = view.chain(member.own)
        for step in steps[:EVIDENCE]:
            yield from self._body(step, member.label)
        yield from _left_out(steps)

    def _head(self, step: view.Step) -> RenderableType:
        row = step.evidence
        when = " ".join(p for p in (view.time_text(row.time), step.after) if p)
        often = f" ({row.count} times)" if row.count > 1 else ""
        return indented(Text.assemble((row.note or row.clue, "bold"), often, (f"  {when}", "dim")))

    def _body(self, step: view.Step, label: str) -> Rows:
        row = step.evidence
        yield self._line(row.text)
        yield self._line(view.where_text(row.where, self.short), "dim")
        yield from self._stack(row, label)

    def _line(self, text: str, style: str = "") -> RenderableType:
        return (
            Text(f"    {text}", style, **self._wrap)
            if self._wrap
            else indented(Text(text, style), 4)
        )

    def _stack(self, row: Evidence, label: str) -> Rows:
        frames = row.fields.get("frames")
        if not isinstance(frames, list) or not frames:
            return
        names = [view.value_text(frame) for frame in frames]
        if first := self._stacks.shown_in(names, label):
            yield indented(Text(f"the same stack as in {first}"), 6)
            return
        for number, frame in enumerate(names[:STACK]):
            yield indented(Text(f"#{number:<2} {frame}"), 6)
        if len(names) > STACK:
            yield indented(Text(f"and {len(names) - STACK} more frames"), 6)


def _left_out(steps: Sequence[view.Step]) -> Rows:
    if len(steps) > EVIDENCE:
        yield indented(Text(f"and {len(steps) - EVIDENCE} more, in the JSON report"))


def _steps(finding: Finding) -> Rows:
    if finding.next_steps:
        yield underlined("What to do")
    for number, step in enumerate(finding.next_steps, 1):
        yield indented(_pairs([(f"{number}.", step.text)]))
        yield from _command(step)


def _command(step: StepRow) -> Rows:
    for line in step.command.splitlines():
        yield Text(f"     {line}", "cyan", no_wrap=True, overflow="ignore")


def _fixes(fixes: Sequence[FixRow]) -> Rows:
    if fixes:
        yield underlined("Known fixes")
    for fix in fixes:
        yield indented(
            Text.assemble(
                (_FIX[fix.status], _STYLE[fix.status]), "  ", (fix.title or fix.id, "bold")
            )
        )
        where = ", ".join(f"{row.tree} {row.version}" for row in fix.fixed_in)
        refs = view.references(fix) + ([f"fixed in {where}"] if where else [])
        yield indented(Text(fix.why), 4)
        yield indented(Text("; ".join(refs)), 4)
        if fix.url:
            yield Text(f"    {fix.url}", "dim", no_wrap=True, overflow="ignore")


def _timeline(report: Report) -> Rows:
    """Show the log lines of all findings and hosts in the order of time; for one host the evidence does."""
    labels = {finding.fingerprint: label for label, finding in labelled(report.findings)}
    rows = [row for row in report.timeline if row.finding in labels]
    if len({row.host for row in rows}) < 2:
        return
    yield from _title("Time line of the findings")
    for row in rows[:EVENTS]:
        lead = f"{view.time_text(row.time)} {row.host} {labels[row.finding]} "
        yield Text.assemble((lead, "dim"), row.text, no_wrap=True, overflow="ellipsis")
    if len(rows) > EVENTS:
        yield Text(f"and {len(rows) - EVENTS} more, in the HTML and JSON reports")


def _checks(report: Report) -> Rows:
    groups = view.by_outcome(report)
    if not groups:
        return
    yield from _title("Checks")
    labels = labels_of(report.findings)
    for outcome, checks in groups.items():
        yield Text(f"{view.OUTCOMES[outcome]}: {len(checks)}", "bold")
        if outcome in ("ruled-out", "explained"):
            for why, names in view.by_reason(checks, labels).items():
                yield indented(Text.assemble(", ".join(names), (f": {why}", "dim")))
        elif outcome == "fired":
            for check in checks:
                yield indented(Text.assemble(check.id, (f": {check.reason}", "dim")))
        else:
            yield indented(Text(", ".join(c.id for c in checks)))


def _facts(report: Report) -> Rows:
    if report.facts:
        yield from _title("Facts")
        yield Text(", ".join(f"{kind} {number:,}" for kind, number in report.facts.items()))


def _inputs(inputs: Sequence[InputRow]) -> Rows:
    yield from _title("Inputs")
    for row in inputs:
        lost = f", {row.unparsed:,} not understood" if row.unparsed else ""
        parts = [
            row.kind,
            row.host,
            row.kernel_release,
            f"types from {row.types}" if row.types else "",
            f"{row.bytes:,} bytes",
            f"{row.records:,} records{lost}",
        ]
        yield Text.assemble((row.path, "bold"), "  ", ", ".join(p for p in parts if p))
        for problem in row.problems:
            place = f" ({problem.where})" if problem.where else ""
            mark, style = ("-", "dim") if problem.remark else ("!", _STYLE["incomplete"])
            yield indented(Text(f"{mark} {problem.what}{place}", style))


def _pairs(rows: Sequence[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(overflow="fold", max_width=44)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(Text(name, "dim"), Text(text))
    return table
