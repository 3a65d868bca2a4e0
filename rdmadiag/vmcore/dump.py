"""
Dumps
-----

Opens a kernel crash dump: memory through drgn, types, symbols and stacks from the dump itself, or from
debug info where there is some.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from drgn import FaultError, Object, Program

from rdmadiag.errors import UserError
from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.finders import BtfFinders
from rdmadiag.vmcore.frames import Frame, Stack
from rdmadiag.vmcore.kallsyms import Kallsyms, KallsymsError, tables_of_vmcoreinfo
from rdmadiag.vmcore.modules import ModuleList
from rdmadiag.vmcore.printk import PrintkRecord, printk_records
from rdmadiag.vmcore.symbols import Symbol, SymbolTable
from rdmadiag.vmcore.unwind import OrcUnwinder
from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("Dump", "Frame", "Stack", "Symbol", "open_dump")

_UTS_LEN = 65


class Dump:
    """
    An opened dump.

    :ivar prog: drgn's program: types, objects and symbols work in it, with or without debug info.
    :ivar types: Where types come from: ``dwarf``, ``btf`` or ``none``.
    :ivar modules: The loaded modules.
    :ivar problems: What about the dump could not be read.
    """

    def __init__(self, path: Path, prog: Program, info: VmcoreInfo) -> None:
        self.path = path
        self.prog = prog
        self.info = info
        self.problems: list[Problem] = []
        self.types = "none"
        self.symbols = SymbolTable(self._kallsyms())
        self._finders = BtfFinders(prog, self.symbols)
        self._finders.register()
        if self._finders.load_vmlinux():
            self.types = "btf"
        self.modules = self._modules()
        self.symbols.modules = self.modules
        self._finders.load_modules(self.modules)
        self.problems += self.modules.problems + self._finders.problems

    def _kallsyms(self) -> Kallsyms | None:
        tables = tables_of_vmcoreinfo(self.info)
        if tables is None:
            self.problems.append(
                Problem("this kernel does not tell where its symbols are", "VMCOREINFO")
            )
            return None
        try:
            return Kallsyms(self.prog.read, tables)
        except (FaultError, KallsymsError) as error:
            self.problems.append(Problem(f"the symbol table cannot be read: {error}", "kallsyms"))
            return None

    def _modules(self) -> ModuleList:
        try:
            return ModuleList(self.prog["modules"])
        except LookupError:
            return ModuleList(None)

    @cached_property
    def _utsname(self) -> list[str]:
        """``struct new_utsname``: six strings of 65 bytes."""
        place, offset = self.info.symbol("init_uts_ns"), self.info.offset("uts_namespace.name")
        if place is None or offset is None:
            return [""] * 6
        try:
            raw = self.prog.read(place + offset, 6 * _UTS_LEN)
        except FaultError as error:
            self.problems.append(
                Problem(f"the kernel's name cannot be read: {error}", "init_uts_ns")
            )
            return [""] * 6
        parts = (raw[i * _UTS_LEN : (i + 1) * _UTS_LEN] for i in range(6))
        return [part.split(b"\0", 1)[0].decode(errors="backslashreplace") for part in parts]

    @property
    def nodename(self) -> str:
        """Host name."""
        return self._utsname[1]

    @property
    def version(self) -> str:
        """Kernel version: build number and date."""
        return self._utsname[3]

    @property
    def machine(self) -> str:
        """Architecture, e.g. ``x86_64``."""
        return self._utsname[4]

    def dmesg(self) -> list[PrintkRecord]:
        """
        Return the records of the kernel's log buffer, oldest first.

        :raises FaultError: if it cannot be read
        :raises LookupError: if the dump does not tell where it is
        """
        return list(printk_records(self.prog, self.info))

    @property
    def release(self) -> str:
        """Kernel release, e.g. ``6.1.0-56-amd64``."""
        return self.info.get("OSRELEASE")

    def symbol(self, name: str, module: str | None = None) -> Symbol | None:
        """
        Return the symbol with a name, or ``None``.

        :param module: Search this module only; ``""`` the kernel proper only; ``None`` everywhere.
        """
        return self.symbols.find(name, module)

    def symbolize(self, pc: int) -> tuple[str, int, int, str] | None:
        """Return function, offset in it, its size and module (``""``: the kernel proper), or ``None``."""
        symbol = self.symbols.at(pc)
        if not symbol:
            return None
        return symbol.name, pc - symbol.address, symbol.size, symbol.module

    @cached_property
    def _unwinder(self) -> OrcUnwinder | None:
        try:
            return OrcUnwinder(self.prog, self.symbols)
        except LookupError as error:
            self.problems.append(Problem(f"stacks cannot be unwound: {error}", ""))
            return None

    def stack(self, task: Object) -> Stack:
        """
        Return the frames of a task, innermost first; empty when there is no way to tell.

        :param task: ``struct task_struct *``
        """
        if not self._unwinder:
            return Stack()
        try:
            return self._unwinder.unwind(self._unwinder.sleeping(task))
        except FaultError as error:
            stack = Stack()
            stack.problem = str(error)
            return stack


def open_dump(path: str | Path, debuginfo: Sequence[Path] = ()) -> Dump:  # noqa: ARG001
    """
    Open a dump.

    :param debuginfo: Files and directories with debug info; drgn's usual places are searched as well.
    :raises UserError: if it cannot be read at all
    """
    prog = Program()
    try:
        prog.set_core_dump(path)
    except (ValueError, OSError) as error:
        raise UserError(f"{path}: {error}") from error
    info = VmcoreInfo(prog["VMCOREINFO"].string_().decode("ascii", "backslashreplace"))
    return Dump(Path(path), prog, info)
