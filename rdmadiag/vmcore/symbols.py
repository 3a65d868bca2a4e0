"""
Symbols
-------

What an address is called, and where a name is: the kernel's own tables, :mod:`.kallsyms` for the kernel
proper and :mod:`.modules` for modules, behind one interface.
"""

from typing import TYPE_CHECKING, NamedTuple

from drgn import FaultError

from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.faults import TYPE_ERRORS, fault_text
from rdmadiag.vmcore.walk import WalkError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdmadiag.vmcore.kallsyms import Kallsyms
    from rdmadiag.vmcore.modules import ModuleList

__all__ = ("Symbol", "SymbolTable")


class Symbol(NamedTuple):
    """
    A symbol.

    :ivar size: Bytes; for the kernel proper it reaches to the next symbol, as in the kernel's own output.
    :ivar module: Name of the module, or ``""`` for the kernel proper.
    :ivar type: The letter that ``nm`` and ``/proc/kallsyms`` use (lower case: local).
    """

    name: str
    address: int
    size: int
    module: str = ""
    type: str = "t"


class SymbolTable:
    """
    Symbols of the kernel proper and of its modules.

    :param problems: Damage is added to it, once; what lies in the damaged part is not found.
    """

    def __init__(self, kallsyms: "Kallsyms | None", problems: list[Problem]) -> None:
        self.kallsyms = kallsyms
        self.modules: ModuleList | None = None
        self._problems = problems
        self._cache: dict[int, Symbol | None] = {}
        self._damaged: set[str] = set()

    @property
    def is_whole(self) -> bool:
        """Whether the kernel's own table is there and nothing of it was found damaged: only then does it name all."""
        return self.kallsyms is not None and "" not in self._damaged

    def at(self, address: int) -> Symbol | None:
        """Return the symbol that contains *address*, or ``None``."""
        if address not in self._cache:
            self._cache[address] = next(self._guarded(self._at(address)), None)
        return self._cache[address]

    def _at(self, address: int) -> "Iterator[Symbol]":
        module = self.modules.containing(address) if self.modules else None
        table = module or self.kallsyms
        symbol = table.symbol_at(address) if table else None
        if symbol:
            yield symbol

    def find(self, name: str, module: str | None = None) -> Symbol | None:
        """
        Return the first symbol with a name.

        :param module: Search this module only; ``""`` the kernel proper only; ``None`` everywhere, the
            kernel proper first.
        """
        return next(self.find_all(name, module), None)

    def find_all(self, name: str, module: str | None = None) -> "Iterator[Symbol]":
        """Iterate over all symbols with a name; parameters as for :meth:`find`."""
        if not module and self.kallsyms:
            yield from self._guarded(self.kallsyms.symbols_named(name))
        if module == "" or not self.modules:
            return
        for one in self.modules:
            if module in (None, one.name):
                yield from self._guarded(one.symbols_named(name), one.name)

    def _guarded(self, found: "Iterator[Symbol]", module: str = "") -> "Iterator[Symbol]":
        """Iterate, and where a table is damaged say so and stop."""
        try:
            yield from found
        except (FaultError, WalkError, *TYPE_ERRORS) as error:
            self._report(module, fault_text(error))

    def _report(self, module: str, reason: str) -> None:
        if module not in self._damaged:
            self._damaged.add(module)
            what = f"a part of the symbol table cannot be read: {reason}"
            self._problems.append(Problem(what, module or "kallsyms"))
