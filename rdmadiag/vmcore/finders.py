"""
Finders
-------

Serve the dump's own types and symbols to drgn through its finder interfaces, so that helpers written for
programs with debug info work without it. DWARF, when it is there, is asked first.
"""

from collections.abc import Iterator, Sequence

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

from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.btf import Btf, BtfError, Kind
from rdmadiag.vmcore.btf_types import BtfTypes
from rdmadiag.vmcore.globals import Global, globals_named
from rdmadiag.vmcore.modules import ModuleList
from rdmadiag.vmcore.symbols import Symbol, SymbolTable

__all__ = ("BtfFinders",)

_KINDS = {
    Kind.INT: (TypeKind.INT, TypeKind.BOOL),
    Kind.STRUCT: (TypeKind.STRUCT,),
    Kind.UNION: (TypeKind.UNION,),
    Kind.ENUM: (TypeKind.ENUM,),
    Kind.ENUM64: (TypeKind.ENUM,),
    Kind.TYPEDEF: (TypeKind.TYPEDEF,),
    Kind.FLOAT: (TypeKind.FLOAT,),
}


class BtfFinders:
    """
    Types, objects and symbols of a dump.

    :ivar btfs: The kernel's BTF first (if it was found), then those of the modules.
    """

    def __init__(self, prog: Program, symbols: SymbolTable) -> None:
        self.prog = prog
        self.symbols = symbols
        self.problems: list[Problem] = []
        self.btfs: list[BtfTypes] = []
        self._types: dict[tuple[str, str | None, int], Type | None] = {}
        self._objects: dict[tuple[str, str | None, int], Object | None] = {}

    def register(self) -> None:
        """Make drgn ask here, after the finders it already has."""
        self.prog.register_type_finder("btf", self.find_type, enable_index=-1)
        self.prog.register_object_finder("btf", self.find_object, enable_index=-1)
        self.prog.register_symbol_finder("kallsyms", self.find_symbol, enable_index=-1)

    def load_vmlinux(self) -> bool:
        """Read the kernel's own BTF, ``__start_BTF`` .. ``__stop_BTF``; tell whether it is there."""
        start, stop = self.symbols.find("__start_BTF", ""), self.symbols.find("__stop_BTF", "")
        if not start or not stop:
            self.problems.append(Problem("this kernel carries no BTF (CONFIG_DEBUG_INFO_BTF)", ""))
            return False
        try:
            data = self.prog.read(start.address, stop.address - start.address)
            self._add(Btf(data))
        except (FaultError, BtfError) as error:
            self.problems.append(
                Problem(f"the kernel's BTF cannot be read: {error}", "__start_BTF")
            )
            return False
        return True

    def load_modules(self, modules: ModuleList) -> None:
        """Read the BTF of each module through ``btf_modules`` (``struct list_head`` of ``struct btf_module``)."""
        from rdmadiag.vmcore.module_btf import module_btfs

        if not self.btfs:
            return
        base = self.btfs[0].btf
        for btf, problem in module_btfs(self.prog, base):
            if btf:
                self._add(btf)
                module = modules.named(btf.name)
                if module:
                    module.has_btf = True
            if problem:
                self.problems.append(problem)
        self._types.clear()

    def _add(self, btf: Btf) -> None:
        base = self.btfs[0] if self.btfs else None
        self.btfs.append(BtfTypes(self.prog, btf, base, self._complete))

    def _complete(self, kind: int, name: str) -> Type | None:
        wanted = {TypeKind.UNION} if kind == Kind.UNION else {TypeKind.STRUCT}
        return self.find_type(self.prog, TypeKindSet(wanted), name, None)

    def find_type(
        self, _prog: Program, kinds: TypeKindSet, name: str, filename: str | None
    ) -> Type | None:
        """Find a type: drgn's type finder interface. *filename* may be the name of a module."""
        key = (name, filename, hash(frozenset(kinds)))
        try:
            return self._types[key]
        except KeyError:
            found = self._types[key] = next(self._find_types(kinds, name, filename), None)
            return found

    def _find_types(self, kinds: TypeKindSet, name: str, filename: str | None) -> Iterator[Type]:
        for types in self.btfs:
            if filename and filename != types.btf.name:
                continue
            for number in types.btf.find(name):
                if any(kind in kinds for kind in _KINDS.get(types.btf.kind(number), ())):
                    found = types.type(number)
                    if found.kind in kinds:
                        yield found

    def find_symbol(
        self, _prog: Program, name: str | None, address: int | None, one: bool
    ) -> Sequence[drgn.Symbol]:
        """Find symbols: drgn's symbol finder interface."""
        if address is not None:
            symbol = self.symbols.at(address)
            return [_drgn_symbol(symbol)] if symbol and name in (None, symbol.name) else []
        if name is None:
            return []
        found = [_drgn_symbol(symbol) for symbol in self.symbols.find_all(name)]
        return found[:1] if one else found

    def find_object(
        self, _prog: Program, name: str, flags: FindObjectFlags, filename: str | None
    ) -> Object | None:
        """Find a variable, an enumerator or a function: drgn's object finder interface."""
        key = (name, filename, flags.value)
        try:
            return self._objects[key]
        except KeyError:
            found = self._find_object(name, flags, filename)
            if found is not None:
                self._objects[key] = found
            return found

    def _find_object(
        self, name: str, flags: FindObjectFlags, filename: str | None
    ) -> Object | None:
        found = None
        if flags & FindObjectFlags.VARIABLE:
            found = self._variable(name, filename)
        if found is None and flags & FindObjectFlags.CONSTANT and not filename:
            found = self._constant(name)
        if found is None and flags & FindObjectFlags.FUNCTION:
            found = self._function(name, filename)
        return found

    def _variable(self, name: str, filename: str | None) -> Object | None:
        for entry in globals_named(name):
            if filename and not (
                entry.module == filename or filename_matches(entry.file, filename)
            ):
                continue
            symbol = self.symbols.find(name, entry.module)
            type_ = self._global_type(entry, symbol) if symbol else None
            if symbol and type_:
                return Object(self.prog, type_, address=symbol.address)
        return None if filename else self._btf_variable(name)

    def _global_type(self, entry: Global, symbol: Symbol) -> Type | None:
        try:
            if not entry.type.endswith("[]"):
                return self.prog.type(entry.type)
            element = self.prog.type(entry.type.removesuffix("[]").rstrip())
            return self.prog.array_type(element, symbol.size // sizeof(element))
        except LookupError:
            return None

    def _btf_variable(self, name: str) -> Object | None:
        for types in self.btfs:
            for number in types.btf.find(name):
                if types.btf.kind(number) == Kind.VAR:
                    symbol = self.symbols.find(name, types.btf.name)
                    if symbol:
                        return Object(
                            self.prog, types.type(types.btf.head(number)[2]), address=symbol.address
                        )
        return None

    def _constant(self, name: str) -> Object | None:
        for types in self.btfs:
            found = types.btf.enum_with(name)
            if found:
                return Object(self.prog, types.type(found[0]), value=found[1])
        return None

    def _function(self, name: str, filename: str | None) -> Object | None:
        for types in self.btfs:
            if filename and filename != types.btf.name:
                continue
            prototype = types.btf.function(name)
            symbol = self.symbols.find(name, types.btf.name) if prototype is not None else None
            if prototype is not None and symbol:
                return Object(self.prog, types.type(prototype), address=symbol.address)
        return None


def _drgn_symbol(symbol: Symbol) -> drgn.Symbol:
    binding = SymbolBinding.GLOBAL if symbol.type.isupper() else SymbolBinding.LOCAL
    kind = SymbolKind.FUNC if symbol.type in "tTwW" else SymbolKind.OBJECT
    return drgn.Symbol(symbol.name, symbol.address, symbol.size, binding, kind)
