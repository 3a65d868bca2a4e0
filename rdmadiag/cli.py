"""The command line: it only names options; each sub-command is a module of :mod:`rdmadiag.commands`."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rdmadiag import __version__
from rdmadiag.commands import Result
from rdmadiag.report.columns import TABLES

app = typer.Typer(
    name="rdmadiag",
    help="Says what is wrong with RDMA on a machine, from its kernel crash dumps and logs.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
rules_app = typer.Typer(help="List, check and test rules.", rich_markup_mode=None)
app.add_typer(rules_app, name="rules")
fix_app = typer.Typer(
    help="Known faults: which a kernel has, which an input looks like.",
    rich_markup_mode=None,
)
app.add_typer(fix_app, name="fix")


class Format(StrEnum):
    """How a report is written."""

    text = "text"
    json = "json"
    html = "html"
    markdown = "markdown"
    sarif = "sarif"
    junit = "junit"


class Table(StrEnum):
    """How a table is written."""

    text = "text"
    json = "json"
    csv = "csv"


class Plain(StrEnum):
    """How a list is written."""

    text = "text"
    json = "json"


class Compared(StrEnum):
    """How a comparison is written."""

    text = "text"
    json = "json"
    markdown = "markdown"


class FailOn(StrEnum):
    """From which severity on a finding makes the exit status 1."""

    critical = "critical"
    warning = "warning"
    info = "info"
    never = "never"


Inputs = Annotated[
    list[str],
    typer.Argument(
        help="Dumps, logs, directories, archives, or - for standard input.", show_default=False
    ),
]
Saved = Annotated[
    Path, typer.Argument(help="A report saved with --format json.", metavar="RESULT.json")
]
FormatOption = Annotated[Format, typer.Option("--format", help="How the report is written.")]
OutputOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="Write to FILE, not to standard output.", metavar="FILE"),
]
_FOLDERS = "in its folders events, diagnoses and fixes"
Rules = Annotated[
    list[Path] | None,
    typer.Option(
        "--rules", help=f"A folder with more rules, {_FOLDERS}; they win by id.", metavar="DIR"
    ),
]
RulesArgument = Annotated[
    Path | None,
    typer.Argument(
        help=f"A folder with more rules, {_FOLDERS}, beside the shipped ones.", metavar="DIR"
    ),
]
DebugInfo = Annotated[
    list[Path] | None,
    typer.Option(
        "--debuginfo", help="vmlinux, module or folder with debug info; not needed.", metavar="PATH"
    ),
]
Templates = Annotated[
    Path | None,
    typer.Option(help="A folder with templates in place of the shipped ones.", metavar="DIR"),
]
Redact = Annotated[
    bool, typer.Option("--redact", help="Replace hosts, addresses and names by pseudonyms.")
]
RedactKey = Annotated[
    Path | None,
    typer.Option(help="Key file: the same pseudonyms as in the run that saved it.", metavar="FILE"),
]
RedactSaveKey = Annotated[
    Path | None, typer.Option(help="Save the key, and who is who, to FILE.", metavar="FILE")
]
Baseline = Annotated[
    Path | None,
    typer.Option(help="A saved report: its findings do not count for --fail-on.", metavar="FILE"),
]
TableFormat = Annotated[Plain, typer.Option("--format", help="How the list is written.")]
FailOnOption = Annotated[
    FailOn, typer.Option("--fail-on", help="Exit with 1 from this severity on.")
]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"rdmadiag {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    _shown: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Say what is wrong with RDMA on a machine, from its kernel crash dumps and logs."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


@app.command()
def diagnose(
    inputs: Inputs,
    format: FormatOption = Format.text,  # noqa: A002 - the option's name
    output: OutputOption = None,
    rules: Rules = None,
    debuginfo: DebugInfo = None,
    since: Annotated[
        str | None,
        typer.Option(help="Only log records from this time on (ISO 8601).", metavar="TIME"),
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Only log records up to this time.", metavar="TIME")
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            "--tz",
            help="Zone of the times in logs, --since and --until that give none: Europe/Berlin, +02:00.  [default: UTC]",
            metavar="ZONE",
        ),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this diagnosis (repeatable).", metavar="ID")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Not this diagnosis (repeatable).", metavar="ID")
    ] = None,
    redact: Redact = False,
    redact_key: RedactKey = None,
    redact_save_key: RedactSaveKey = None,
    templates: Templates = None,
    baseline: Baseline = None,
    fail_on: FailOnOption = FailOn.info,
    jobs: Annotated[
        int, typer.Option(min=0, max=64, help="Processes that read logs; 0: one for each CPU.")
    ] = 0,
) -> Result:
    """Say what is wrong: read dumps and logs and report findings with their evidence."""
    from rdmadiag.commands import diagnose as command
    from rdmadiag.commands.output import refuse_loss, screen
    from rdmadiag.commands.report import Output

    refuse_loss(output, (*inputs, redact_key, redact_save_key, baseline, *(debuginfo or ())))
    seen = screen(output)
    shown = Output(
        format=format.value,
        width=seen.width,
        color=seen.color,
        whole=not seen.terminal,
        templates=templates,
        redact=redact,
        key=redact_key,
        save_key=redact_save_key,
        baseline=baseline,
        fail_on=fail_on.value,
    )
    request = command.Request(
        inputs, rules or (), debuginfo or (), since, until, only or (), ignore or (), jobs, zone
    )
    return command.diagnose(request, shown)._replace(path=output)


@app.command()
def inspect(
    input: Annotated[str, typer.Argument(help="A dump or a log.", metavar="INPUT")],  # noqa: A002
    table: Annotated[
        str,
        typer.Argument(help=f"{', '.join(TABLES)} or log."),
    ] = "rds",
    format: Annotated[  # noqa: A002 - the option's name
        Table, typer.Option("--format", help="How the table is written.")
    ] = Table.text,
    output: OutputOption = None,
    debuginfo: DebugInfo = None,
) -> Result:
    """Show what is in a dump or log, as a table."""
    from rdmadiag.commands import inspect as command
    from rdmadiag.commands.output import refuse_loss, screen

    refuse_loss(output, (input, *(debuginfo or ())))
    seen = screen(output)
    width = seen.width if seen.terminal else 0
    return Result(*command.inspect(input, table, format.value, width, debuginfo or ()), output)


@app.command()
def extract(
    vmcore: Annotated[str, typer.Argument(help="The dump to cut from.", metavar="VMCORE")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The capsule to write.", metavar="CAPSULE")
    ],
    rules: Rules = None,
    debuginfo: DebugInfo = None,
) -> Result:
    """Cut a capsule out of a dump: a very small dump with just the pages that the diagnosis reads."""
    from rdmadiag.commands import extract as command
    from rdmadiag.commands.output import refuse_loss

    refuse_loss(output, (vmcore, *(debuginfo or ())))
    return Result(*command.extract(vmcore, output, rules or (), debuginfo or ()))


@app.command()
def shell(
    vmcore: Annotated[str, typer.Argument(help="The dump to look into.", metavar="VMCORE")],
    script: Annotated[
        Path | None,
        typer.Argument(
            help="A Python file to run in place of the prompt.",
            metavar="SCRIPT",
            show_default=False,
        ),
    ] = None,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(help="Its arguments, after --.", metavar="ARGUMENTS", show_default=False),
    ] = None,
    code: Annotated[
        str | None, typer.Option("-c", help="Python to run in place of the prompt.", metavar="CODE")
    ] = None,
    rules: Rules = None,
    debuginfo: DebugInfo = None,
) -> Result:
    """
    Open a drgn session on a dump, with the helpers loaded.

    Names at hand: prog (drgn's program), dump (the opened dump), report (the findings, also by %rdmadiag), and all
    helpers of rdmadiag.vmcore.helpers.
    """
    from rdmadiag.commands import shell as command

    run = None
    if script or code is not None or not sys.stdin.isatty():
        run = command.Script(code, script, arguments or ())
    return Result("", command.shell(vmcore, rules or (), debuginfo or (), run))


@app.command()
def report(
    saved: Saved,
    format: FormatOption = Format.html,  # noqa: A002 - the option's name
    output: OutputOption = None,
    redact: Redact = False,
    redact_key: RedactKey = None,
    redact_save_key: RedactSaveKey = None,
    templates: Templates = None,
    baseline: Baseline = None,
) -> Result:
    """Write a saved report in another format."""
    from rdmadiag.commands import report as command
    from rdmadiag.commands.output import refuse_loss, screen

    refuse_loss(output, (saved, redact_key, redact_save_key, baseline))
    seen = screen(output)
    shown = command.Output(
        format.value,
        seen.width,
        seen.color,
        not seen.terminal,
        templates,
        redact,
        redact_key,
        redact_save_key,
        baseline=baseline,
    )
    return Result(*command.report(saved, shown), output)


@app.command()
def compare(
    before: Saved,
    after: Saved,
    format: Annotated[  # noqa: A002
        Compared, typer.Option("--format", help="How it is written.")
    ] = Compared.text,
    output: OutputOption = None,
    fail_on: FailOnOption = FailOn.never,
) -> Result:
    """Say what is new, gone or changed from one saved report to another."""
    from rdmadiag.commands import compare as command
    from rdmadiag.commands.output import refuse_loss, screen

    refuse_loss(output, (before, after))
    width = screen(output).width
    return Result(*command.compare(before, after, format.value, width, fail_on.value), output)


@app.command()
def explain(
    name: Annotated[
        str,
        typer.Argument(help="A diagnosis, an event, or a fix (Orabug, CVE, commit).", metavar="ID"),
    ],
    kernel: Annotated[
        str | None, typer.Option(help="Say whether this kernel has the fix.", metavar="RELEASE")
    ] = None,
    rules: Rules = None,
) -> Result:
    """Explain a diagnosis, an event or a fix."""
    from rdmadiag.commands import explain as command
    from rdmadiag.commands.output import screen

    return Result(*command.explain(name, rules or (), kernel, screen().width))


@fix_app.command("list")
def fix_list(
    kernel: Annotated[
        str, typer.Option(help="The release, as uname -r prints it.", metavar="RELEASE")
    ],
    version: Annotated[
        str,
        typer.Option(
            "--kernel-version",
            help="The version, as uname -v prints it: some need it.",
            metavar="V",
        ),
    ] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that it does not have.")
    ] = False,
    format: TableFormat = Plain.text,  # noqa: A002 - the option's name
    rules: Rules = None,
) -> Result:
    """List the known faults that a kernel still has."""
    from rdmadiag.commands import fix as command
    from rdmadiag.commands.output import screen

    return Result(
        *command.list_fixes(kernel, version, rules or (), everything, format.value, screen().width)
    )


@fix_app.command("check")
def fix_check(
    inputs: Inputs,
    hints: Annotated[bool, typer.Option("--hints", help="Also what is only a hint.")] = False,
    format: TableFormat = Plain.text,  # noqa: A002 - the option's name
    rules: Rules = None,
    debuginfo: DebugInfo = None,
) -> Result:
    """Say which known faults dumps and logs look like, and whether their kernels have the fix."""
    from rdmadiag.commands import fix as command
    from rdmadiag.commands.output import screen

    return Result(
        *command.check_inputs(
            inputs, rules or (), debuginfo or (), hints, format.value, screen().width
        )
    )


@rules_app.command("list")
def rules_list(rules: Rules = None) -> Result:
    """List the diagnoses."""
    from rdmadiag.commands import rules as command

    return Result(*command.list_rules(rules or []))


@rules_app.command("check")
def rules_check(directory: RulesArgument = None) -> Result:
    """Check rule files against their schema, their names and their references."""
    from rdmadiag.commands import rules as command

    return Result(*command.check_rules(directory))


@rules_app.command("test")
def rules_test(directory: RulesArgument = None) -> Result:
    """Try the samples inside the event rules."""
    from rdmadiag.commands import rules as command

    return Result(*command.test_rules(directory))
