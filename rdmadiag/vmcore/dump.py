"""
Dumps
-----

Opens a kernel crash dump: memory through drgn; types, symbols and stacks from the dump itself, or from
debug info where there is some.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from drgn import FaultError, Object, Program, offsetof

from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.btf_store import BtfStore
from rdmadiag.vmcore.completeness import check_tasks, filter_hint
from rdmadiag.vmcore.corefile import CoreFile
from rdmadiag.vmcore.debuginfo import DebugInfo
from rdmadiag.vmcore.faults import TYPE_ERRORS, fault_text
from rdmadiag.vmcore.finders import Finders
from rdmadiag.vmcore.frames import Frame, Stack
from rdmadiag.vmcore.kallsyms import Kallsyms, KallsymsError, tables_of_vmcoreinfo
from rdmadiag.vmcore.kallsyms_search import search_tables
from rdmadiag.vmcore.modules import ModuleList
from rdmadiag.vmcore.opening import open_program
from rdmadiag.vmcore.pointer_auth import strip_signature
from rdmadiag.vmcore.presence import Presence, built_in, presence
from rdmadiag.vmcore.printk import LogBuffer, PrintkRecord
from rdmadiag.vmcore.split import read_dump_files
from rdmadiag.vmcore.stacks import Stacks
from rdmadiag.vmcore.symbols import Symbol, SymbolTable
from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("Dump", "Frame", "PrintkRecord", "Stack", "Symbol", "open_dump")

_UTS_LEN = 65


class Dump:
    """
    An opened dump.

    :ivar prog: drgn's program: types, objects and symbols work in it, with or without debug info.
    :ivar types: Where types come from: ``dwarf``, ``btf`` or ``none``.
    :ivar code_address: Function from a return address on a stack to the address of code: the same but on arm64.
    :ivar modules: The loaded modules; :meth:`presence` tells whether one that is not among them is really away.
    :ivar problems: What about the dump could not be read; grows while it is used.
    :ivar lost_log: What is missing of its log buffer, in words; known once that was read.
    """

    def __init__(self, core: CoreFile, prog: Program, debuginfo: Sequence[Path] = ()) -> None:
        self.core = core
        self.prog = prog
        self.info = VmcoreInfo(core.vmcoreinfo)
        self.problems: list[Problem] = list(core.problems)
        self.lost_log = ""
        debug = DebugInfo(prog, debuginfo)
        found = debug.load_kernel(self.info.get("BUILD-ID"))
        self.symbols = SymbolTable(self._kallsyms(), self.problems)
        self._store = BtfStore(prog, self.symbols, self.problems)
        Finders(prog, self._store, self.symbols).register()
        self.types = "dwarf" if found else "btf" if self._store.vmlinux else "none"
        self.modules = self.symbols.modules = self._modules()
        self.code_address = strip_signature(self.info)
        args = prog, self.symbols, core.prstatus, self.code_address, self.problems
        self._stacks = Stacks(*args, debug_info=found)
        self._mark_types(debug.load_modules(search=found) if self.modules.complete else set())
        self.problems += debug.problems
        if self.types == "none":
            self.problems.append(self._no_types())
        else:
            self.problems += [*self._incompleteness(), *self._unmarked()]

    def _kallsyms(self) -> Kallsyms | None:
        tables = tables_of_vmcoreinfo(self.info) or search_tables(self.prog.read, self.info)
        if tables is None:
            self.problems.append(Problem("the symbol table was not found", "kallsyms"))
            return None
        try:
            return Kallsyms(self.prog.read, tables)
        except KallsymsError as error:
            self.problems.append(Problem(f"the symbol table is damaged: {error}", "kallsyms"))
        except (FaultError, OverflowError) as error:
            what = f"the symbol table cannot be read: {fault_text(error)}"
            self.problems.append(Problem(what, "kallsyms"))
        return None

    def _modules(self) -> ModuleList:
        try:
            return ModuleList(self.prog["modules"])
        except TYPE_ERRORS:
            return ModuleList(None)

    def _incompleteness(self) -> list[Problem]:
        """Say if a list that every diagnosis needs does not close."""
        found = [*self.modules.problems, *check_tasks(self.prog)]
        level = self.core.kdump.dump_level if self.core.kdump else 0
        hint = filter_hint(level, self.info) if found else None
        return [*found, hint] if hint else found

    def _unmarked(self) -> list[Problem]:
        """Say if RDMA code cannot be told from other code: of what is in the kernel proper no range of addresses is known."""
        what = (
            "these are built into the kernel, so a task in their code is only recognised by what it sleeps on, or if it "
            "sleeps uninterruptibly"
        )
        found = built_in(self.symbols)
        return [Problem(what, ", ".join(found))] if found else []

    def _no_types(self) -> Problem:
        build_id = self.info.get("BUILD-ID")
        what = "this dump has no types (BTF) that can be read, and no debug info was found for it"
        if self.symbols.kallsyms and not self.symbol("init_task", ""):
            what = (
                "the symbol table of this kernel names functions alone (CONFIG_KALLSYMS_ALL is not set), so its types "
                "(BTF) and variables cannot be found, and no debug info was found for it"
            )
        return Problem(what, f"build id {build_id}" if build_id else "")

    def _mark_types(self, with_dwarf: set[str]) -> None:
        """Note of each module whether its types are known, and say which are not."""
        for module in self.modules:
            module.has_btf = module.name in self._store.modules
            module.has_dwarf = module.name in with_dwarf
        missing = [module.name for module in self.modules if not module.has_types]
        if missing and self.types != "none":
            what = "these modules carry no types (no BTF, and no debug info was found)"
            self.problems.append(Problem(what, ", ".join(sorted(missing)), remark=True))

    @property
    def path(self) -> Path:
        """The file."""
        return self.core.path

    @property
    def release(self) -> str:
        """Kernel release, e.g. ``6.1.0-56-amd64``."""
        return self.info.get("OSRELEASE")

    @cached_property
    def utsname(self) -> bytes:
        """``struct new_utsname``: six strings of 65 bytes; empty when it cannot be read."""
        place, offset = self.info.symbol("init_uts_ns"), self._uts_offset()
        if place is None or offset is None:
            return b""
        try:
            raw: bytes = self.prog.read(place + offset, 6 * _UTS_LEN)
        except (FaultError, OverflowError) as error:
            what = f"the host's name cannot be read: {fault_text(error)}"
            self.problems.append(Problem(what, "init_uts_ns"))
            return b""
        return raw

    def _uts_offset(self) -> int | None:
        """Return where ``struct uts_namespace`` has the names: VMCOREINFO of older kernels does not tell."""
        told = self.info.offset("uts_namespace.name")
        if told is not None:
            return told
        try:
            offset: int = offsetof(self.prog.type("struct uts_namespace"), "name")
        except LookupError:
            return None
        return offset

    def _uts(self, number: int) -> str:
        part = self.utsname[number * _UTS_LEN : (number + 1) * _UTS_LEN]
        return part.split(b"\0", 1)[0].decode(errors="backslashreplace")

    @property
    def nodename(self) -> str:
        """Host name."""
        return self._uts(1)

    @property
    def version(self) -> str:
        """Kernel version: build number and date."""
        return self._uts(3)

    @property
    def machine(self) -> str:
        """Architecture, e.g. ``x86_64``."""
        return self._uts(4)

    def dmesg(self) -> list[PrintkRecord]:
        """
        Return the records of the kernel's log buffer, oldest first.

        :raises FaultError: if it cannot be read
        :raises LookupError: if the dump does not tell where it is
        """
        return self._records

    @cached_property
    def _records(self) -> list[PrintkRecord]:
        buffer = LogBuffer(self.prog, self.info)
        records = list(buffer.records())
        if buffer.lost:
            self.lost_log = f"{buffer.lost} records of the kernel's log buffer are not in the dump"
            self.problems.append(Problem(self.lost_log, "prb"))
        return records

    def symbol(self, name: str, module: str | None = None) -> Symbol | None:
        """
        Return the symbol with a name, or ``None``.

        :param module: Search this module only; ``""`` the kernel proper only; ``None`` everywhere.
        """
        return self.symbols.find(name, module)

    def presence(self, module: str) -> Presence:
        """Return whether a module is loaded, built into the kernel, or neither."""
        return presence(self.symbols, module)

    def symbolize(self, pc: int) -> tuple[str, int, int, str] | None:
        """Return function, offset in it, its size and module (``""``: the kernel proper), or ``None``."""
        symbol = self.symbols.at(pc)
        if not symbol:
            return None
        return symbol.name, pc - symbol.address, symbol.size, symbol.module

    def stack(self, task: Object) -> Stack:
        """
        Return the frames of a task, innermost first; ``.problem`` says why there are not more.

        :param task: ``struct task_struct *``
        """
        return self._stacks.of(task)


def open_dump(
    path: str | Path, debuginfo: Sequence[Path] = (), others: Iterable[Path] = ()
) -> Dump:
    """
    Open a dump.

    :param path: A file, or the directory of a split dump.
    :param debuginfo: Files and directories with debug info; drgn's usual places are searched as well.
    :param others: Files among which the other parts may be, if it is a part of a split dump.
    :raises UserError: if it cannot be read at all
    """
    core = read_dump_files(path, others)
    return Dump(core, open_program(core), debuginfo)
