"""
A kernel made of C declarations and bytes, for layouts that no dump at hand has.

Types come from C text (structs, unions, enums, typedefs, pointers, arrays; no bit fields), memory from one
segment that objects are put into. A new layout is a new piece of C text.
"""

import re
from functools import partial
from types import SimpleNamespace

import drgn

from rdmadiag.vmcore.frames import Stack
from rdmadiag.vmcore.presence import presence

BASE = 0xFFFF888000000000
SIZE = 1 << 21
TEXT = 0xFFFFFFFFC0000000

_BLOCK = re.compile(r"(struct|union|enum)\s*(\w*)\s*\{([^{}]*)\}\s*;", re.DOTALL)
_TYPEDEF = re.compile(r"typedef\s+([^;{}]+?)\s*(\w+)\s*;")
_MEMBER = re.compile(r"^(?P<type>.+?)(?P<stars>\**)\s*(?P<name>\w+)\s*(?:\[(?P<count>\d*)\])?$")

COMMON = """
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32;
typedef unsigned long u64; typedef unsigned int __be32; typedef unsigned short __be16;
typedef unsigned char bool;
typedef struct atomic_s atomic_t; typedef struct atomic64_s atomic64_t;
struct atomic_s { int counter; };
struct atomic64_s { long counter; };
struct refcount_struct { atomic_t refs; };
struct list_head { struct list_head *next; struct list_head *prev; };
struct hlist_head { struct hlist_node *first; };
struct hlist_node { struct hlist_node *next; struct hlist_node **pprev; };
struct timer_list { struct hlist_node entry; unsigned long expires; void *function; u32 flags; };
struct work_struct { atomic64_t data; struct list_head entry; void *func; };
struct delayed_work { struct work_struct work; struct timer_list timer; struct workqueue_struct *wq; int cpu; };
struct mutex { atomic64_t owner; struct list_head wait_list; };
struct in6_addr { u8 s6_addr[16]; };
struct sockaddr_storage { u8 raw[128]; };
struct wait_queue_head { u32 lock; struct list_head head; };
struct wait_queue_entry { u32 flags; void *private; void *func; struct list_head entry; };
struct swait_queue_head { u32 lock; struct list_head task_list; };
struct swait_queue { struct task_struct *task; struct list_head task_list; };
struct completion { u32 done; struct swait_queue_head wait; };
struct module { char name[56]; };
"""

_INTEGERS = {
    "char": (1, True),
    "int": (4, True),
    "long": (8, True),
    "unsigned char": (1, False),
    "unsigned short": (2, False),
    "unsigned int": (4, False),
    "unsigned long": (8, False),
}


class FakeKernel:
    """
    A drgn program over declared types and written memory.

    :ivar prog: The program.
    :ivar modules: Name of the module of each function that :meth:`function` made.
    """

    def __init__(self, *sources: str) -> None:
        platform = drgn.Platform(drgn.Architecture.X86_64)
        self.prog = drgn.Program(platform)
        self.memory = bytearray(SIZE)
        self._next = 64
        self._text = TEXT
        self._blocks: dict[str, str] = {}
        self._typedefs: dict[str, str] = {}
        self._types: dict[str, drgn.Type] = {}
        self._objects: dict[str, drgn.Object] = {}
        self._symbols: list[drgn.Symbol] = []
        self.modules: dict[int, str] = {}
        for source in (COMMON, *sources):
            self._read(source)
        self.prog.add_memory_segment(BASE, SIZE, self._read_memory)
        self.prog.register_type_finder("fake", self._find_type, enable_index=0)
        self.prog.register_object_finder("fake", self._find_object, enable_index=0)
        self.prog.register_symbol_finder("fake", self._find_symbol, enable_index=0)

    def _read_memory(self, address: int, count: int, offset: int, physical: bool) -> bytes:
        start = address - BASE
        return bytes(self.memory[start : start + count])

    # Types

    def _read(self, source: str) -> None:
        source = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
        for kind, name, body in _BLOCK.findall(source):
            self._blocks[f"{kind} {name or len(self._blocks)}"] = body
        for old, new in _TYPEDEF.findall(_BLOCK.sub("", source)):
            self._typedefs[new] = old

    def type(self, name: str) -> drgn.Type:
        name = " ".join(name.split())
        if name not in self._types:
            self._types[name] = self._make(name)
        return self._types[name]

    def _make(self, name: str) -> drgn.Type:
        if name in _INTEGERS:
            size, signed = _INTEGERS[name]
            return self.prog.int_type(name, size, signed)
        if name == "void":
            return self.prog.void_type()
        if name in self._typedefs:
            return self.prog.typedef_type(name, self.type(self._typedefs[name]))
        kind, _, tag = name.partition(" ")
        if name not in self._blocks:
            if kind in {"struct", "union"}:
                return self.prog.struct_type(tag, None, None)
            raise LookupError(name)
        if kind == "enum":
            return self._enum(tag, self._blocks[name])
        return self._compound(kind, tag, self._blocks[name])

    def _enum(self, tag: str, body: str) -> drgn.Type:
        found, value = [], 0
        for item in filter(None, (item.strip() for item in body.split(","))):
            name, _, given = item.partition("=")
            value = int(given, 0) if given else value
            found.append(drgn.TypeEnumerator(name.strip(), value))
            value += 1
        return self.prog.enum_type(None if tag.isdigit() else tag, self.type("unsigned int"), found)

    def _compound(self, kind: str, tag: str, body: str) -> drgn.Type:
        members, place, end, widest = [], 0, 0, 1
        for text in filter(None, (item.strip() for item in body.split(";"))):
            name, declared = self._member(text)
            size, align = self._size(declared), self._align(declared)
            place = 0 if kind == "union" else (end + align - 1) // align * align
            members.append(drgn.TypeMember(self._lazy(declared), name, place * 8))
            end, widest = max(end, place + size), max(widest, align)
        total = (end + widest - 1) // widest * widest
        make = self.prog.union_type if kind == "union" else self.prog.struct_type
        return make(tag, total, members)

    def _member(self, text: str) -> tuple[str, tuple]:
        match = _MEMBER.match(" ".join(text.split()))
        assert match, text
        count = match["count"]
        return match["name"], (match["type"].strip(), len(match["stars"]), count)

    def _lazy(self, declared: tuple):
        def make() -> drgn.Type:
            name, stars, count = declared
            type_ = self.type(name)
            for _ in range(stars):
                type_ = self.prog.pointer_type(type_)
            return type_ if count is None else self.prog.array_type(type_, int(count or 0))

        return make

    def _size(self, declared: tuple) -> int:
        name, stars, count = declared
        size = 8 if stars else drgn.sizeof(self.type(name))
        return size * int(count or 0) if count is not None else size

    def _align(self, declared: tuple) -> int:
        name, stars, _ = declared
        return 8 if stars else drgn.alignof(self.type(name))

    # Finders

    def _find_type(self, prog, kinds, name, filename):
        for kind in ("struct", "union", "enum", ""):
            whole = f"{kind} {name}".strip()
            if whole in self._blocks or whole in self._typedefs or whole in _INTEGERS:
                type_ = self.type(whole)
                if type_.kind in kinds:
                    return type_
        return None

    def _find_object(self, prog, name, flags, filename):
        if name in self._objects and flags & drgn.FindObjectFlags.VARIABLE:
            return self._objects[name]
        if flags & drgn.FindObjectFlags.CONSTANT:
            for block in self._blocks:
                if block.startswith("enum "):
                    for one in self.type(block).enumerators or ():
                        if one.name == name:
                            return drgn.Object(prog, self.type(block), one.value)
        return None

    def _find_symbol(self, prog, name, address, one):
        found = [
            symbol
            for symbol in self._symbols
            if name in (None, symbol.name)
            and (address is None or symbol.address <= address < symbol.address + symbol.size)
        ]
        return found[:1] if one else found

    # Objects

    def new(self, type_: str, count: int = 1, **values: object) -> drgn.Object:
        """Return a new, zeroed object; arrays by *count*."""
        made = self.prog.type(type_)
        if count != 1:
            made = self.prog.array_type(made, count)
        address = BASE + self._next
        self._next += (drgn.sizeof(made) + 63) // 64 * 64
        assert self._next < SIZE
        found = drgn.Object(self.prog, made, address=address)
        for name, value in values.items():
            self.set(found.member_(name), value)
        return found

    def at(self, type_: drgn.Type, address: int) -> drgn.Object:
        """Return the object at an address."""
        return drgn.Object(self.prog, type_, address=address)

    def variable(self, name: str, type_: str, count: int = 1) -> drgn.Object:
        """Return a new global variable."""
        self._objects[name] = self.new(type_, count)
        return self._objects[name]

    def set(self, place: drgn.Object, value: object) -> None:
        """Write a number, a text, bytes, a pointer, or the address of another object."""
        size = drgn.sizeof(place)
        if isinstance(value, drgn.Object):
            pointer = value.type_.kind == drgn.TypeKind.POINTER
            value = value.value_() if pointer else value.address_
        if isinstance(value, str):
            raw = value.encode()[: size - 1].ljust(size, b"\0")
        elif isinstance(value, bytes):
            raw = value.ljust(size, b"\0")
        else:
            raw = (int(value) % (1 << 8 * size)).to_bytes(size, "little")
        start = place.address_ - BASE
        self.memory[start : start + size] = raw

    def text(self, value: str) -> drgn.Object:
        """Return a new text in memory."""
        found = self.new("char", len(value) + 1)
        self.set(found, value)
        return found

    def list_init(self, head: drgn.Object, *nodes: drgn.Object) -> None:
        """Make *head* a list of *nodes* (``struct list_head`` each)."""
        ring = [head, *nodes]
        for one, following in zip(ring, [*nodes, head], strict=True):
            self.set(one.next, following)
            self.set(following.prev, one)

    def hlist_init(self, head: drgn.Object, *nodes: drgn.Object) -> None:
        """Make *head* a chain of *nodes* (``struct hlist_node`` each)."""
        places = [head.first, *(node.next for node in nodes)]
        for place, node in zip(places, nodes, strict=False):
            self.set(place, node)
            self.set(node.pprev, place)

    def function(self, name: str, module: str = "") -> int:
        """Return the address of a new function."""
        address, self._text = self._text, self._text + 256
        self._symbols.append(
            drgn.Symbol(name, address, 256, drgn.SymbolBinding.GLOBAL, drgn.SymbolKind.FUNC)
        )
        self.modules[address] = module
        return address


def fake_dump(kernel: FakeKernel, *modules: str, complete: bool = True) -> SimpleNamespace:
    """Return what the collectors need of an opened dump."""
    loaded = [
        SimpleNamespace(name=name, ranges=[], has_btf=True, has_types=True) for name in modules
    ]

    class Modules(list):
        problems = ()

        def named(self, name: str):
            return next((one for one in self if one.name == name), None)

        def containing(self, address: int):
            return self.named(kernel.modules.get(address, "?"))

    listed = Modules(loaded)
    listed.complete = complete

    def symbolize(address: int):
        try:
            symbol = kernel.prog.symbol(address)
        except LookupError:
            return None
        module = kernel.modules.get(symbol.address, "")
        return symbol.name, address - symbol.address, symbol.size, module

    def symbol(name: str, module: str | None = None):
        found = kernel.prog.symbols(name)
        return next((one for one in found if kernel.modules[one.address] == (module or "")), None)

    symbols = SimpleNamespace(modules=listed, find=symbol, is_whole=True)
    return SimpleNamespace(
        symbols=symbols,
        presence=partial(presence, symbols),
        symbol=symbol,
        prog=kernel.prog,
        modules=listed,
        nodename="node1.example",
        types="dwarf",
        release="4.1.12",
        symbolize=symbolize,
        stack=lambda task: Stack(),
    )
