"""
All BTF of a dump
-----------------

The kernel's own, ``__start_BTF`` .. ``__stop_BTF``, and that of each module through ``btf_modules``
(``kernel/bpf/btf.c``). A module's own ``btf_data`` is no way to it: the pointer is stale once the module is
loaded. Each is read when it is first needed.
"""

from collections.abc import Iterator
from functools import cached_property

from drgn import FaultError, Object, Program, Type, TypeKind, TypeKindSet

from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.btf import Btf, BtfError, Kind
from rdmadiag.vmcore.btf_types import BtfTypes
from rdmadiag.vmcore.faults import TYPE_ERRORS, fault_text
from rdmadiag.vmcore.symbols import SymbolTable
from rdmadiag.vmcore.walk import Allowance, WalkError, list_entries

__all__ = ("BtfStore",)

MAX_SIZE = 64 << 20
MAX_MODULES_SIZE = 512 << 20
"""Of the BTF of all modules together."""

_KINDS = {
    Kind.INT: (TypeKind.INT, TypeKind.BOOL),
    Kind.STRUCT: (TypeKind.STRUCT,),
    Kind.UNION: (TypeKind.UNION,),
    Kind.ENUM: (TypeKind.ENUM,),
    Kind.ENUM64: (TypeKind.ENUM,),
    Kind.TYPEDEF: (TypeKind.TYPEDEF,),
    Kind.FLOAT: (TypeKind.FLOAT,),
}


class BtfStore:
    """
    The BTF of the kernel and its modules.

    :param problems: What goes wrong is added to it.
    """

    def __init__(self, prog: Program, symbols: SymbolTable, problems: list[Problem]) -> None:
        self._prog = prog
        self._symbols = symbols
        self._problems = problems
        self._listing = False
        what = f"the BTF of the modules is larger than {MAX_MODULES_SIZE >> 20} MiB"
        self._room = Allowance(MAX_MODULES_SIZE, what)
        self._found: dict[tuple[str, str | None, frozenset[TypeKind]], Type | None] = {}

    @cached_property
    def vmlinux(self) -> BtfTypes | None:
        """The kernel's own types, ``None`` when it carries none."""
        start, stop = self._symbols.find("__start_BTF", ""), self._symbols.find("__stop_BTF", "")
        if not start or not stop or not 0 < stop.address - start.address <= MAX_SIZE:
            return None
        try:
            btf = Btf(self._prog.read(start.address, stop.address - start.address))
            btf.scan()
        except (FaultError, BtfError) as error:
            what = f"the kernel's BTF cannot be read: {fault_text(error)}"
            self._problems.append(Problem(what, "__start_BTF"))
            return None
        if btf.damage:
            self._problems.append(
                Problem(f"the kernel's BTF is damaged: {btf.damage}", "__start_BTF")
            )
        return BtfTypes(self._prog, btf, None, self._complete)

    @cached_property
    def modules(self) -> dict[str, BtfTypes]:
        """The types of each module that has BTF, by its name."""
        if not self.vmlinux:
            return {}
        self._listing = True
        try:
            return dict(self._read_modules(self.vmlinux))
        finally:
            self._listing = False

    def _read_modules(self, base: BtfTypes) -> Iterator[tuple[str, BtfTypes]]:
        try:
            head = self._prog["btf_modules"]
            for entry in list_entries("struct btf_module", head, "list"):
                yield from self._read_module(entry, base)
        except TYPE_ERRORS:
            what = "this kernel keeps no BTF of modules (CONFIG_DEBUG_INFO_BTF_MODULES)"
            self._problems.append(Problem(what, remark=True))
        except WalkError as error:
            self._problems.append(
                Problem(f"list of module BTF: {error.problem.what}", "btf_modules")
            )

    def _read_module(self, entry: Object, base: BtfTypes) -> Iterator[tuple[str, BtfTypes]]:
        """Read one ``struct btf_module``."""
        name = "?"
        try:
            parsed = entry.btf.read_()
            name = parsed.name.string_().decode("ascii", "backslashreplace")
            size = min(parsed.data_size.value_(), MAX_SIZE)
            start = parsed.start_id.value_(), parsed.start_str_off.value_()
            raw = self._prog.read(parsed.data.value_(), size)
            self._room.take(size)
            btf = Btf(raw, base.btf, name, start)
            yield name, BtfTypes(self._prog, btf, base, self._complete)
        except (FaultError, *TYPE_ERRORS) as error:
            what = f"the BTF of module {name} cannot be read: {fault_text(error)}"
            self._problems.append(Problem(what, f"{entry.value_():#x}"))

    def all(self, name: str | None = None) -> Iterator[BtfTypes]:
        """Iterate over all BTF, the kernel's first; with a *name*, over that module's only."""
        if not self.vmlinux:
            return
        if not name:
            yield self.vmlinux
        if self._listing:
            return
        if name:
            if name in self.modules:
                yield self.modules[name]
            return
        yield from self.modules.values()

    def _complete(self, kind: int, name: str) -> Type | None:
        wanted = TypeKind.UNION if kind == Kind.UNION else TypeKind.STRUCT
        return self.find(TypeKindSet({wanted}), name)

    def find(self, kinds: TypeKindSet, name: str, module: str | None = None) -> Type | None:
        """
        Return the first type with a name and one of some kinds, or ``None``.

        :param module: Search this module only.
        """
        key = (name, module, frozenset(kinds))
        if key not in self._found:
            found = next(self._find(kinds, name, module), None)
            if found is None and self._listing:
                return None
            self._found[key] = found
        return self._found[key]

    def _find(self, kinds: TypeKindSet, name: str, module: str | None) -> Iterator[Type]:
        for types in self.all(module):
            for number in types.btf.find(name):
                if any(kind in kinds for kind in _KINDS.get(types.btf.kind(number), ())):
                    found = types.type(number)
                    if found.kind in kinds:
                        yield found
