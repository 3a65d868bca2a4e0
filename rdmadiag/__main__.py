"""Entry point: runs the command line and turns every end into an exit status."""

import os
import sys


def main() -> None:
    """
    Run the command line.

    Exit status: 0 nothing at or above ``--fail-on``; 1 findings; 2 usage, or an input could not be read at all;
    3 internal error; 130 interrupted.
    """
    from rdmadiag.errors import UserError

    try:
        status = _run()
    except UserError as error:
        status = _say(f"rdmadiag: {error}", 2)
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:
        # The reader of our output has gone: nothing is left to say, and flushing at exit must not try to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 141
    except Exception as error:  # noqa: BLE001 - the one place: no traceback reaches a user
        status = _internal(error)
    sys.exit(status)


def _run() -> int:
    import typer

    from rdmadiag.cli import app
    from rdmadiag.commands import Result
    from rdmadiag.commands.output import emit

    try:
        result = app(standalone_mode=False)
    except typer.TyperException as error:
        return _say(f"rdmadiag: {error.format_message()} (rdmadiag --help says more)", 2)
    except typer.Abort:
        return 130
    if not isinstance(result, Result):  # --help, --version: said already
        return result if isinstance(result, int) else 0
    emit(result.text, result.path)
    return result.status


def _internal(error: Exception) -> int:
    import traceback

    from rdmadiag import __version__

    last = traceback.extract_tb(error.__traceback__)[-1]
    return _say(
        f"rdmadiag {__version__}: internal error: {type(error).__name__}: {error} "
        f"({last.filename.rpartition('/')[2]}:{last.lineno}). Please report it; RDMADIAG_TRACEBACK=1 shows all of it.",
        3,
        error if os.environ.get("RDMADIAG_TRACEBACK") else None,
    )


def _say(text: str, status: int, error: Exception | None = None) -> int:
    if error is not None:
        raise error
    sys.stderr.write("".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text) + "\n")
    return status


if __name__ == "__main__":
    main()
