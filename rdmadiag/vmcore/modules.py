"""
Modules
-------

The list of loaded modules (``kernel/module/main.c``) with their address ranges and symbols, from the
kernel's memory and its own ``struct module``.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property

from drgn import FaultError, Object

from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.faults import TYPE_ERRORS, fault_text
from rdmadiag.vmcore.symbols import Symbol
from rdmadiag.vmcore.walk import Allowance, WalkError, list_entries

__all__ = ("Module", "ModuleList")

MAX_MODULES = 4096
MAX_SYMBOLS, MAX_ALL_SYMBOLS = 1 << 20, 1 << 22
"""Of a module, and of all together."""
_UNFORMED = 3
"""``MODULE_STATE_UNFORMED``: the module is still being put together."""


class Module:
    """
    A loaded module.

    :ivar object: ``struct module *``
    :ivar ranges: Address ranges of its text and data, ``(start, end)``.
    :param symbols: How many symbols the tables of all modules may have together.
    :ivar has_btf: Whether it carries BTF; *has_dwarf*: whether there is debug info for it. Both are set by
        whoever looks for types.
    """

    def __init__(self, obj: Object, symbols: Allowance) -> None:
        self.object = obj
        self._symbols = symbols
        self.name = obj.name.string_().decode("ascii", "backslashreplace")
        self.ranges = list(_ranges(obj))
        self.has_btf = False
        self.has_dwarf = False

    def __repr__(self) -> str:
        return f"Module({self.name!r}, {self.address:#x}, size={self.size})"

    @property
    def has_types(self) -> bool:
        """Whether its own types are known."""
        return self.has_btf or self.has_dwarf

    @property
    def address(self) -> int:
        """Lowest address of its text."""
        return self.ranges[0][0] if self.ranges else 0

    @property
    def size(self) -> int:
        """Bytes of text and data."""
        return sum(end - start for start, end in self.ranges)

    def __contains__(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.ranges)

    @cached_property
    def _symtab(self) -> "_Symtab":
        return _Symtab(self.object, self._symbols)

    def symbol_at(self, address: int) -> Symbol | None:
        """
        Return the symbol that contains *address*, or ``None``.

        As ``find_kallsyms_symbol()``: the size reaches to the next symbol or the end of the range.
        """
        found = self._symtab.at(address)
        if found is None:
            return None
        name, start, following, kind = found
        ends = [end for low, end in self.ranges if low <= start < end]
        if not ends or address >= ends[0]:
            return None
        return Symbol(name, start, min(following, ends[0]) - start, self.name, kind)

    def symbols_named(self, name: str) -> Iterator[Symbol]:
        """Iterate over its symbols with a name; their size is that of the symbol table."""
        for address, size, kind in self._symtab.named(name):
            yield Symbol(name, address, size, self.name, kind)


def _ranges(module: Object) -> Iterator[tuple[int, int]]:
    """
    Iterate over the address ranges of a module that stay after its initialisation.

    Since Linux kernel commit ac3b43283923 ("module: replace module_layout with module_memory") (in v6.4)
    they are in ``mem[]``; before, in ``core_layout`` (since v4.5) or ``module_core``.
    """
    try:
        parts = [(one.base, one.size) for one in module.mem]
    except AttributeError:
        try:
            parts = [(module.core_layout.base, module.core_layout.size)]
        except AttributeError:
            parts = [(module.module_core, module.core_size)]
    for base, size in parts:
        start, length = base.value_(), size.value_()
        if start and length:
            yield start, start + length


class _Symtab:
    """
    Symbol table of a module: ``struct mod_kallsyms``.

    Since Linux kernel commit 8244062ef1e5 ("modules: fix longstanding /proc/kallsyms vs module insertion
    race.") (in v4.5) it is behind ``module.kallsyms``; before, in the module itself.
    """

    def __init__(self, module: Object, symbols: Allowance) -> None:
        self._prog = module.prog_
        try:
            table = module.kallsyms.read_()
        except AttributeError:
            table = module
        count = min(table.num_symtab.value_(), MAX_SYMBOLS)
        raw = self._prog.read(table.symtab.value_(), 24 * count)
        symbols.take(count)
        words = memoryview(raw).cast("Q").tolist()
        self._strtab = table.strtab.value_()
        rows = zip(words[1::3], words[0::3], words[2::3], strict=True)
        self._rows = sorted(row for row in rows if row[1] >> 48 and row[1] & 0xFFFFFFFF)
        self._values = array("Q", [row[0] for row in self._rows])

    def at(self, address: int) -> tuple[str, int, int, str] | None:
        """Return name, start, start of the next symbol and type of the symbol at or before *address*."""
        after = bisect_right(self._values, address)
        if not after:
            return None
        start = self._values[after - 1]
        following = self._values[after] if after < len(self._values) else (1 << 64) - 1
        first = bisect_left(self._values, start)
        for _, head, _ in self._rows[first:after]:
            name = self._name(head)
            if not name.startswith((".L", "$", "L0")):
                return name, start, following, _letter(head)
        return None

    def _name(self, head: int) -> str:
        raw: bytes = self._prog.read_c_string(self._strtab + (head & 0xFFFFFFFF), max_size=512)
        return raw.decode("ascii", "backslashreplace")

    @cached_property
    def _by_name(self) -> dict[str, list[tuple[int, int, int]]]:
        names: dict[str, list[tuple[int, int, int]]] = {}
        for row in self._rows:
            names.setdefault(self._name(row[1]), []).append(row)
        return names

    def named(self, name: str) -> Iterator[tuple[int, int, str]]:
        """Iterate over address, size and type of the symbols with a name."""
        for value, head, size in self._by_name.get(name, ()):
            yield value, size, _letter(head)


def _letter(head: int) -> str:
    """Return a letter as ``nm`` prints it, from ``st_info`` (type and binding)."""
    kind, binding = head >> 32 & 0xF, head >> 36 & 0xF
    letter = {1: "d", 2: "t"}.get(kind, "n")
    return letter.upper() if binding else letter


class ModuleList:
    """
    All loaded modules.

    :param head: ``modules`` (``struct list_head``), ``None`` when it was not found.
    :ivar complete: Whether the walk of the list came back to its head: only then is a module that is
        not here not loaded.
    :ivar problems: What went wrong on the way.
    """

    def __init__(self, head: Object | None) -> None:
        self.complete = False
        self.problems: list[Problem] = []
        self._modules: list[Module] = []
        self._symbols = Allowance(
            MAX_ALL_SYMBOLS, f"the modules have more than {MAX_ALL_SYMBOLS} symbols"
        )
        if head is None:
            self.problems.append(Problem("the module list was not found", "modules"))
        else:
            self._walk(head)
        pairs = sorted(
            ((low, end, one) for one in self._modules for low, end in one.ranges),
            key=lambda pair: pair[:2],
        )
        self._starts = array("Q", [pair[0] for pair in pairs])
        self._pairs = pairs

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def _walk(self, head: Object) -> None:
        """Walk ``modules`` (``struct list_head``)."""
        try:
            for module in list_entries("struct module", head, "list", limit=MAX_MODULES):
                self._add(module)
            self.complete = True
        except WalkError as error:
            what = f"the module list breaks off after {len(self._modules)} modules: {error}"
            self.problems.append(Problem(what, "modules"))

    def _add(self, module: Object) -> None:
        try:
            if module.state.value_() == _UNFORMED:
                return
            self._modules.append(Module(module, self._symbols))
        except (FaultError, *TYPE_ERRORS) as error:
            self.problems.append(
                Problem(f"a module cannot be read: {fault_text(error)}", f"{module.value_():#x}")
            )

    def named(self, name: str) -> Module | None:
        """Return the module with a name (``-`` and ``_`` are the same), or ``None``."""
        wanted = name.replace("-", "_")
        return next((one for one in self._modules if one.name.replace("-", "_") == wanted), None)

    def containing(self, address: int) -> Module | None:
        """Return the module whose text or data contains *address*, or ``None``."""
        after = bisect_right(self._starts, address)
        if not after:
            return None
        _, end, module = self._pairs[after - 1]
        return module if address < end else None
