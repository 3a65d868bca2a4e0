"""Entry point."""

import sys


def main() -> None:
    """Run the command line."""
    from rdmadiag.cli import run

    sys.exit(run())
