"""
Symbols
-------

What an address is called, and where a name is: the kernel's own tables, :mod:`.kallsyms` for the kernel
proper and :mod:`.modules` for modules, behind one interface.
"""

from typing import TYPE_CHECKING, NamedTuple

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
    """Symbols of the kernel proper and of its modules."""

    def __init__(self, kallsyms: "Kallsyms | None") -> None:
        self.kallsyms = kallsyms
        self.modules: ModuleList | None = None
        self._cache: dict[int, Symbol | None] = {}

    def at(self, address: int) -> Symbol | None:
        """Return the symbol that contains *address*, or ``None``."""
        try:
            return self._cache[address]
        except KeyError:
            symbol = self._cache[address] = self._at(address)
            return symbol

    def _at(self, address: int) -> Symbol | None:
        module = self.modules.containing(address) if self.modules else None
        if module:
            return module.symbol_at(address)
        return self.kallsyms.at(address) if self.kallsyms else None

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
            yield from self.kallsyms.find(name)
        if module == "" or not self.modules:
            return
        for one in self.modules:
            if module in (None, one.name):
                yield from one.symbols_named(name)
