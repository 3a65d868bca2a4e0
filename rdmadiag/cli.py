"""The command line: it only names options; each sub-command is a module of :mod:`rdmadiag.commands`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rdmadiag import __version__

app = typer.Typer(
    name="rdmadiag",
    help="Says what is wrong with RDMA on a machine, from its kernel crash dumps and logs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
rules_app = typer.Typer(help="List, check and test rules.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(rules_app, name="rules")


class Format(StrEnum):
    """How a report is written."""

    text = "text"
    json = "json"
    html = "html"
    markdown = "markdown"
    sarif = "sarif"
    junit = "junit"


class FailOn(StrEnum):
    """From which severity on a finding makes the exit status 1."""

    critical = "critical"
    warning = "warning"
    info = "info"
    never = "never"


Inputs = Annotated[list[str], typer.Argument(help="Dumps, logs, directories, archives, or - for standard input.", show_default=False)]
FormatOption = Annotated[Format, typer.Option("--format", help="How the report is written.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write to FILE, not to standard output.", metavar="FILE")]
Rules = Annotated[list[Path] | None, typer.Option("--rules", help="A folder with more rules; they win by id.", metavar="DIR")]
DebugInfo = Annotated[list[Path] | None, typer.Option("--debuginfo", help="vmlinux, module or folder with debug info; not needed.", metavar="PATH")]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"rdmadiag {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Say what is wrong with RDMA on a machine, from its kernel crash dumps and logs."""


@app.command()
def diagnose(
    inputs: Inputs,
    format: FormatOption = Format.text,  # noqa: A002 - the option's name
    output: Output = None,
    rules: Rules = None,
    debuginfo: DebugInfo = None,
    since: Annotated[str | None, typer.Option(help="Only log records from this time on (ISO 8601).", metavar="TIME")] = None,
    until: Annotated[str | None, typer.Option(help="Only log records up to this time.", metavar="TIME")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only this diagnosis (repeatable).", metavar="ID")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Not this diagnosis (repeatable).", metavar="ID")] = None,
    redact: Annotated[bool, typer.Option("--redact", help="Replace hosts, addresses, names by pseudonyms.")] = False,
    redact_key: Annotated[Path | None, typer.Option(help="Key file that keeps pseudonyms the same over runs; made if it does not exist.", metavar="FILE")] = None,
    baseline: Annotated[Path | None, typer.Option(help="A saved JSON report: its findings do not count for --fail-on.", metavar="FILE")] = None,
    fail_on: Annotated[FailOn, typer.Option(help="Exit with 1 from this severity on.")] = FailOn.info,
    jobs: Annotated[int, typer.Option(min=1, help="Log files read at the same time.")] = 1,
) -> None:
    """Say what is wrong: read dumps and logs and report findings with their evidence."""
    from rdmadiag.commands import diagnose as command

    raise typer.Exit(
        command.diagnose(
            command.Request(
                inputs=inputs,
                format=format.value,
                output=output,
                rules=rules or [],
                debuginfo=debuginfo or [],
                since=since,
                until=until,
                only=only or [],
                ignore=ignore or [],
                redact=redact,
                redact_key=redact_key,
                baseline=baseline,
                fail_on=fail_on.value,
                jobs=jobs,
            )
        )
    )


@app.command()
def extract(
    vmcore: Annotated[str, typer.Argument(help="The dump to cut from.", metavar="VMCORE")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The capsule to write.", metavar="CAPSULE")],
    debuginfo: DebugInfo = None,
) -> None:
    """Cut a capsule out of a dump: a very small dump with just the pages that the diagnosis read."""
    from rdmadiag.commands import extract as command

    raise typer.Exit(command.extract(vmcore, output, debuginfo or []))


@rules_app.command("list")
def rules_list(rules: Rules = None) -> None:
    """List the diagnoses."""
    from rdmadiag.commands import rules as command

    raise typer.Exit(command.list_rules(rules or []))


@rules_app.command("check")
def rules_check(directory: Annotated[Path | None, typer.Argument(help="A folder with rules; default: the shipped ones.", metavar="DIR")] = None) -> None:
    """Check rule files against their schema, their names and their references."""
    from rdmadiag.commands import rules as command

    raise typer.Exit(command.check_rules(directory))


@rules_app.command("test")
def rules_test(directory: Annotated[Path | None, typer.Argument(help="A folder with rules; default: the shipped ones.", metavar="DIR")] = None) -> None:
    """Run the samples inside the event rules."""
    from rdmadiag.commands import rules as command

    raise typer.Exit(command.test_rules(directory))
