"""
Finders
-------

Serve the dump's own types and symbols to drgn through its finder interfaces, so that helpers written for
programs with debug info work without it. DWARF, when it is there, is asked first.
"""

from collections.abc import Sequence
from itertools import islice

import drgn
from drgn import (
    FaultError,
    FindObjectFlags,
    Object,
    Program,
    SymbolBinding,
    SymbolKind,
    Type,
    TypeKind,
    TypeKindSet,
    filename_matches,
    sizeof,
)

from rdmadiag.vmcore.btf import Kind
from rdmadiag.vmcore.btf_store import BtfStore
from rdmadiag.vmcore.globals import Global, globals_named
from rdmadiag.vmcore.presence import presence
from rdmadiag.vmcore.symbols import Symbol, SymbolTable

__all__ = ("Finders",)


class Finders:
    """
    Answers drgn's questions for types, objects and symbols.

    A *filename* is matched with the source files of :mod:`.globals`; the name of a module is taken as well,
    as BTF knows no files.
    """

    def __init__(self, prog: Program, store: BtfStore, symbols: SymbolTable) -> None:
        self._prog = prog
        self._store = store
        self._symbols = symbols
        self._objects: dict[tuple[str, str | None, FindObjectFlags], Object] = {}

    def register(self) -> None:
        """Make drgn ask here, after the finders it already has."""
        self._prog.register_type_finder("btf", self.find_type, enable_index=-1)
        self._prog.register_object_finder("btf", self.find_object, enable_index=-1)
        self._prog.register_symbol_finder("kallsyms", self.find_symbol, enable_index=-1)

    def find_type(
        self, _prog: Program, kinds: TypeKindSet, name: str, filename: str | None
    ) -> Type | None:
        """Find a type: drgn's type finder interface."""
        return self._store.find(kinds, name, filename or None)

    def find_symbol(
        self, _prog: Program, name: str | None, address: int | None, one: bool
    ) -> Sequence[drgn.Symbol]:
        """Find symbols: drgn's symbol finder interface."""
        if address is not None:
            symbol = self._symbols.at(address)
            return [_drgn_symbol(symbol)] if symbol and name in (None, symbol.name) else []
        if name is None:
            return []
        found = [_drgn_symbol(symbol) for symbol in self._symbols.find_all(name)]
        return found[:1] if one else found

    def find_object(
        self, _prog: Program, name: str, flags: FindObjectFlags, filename: str | None
    ) -> Object | None:
        """Find a variable, an enumerator or a function: drgn's object finder interface."""
        key = (name, filename, flags)
        if key not in self._objects:
            found = self._find_object(name, flags, filename)
            if found is None:
                return None
            self._objects[key] = found
        return self._objects[key]

    def _find_object(
        self, name: str, flags: FindObjectFlags, filename: str | None
    ) -> Object | None:
        found = None
        if flags & FindObjectFlags.VARIABLE:
            found = self._variable(name, filename)
        if found is None and flags & FindObjectFlags.CONSTANT:
            found = self._constant(name, filename)
        if found is None and flags & FindObjectFlags.FUNCTION:
            found = self._function(name, filename)
        return found

    def _variable(self, name: str, filename: str | None) -> Object | None:
        for entry in globals_named(name):
            if filename and entry.module != filename and not filename_matches(entry.file, filename):
                continue
            symbol = self._symbol(entry)
            type_ = self._global_type(entry, symbol) if symbol else None
            if symbol and type_:
                return self._object(type_, symbol)
        return self._btf_variable(name, filename)

    def _symbol(self, entry: Global) -> Symbol | None:
        """Find a variable's symbol. In a kernel that has its module built in, a name that several have tells nothing."""
        if not entry.module or presence(self._symbols, entry.module) != "built-in":
            return self._symbols.find(entry.name, entry.module)
        found = list(islice(self._symbols.find_all(entry.name, ""), 2))
        return found[0] if len(found) == 1 else None

    def _object(self, type_: Type, symbol: Symbol) -> Object | None:
        try:
            return Object(self._prog, type_, address=symbol.address)
        except OverflowError:  # a type whose size is damaged
            return None

    def _global_type(self, entry: Global, symbol: Symbol) -> Type | None:
        try:
            if not entry.type.endswith("[]"):
                return self._prog.type(entry.type)
            element = self._prog.type(entry.type.removesuffix("[]").rstrip())
        except LookupError:
            return None
        return self._prog.array_type(element, self._length(element, symbol))

    def _length(self, element: Type, symbol: Symbol) -> int:
        """
        Return the length of an array from the size of its symbol.

        The size of a symbol of the kernel proper reaches to the next one, so it may hold padding: NULLs at
        the end of an array of pointers do not count.
        """
        length: int = symbol.size // sizeof(element)
        if element.kind != TypeKind.POINTER or symbol.module:
            return length
        try:
            raw = self._prog.read(symbol.address, 8 * length)
        except FaultError:
            return length
        return -(-len(raw.rstrip(b"\0")) // 8)

    def _btf_variable(self, name: str, filename: str | None) -> Object | None:
        """Find a variable that BTF describes: the per-CPU ones, since 2025 all global ones."""
        for types in self._store.all(filename):
            for number in types.btf.find(name):
                symbol = self._symbols.find(name, types.btf.name)
                if symbol and types.btf.kind(number) == Kind.VAR:
                    return self._object(types.type(types.btf.head(number)[2]), symbol)
        return None

    def _constant(self, name: str, filename: str | None) -> Object | None:
        for types in self._store.all(filename):
            found = types.btf.enum_with(name)
            if found:
                return Object(self._prog, types.type(found[0]), value=found[1])
        return None

    def _function(self, name: str, filename: str | None) -> Object | None:
        for types in self._store.all(filename):
            prototype = types.btf.function(name)
            symbol = self._symbols.find(name, types.btf.name) if prototype is not None else None
            if prototype is not None and symbol:
                return self._object(types.type(prototype), symbol)
        return None


def _drgn_symbol(symbol: Symbol) -> drgn.Symbol:
    binding = SymbolBinding.GLOBAL if symbol.type.isupper() else SymbolBinding.LOCAL
    kind = SymbolKind.FUNC if symbol.type in "tTwW" else SymbolKind.OBJECT
    return drgn.Symbol(symbol.name, symbol.address, symbol.size, binding, kind)
