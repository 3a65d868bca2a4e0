"""BTF made by hand: what the dumps at hand do not have, and damage."""

import struct

import drgn
import pytest

from rdmadiag.vmcore.btf import Btf, BtfError, Kind
from rdmadiag.vmcore.btf_types import BtfTypes

from .test_printk import PLATFORM


class Builder:
    """Puts types one after the other; the first has number 1."""

    def __init__(self, strings=b"\0", start=0):
        self.types, self.strings, self.start = b"", strings, start

    def name(self, text):
        if not text:
            return 0
        self.strings += text.encode() + b"\0"
        return self.start + len(self.strings) - len(text) - 1

    def add(self, name, kind, size, extra=(), vlen=0, flag=0):
        info = flag << 31 | kind << 24 | vlen
        self.types += struct.pack(f"<III{len(extra)}I", self.name(name), info, size, *extra)
        return self

    def data(self):
        head = struct.pack(
            "<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(self.types), len(self.types), len(self.strings)
        )
        return head + self.types + self.strings


def types_of(btf, base=None, complete=lambda kind, name: None):
    return BtfTypes(drgn.Program(PLATFORM), btf, base, complete)


def made(builder):
    return types_of(Btf(builder.data()))


def integer(builder=None):
    return (builder or Builder()).add("int", Kind.INT, 4, [1 << 24 | 32])


def test_a_struct_with_bit_fields():
    builder = integer()
    names = [builder.name(name) for name in ("a", "b", "c")]
    members = [names[0], 1, 3 << 24 | 0, names[1], 1, 5 << 24 | 3, names[2], 1, 32]
    builder.add("s", Kind.STRUCT, 8, members, vlen=3, flag=1)
    found = made(builder).type(2)
    assert found.size == 8
    assert [(m.name, m.bit_offset, m.bit_field_size) for m in found.members] == [
        ("a", 0, 3),
        ("b", 3, 5),
        ("c", 32, None),
    ]


def test_enumerations_of_32_and_64_bits():
    builder = Builder()
    low, high = builder.name("LOW"), builder.name("HIGH")
    builder.add("e", Kind.ENUM, 4, [low, 0xFFFFFFFF, high, 7], vlen=2, flag=1)
    builder.add("u", Kind.ENUM, 4, [low, 0xFFFFFFFF], vlen=1)
    builder.add("b", Kind.ENUM64, 8, [low, 0, 1, high, 0xFFFFFFFE, 0xFFFFFFFF], vlen=2, flag=1)
    types = made(builder)
    assert list(map(tuple, types.type(1).enumerators)) == [("LOW", -1), ("HIGH", 7)]
    assert list(map(tuple, types.type(2).enumerators)) == [("LOW", 0xFFFFFFFF)]
    assert list(map(tuple, types.type(3).enumerators)) == [("LOW", 1 << 32), ("HIGH", -2)]
    assert types.btf.enum_with("HIGH") == (1, 7)
    assert types.btf.enum_with("OTHER") is None


def test_more_members_than_sixteen_bits_count():
    builder = integer()
    count = 0x10002
    builder.add("big", Kind.ENUM, 4, [word for i in range(count) for word in (0, i)], vlen=count)
    builder.add("after", Kind.TYPEDEF, 1)
    btf = Btf(builder.data())
    btf.scan()
    assert btf.damage == ""
    assert list(btf.find("after")) == [3]
    assert sum(1 for _ in btf.enumerators(2)) == count


def test_a_kind_from_the_future_ends_the_scan():
    builder = integer().add("later", 0x21, 4).add("lost", Kind.TYPEDEF, 1)
    btf = Btf(builder.data())
    btf.scan()
    assert btf.damage == "type 2 and all after it are lost"
    assert list(btf.find("int")) == [1]
    assert list(btf.find("lost")) == []


def test_every_kind():
    builder = integer()
    builder.add("", Kind.PTR, 1)
    builder.add("", Kind.ARRAY, 0, [1, 1, 5])
    builder.add("", Kind.ARRAY, 0, [1, 1, 0])
    builder.add("", Kind.CONST, 1).add("", Kind.VOLATILE, 5).add("int_t", Kind.TYPEDEF, 6)
    builder.add("", Kind.FUNC_PROTO, 1, [builder.name("x"), 2, 0, 0], vlen=2)
    builder.add("f", Kind.FUNC, 8, vlen=1)
    builder.add("d", Kind.FLOAT, 8).add("tag", Kind.TYPE_TAG, 1).add("", Kind.RESTRICT, 2)
    builder.add("ok", Kind.INT, 1, [4 << 24 | 8])
    types = made(builder)
    names = [types.type(i).type_name() for i in (2, 3, 4, 7, 10, 11, 12, 13)]
    assert names == ["int *", "int [5]", "int []", "int_t", "d", "int", "int * restrict", "ok"]
    assert types.type(6).qualifiers == drgn.Qualifiers.CONST | drgn.Qualifiers.VOLATILE
    assert (types.type(8).type_name(), types.type(8).is_variadic) == ("int (int *x, ...)", True)
    assert types.btf.function("f") == 8
    assert types.type(13).kind == drgn.TypeKind.BOOL
    assert types.type(0).kind == drgn.TypeKind.VOID


def test_a_module_builds_on_the_kernel():
    base = integer(Builder().add("kept", Kind.FWD, 0))
    kernel = Btf(base.data())
    builder = Builder(b"", len(base.strings))
    builder.add("mine", Kind.STRUCT, 4, [builder.name("value"), 2, 0], vlen=1)
    builder.add("", Kind.PTR, 1)
    module = Btf(builder.data(), kernel, "mod", (3, len(base.strings)))
    prog = drgn.Program(PLATFORM)
    complete = {"kept": prog.struct_type("kept", 0, ())}
    base_types = BtfTypes(prog, kernel, None, lambda kind, name: complete.get(name))
    types = BtfTypes(prog, module, base_types, lambda kind, name: None)
    assert module.find("mine") == [3]
    assert kernel.find("mine") == []
    assert module.find("int") == []
    found = types.type(3)
    assert (found.tag, found.members[0].name, found.members[0].type.type_name()) == (
        "mine",
        "value",
        "int",
    )
    assert types.type(4).type.is_complete()


def test_a_declaration_without_definition_stays_incomplete():
    types = made(Builder().add("s", Kind.FWD, 0).add("u", Kind.FWD, 0, flag=1))
    assert not types.type(1).is_complete()
    assert types.type(2).kind == drgn.TypeKind.UNION


def test_a_type_of_itself_is_refused():
    for kind in (Kind.TYPEDEF, Kind.CONST, Kind.PTR):
        types = made(integer().add("t", kind, 3).add("u", kind, 2))
        with pytest.raises(BtfError, match="has no end"):
            types.type(2)
    types = made(Builder().add("", Kind.ARRAY, 0, [1, 1, 4]))
    with pytest.raises(BtfError, match="has no end"):
        types.type(1)


def test_a_long_chain_is_refused():
    builder = Builder()
    for i in range(2000):
        builder.add("", Kind.PTR, i + 2)
    with pytest.raises(BtfError, match="has no end"):
        made(builder).type(1)


def test_a_number_that_is_not_there():
    with pytest.raises(BtfError, match="no type 99"):
        made(integer()).type(99)


@pytest.mark.parametrize("size", [0, 10, 23, 30])
def test_a_cut_section_is_refused(size):
    with pytest.raises(BtfError):
        Btf(integer().data()[:size])


def test_another_magic_is_refused():
    with pytest.raises(BtfError, match="not BTF"):
        Btf(b"\0" * 64)


def test_what_comes_before_damage_is_kept():
    good = integer().add("t", Kind.TYPEDEF, 1)
    builder = Builder(good.strings)
    builder.types = good.types
    builder.add("bad", 31, 0).add("after", Kind.TYPEDEF, 1)
    types = made(builder)
    assert types.btf.find("t") == [2]
    assert types.type(2).type.size == 4
    assert types.btf.find("after") == []
    assert types.btf.damage == "type 3 and all after it are lost"


def test_a_last_type_that_is_cut_is_damage():
    builder = integer()
    builder.types += struct.pack("<III", 0, Kind.STRUCT << 24 | 100, 8)
    btf = Btf(builder.data())
    btf.scan()
    assert btf.damage == "it ends inside type 2"
