"""What a plain drgn session gets when rdmadiag is installed beside it: the command ``%rdmadiag``."""

import argparse
import sys
from typing import Any

from drgn import Program
from drgn.commands import argument
from drgn.commands.linux import linux_kernel_command


@linux_kernel_command(  # type: ignore[untyped-decorator]  # drgn types it by its wrapper
    description="say what is wrong with RDMA in this dump",
    long_description="""
    Reads the dump that the program has open with the types and symbols it has, or else with those in the dump
    itself, and prints the findings with their evidence.
    """,
    arguments=(
        argument(
            "--format",
            choices=("text", "json", "markdown"),
            default="text",
            help="how it is written",
        ),
    ),
)
def _cmd_rdmadiag(prog: Program, name: str, args: argparse.Namespace, **_keys: Any) -> int:  # noqa: ARG001 - drgn's signature
    from rdmadiag.commands.shell import examine_program
    from rdmadiag.report.render import render

    report = examine_program(prog)
    sys.stdout.write(render(report, args.format))
    return int(bool(report.findings))
