"""
Debug info
----------

DWARF for the kernel and its modules, where it is found: in drgn's usual places and where the user says.
Nothing is fetched from the network.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

from drgn import MissingDebugInfoError, Program

from rdmadiag.errors import UserError
from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.elf import build_id_of

__all__ = ("DebugInfo",)

_MAX_CANDIDATES = 8


class DebugInfo:
    """
    The search for debug info of one dump.

    :param paths: Files, and directories in which to search: roots of unpacked packages, or plain folders.
    :ivar problems: Why something the user named is of no use.
    :raises UserError: if a path does not exist
    """

    def __init__(self, prog: Program, paths: Sequence[Path]) -> None:
        for path in paths:
            if not path.exists():
                raise UserError(f"{path}: there is no such file or directory")
        self.problems: list[Problem] = []
        self._prog = prog
        self._paths = paths
        self._files = [str(path) for path in paths if path.is_file()]
        prog.set_enabled_debug_info_finders(["standard"])
        extra = tuple(str(path) for path in paths if path.is_dir())
        options = prog.debug_info_options
        debug = tuple(f"{name}/usr/lib/debug" for name in extra)
        options.directories = extra + debug + options.directories
        options.kernel_directories = extra + options.kernel_directories

    def load_kernel(self, build_id: str) -> bool:
        """
        Load debug info of the kernel proper; tell whether there is any.

        :param build_id: The kernel's build id, in hex; ``""`` when the dump does not tell.
        """
        try:
            self._prog.load_debug_info(self._files, main=True)
        except MissingDebugInfoError:
            for path in self._paths:
                self.problems += islice(_refusals(path, build_id), _MAX_CANDIDATES)
            return False
        return True

    def load_modules(self, *, search: bool) -> set[str]:
        """
        Load debug info of modules; return the names of those that have it.

        drgn walks the module list itself, without a bound: only for a list that was seen to close.

        :param search: Search the usual places too, not only what the user named.
        """
        if not search and not self._paths:
            return set()
        with suppress(MissingDebugInfoError):
            self._prog.load_debug_info(self._files, default=True)
        modules = list(self._prog.modules())
        used = {module.debug_file_path for module in modules}
        for name in self._files:
            if _is_module(Path(name)) and str(Path(name).absolute()) not in used:
                self.problems.append(Problem("matches no module in this dump", name))
        return {module.name for module in modules if module.debug_file_path}


def _is_module(path: Path) -> bool:
    return ".ko" in path.suffixes


def _refusals(path: Path, build_id: str) -> Iterator[Problem]:
    """Say of what the user named why it was not used for the kernel."""
    for candidate in _candidates(path):
        other = build_id_of(candidate)
        if other and other != build_id:
            what = (
                f"debug info of another kernel: its build id is {other}, the dump's is {build_id}"
            )
            yield Problem(what, str(candidate))
        elif not other:
            yield Problem("is not a kernel image with debug info", str(candidate))


def _candidates(path: Path) -> Iterator[Path]:
    if path.is_dir():
        folders = (path, path / "boot", path / "usr/lib/debug/boot")
        yield from chain.from_iterable(sorted(folder.glob("vmlinux*")) for folder in folders)
    elif not _is_module(path):
        yield path
