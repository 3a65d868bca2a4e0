"""The report for a terminal, or for a pipe: the same order as the page, within 80 columns."""

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO

from rich.console import Console, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from rdmadiag.report import view
from rdmadiag.report.escape import clean
from rdmadiag.report.model import Evidence, Finding, FixRow, InputRow, Report
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

Rows = Iterator[RenderableType]


def render(report: Report, width: int = 80, color: bool = False) -> str:
    """
    Return *report* as text.

    :param width: Columns to fit.
    :param color: Write the ANSI sequences of a terminal; without it the text is plain.
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
    for row in _report(clean(report)):
        _print(console, row)
    lines = console.file.getvalue().rstrip("\n").split("\n")  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _print(console: Console, row: RenderableType) -> None:
    if isinstance(row, Text):  # print() would forget how a text wants to be wrapped
        crop = row.overflow != "ignore"
        console.print(row, no_wrap=row.no_wrap, overflow=row.overflow, crop=crop)
    else:
        console.print(row)


def _report(report: Report) -> Rows:
    head = view.headline(report)
    yield Text.assemble((head.tone.upper(), _STYLE[head.tone]), "  ", (head.text, "bold"))
    if head.notes:
        yield Text(" ".join(head.notes))
    if report.redacted:
        yield Text("Names and addresses are pseudonyms.")
    yield from _blind(report)
    short = view.short_paths(report)
    for number, finding in enumerate(view.ordered(report.findings), 1):
        yield from _finding(f"F{number}", finding, short)
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
    for reason, checks in view.by_reason(view.blind(report)).items():
        yield Text(reason)
        yield indented(Text(", ".join(checks), "dim"))


def _title(text: str, style: str = "") -> Rows:
    yield Text()
    yield Rule(Text(text, _STYLE.get(style, "bold")), align="left", style=_STYLE.get(style, "dim"))


def _finding(label: str, finding: Finding, short: Mapping[str, str]) -> Rows:
    known = ", known" if finding.known else ""
    host = f", {finding.host}" if finding.host else ""
    yield from _title(
        f"{label} {finding.severity}, {finding.verdict}{known}{host}", finding.severity
    )
    yield Text(finding.title, "bold")
    yield indented(Text(finding.summary))
    yield indented(_pairs(_about(finding)))
    yield from sketch(picture(finding))
    yield from _evidence(finding, short)
    yield from _steps(finding)
    yield from _fixes(finding.fixes)
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


def _evidence(finding: Finding, short: Mapping[str, str]) -> Rows:
    steps = view.chain(finding)
    if steps:
        yield underlined("Evidence")
    for step in steps[:EVIDENCE]:
        row = step.evidence
        when = " ".join(p for p in (view.time_text(row.time), step.after) if p)
        often = f" ({row.count} times)" if row.count > 1 else ""
        yield indented(Text.assemble((row.note or row.clue, "bold"), often, (f"  {when}", "dim")))
        yield indented(Text(row.text), 4)
        yield indented(Text(view.where_text(row.where, short), "dim"), 4)
        yield from _stack(row)
    if len(steps) > EVIDENCE:
        yield indented(Text(f"and {len(steps) - EVIDENCE} more, in the JSON report"))


def _stack(row: Evidence) -> Rows:
    frames = row.fields.get("frames")
    if not isinstance(frames, list) or not frames:
        return
    for number, frame in enumerate(frames[:STACK]):
        yield indented(Text(f"#{number:<2} {view.value_text(frame)}"), 6)
    if len(frames) > STACK:
        yield indented(Text(f"and {len(frames) - STACK} more frames"), 6)


def _steps(finding: Finding) -> Rows:
    if finding.next_steps:
        yield underlined("What to do")
    for number, step in enumerate(finding.next_steps, 1):
        yield indented(_pairs([(f"{number}.", step.text)]))
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
        refs = [fix.id, fix.cve, f"commit {fix.commit}" if fix.commit else ""]
        yield indented(Text(fix.why), 4)
        yield indented(
            Text("; ".join([r for r in refs if r] + ([f"fixed in {where}"] if where else []))), 4
        )
        if fix.url:
            yield Text(f"    {fix.url}", "dim", no_wrap=True, overflow="ignore")


def _timeline(report: Report) -> Rows:
    """Show the log lines of all findings and hosts in the order of time; for one host the evidence does."""
    labels = {f.fingerprint: f"F{n}" for n, f in enumerate(view.ordered(report.findings), 1)}
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
    for outcome, checks in groups.items():
        yield Text(f"{outcome}: {len(checks)}", "bold")
        if outcome == "ruled-out":
            for reason, names in view.by_reason(checks).items():
                yield indented(Text.assemble(", ".join(names), (f": {reason}", "dim")))
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
            yield indented(Text(f"! {problem.what}{place}", _STYLE["incomplete"]))


def _pairs(rows: Sequence[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(overflow="fold", max_width=44)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(Text(name, "dim"), Text(text))
    return table
