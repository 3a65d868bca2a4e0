"""Types from the BTF in a dump against DWARF."""

import drgn
import pytest

from .samples import dwarf, shared

LAYOUTS = [
    (name, type_)
    for name in ("rds-stuck-recv", "iwcm-connect-wait", "rds-stuck-recv-612")
    for type_ in dwarf(name)["present"][name]
]


def members(type_: drgn.Type, start: int = 0):
    for member in type_.members:
        inner = member.type
        while inner.kind == drgn.TypeKind.TYPEDEF:
            inner = inner.type
        if member.name is None and inner.kind in (drgn.TypeKind.STRUCT, drgn.TypeKind.UNION):
            yield from members(inner, start + member.bit_offset)
        else:
            bits = [member.bit_field_size] if member.bit_field_size else []
            yield member.name, [start + member.bit_offset, *bits]


@pytest.mark.parametrize(("name", "type_"), LAYOUTS)
def test_layout(name, type_):
    found = shared(name).prog.type(f"struct {type_}")
    truth = dwarf(name)["types"][type_]
    assert found.size == truth["size"]
    assert dict(members(found)) == truth["members"]


@pytest.mark.parametrize("name", ["rds-stuck-recv", "iwcm-connect-wait", "rds-stuck-recv-612"])
def test_enumerations(name):
    prog = shared(name).prog
    compared = 0
    for enum, values in dwarf(name)["enums"].items():
        try:
            found = prog.type(f"enum {enum}")
        except LookupError:
            continue
        assert dict(map(tuple, found.enumerators)) == values
        for enumerator, value in values.items():
            assert prog.constant(enumerator).value_() == value
            assert prog[enumerator].value_() == value
        compared += 1
    assert compared >= 3


def test_enumerators_of_an_anonymous_enumeration_of_a_module():
    prog = shared("rds-stuck-recv").prog
    assert prog["RDS_CONN_DISCONNECTING"].value_() == 2
    assert prog["RDS_CONN_UP"].value_() == 3
    with pytest.raises(LookupError):
        prog["RDS_IB_CQ_ERR"]


def test_a_type_declared_in_one_module_and_defined_in_another_is_complete():
    prog = shared("rds-stuck-recv").prog
    device = prog.type("struct rds_ib_device").member("dev").type
    assert device.type.is_complete()
    assert device.type.size == prog.type("struct ib_device").size


def test_integers_and_names_are_as_in_c():
    prog = shared("rds-stuck-recv").prog
    assert prog.type("unsigned long").size == 8
    assert prog.type("u32").type_name() == "u32"
    assert prog.type("_Bool").size == 1
    assert prog.type("struct list_head *").type.members[0].name == "next"


def test_what_does_not_exist_is_not_found():
    prog = shared("rds-stuck-recv").prog
    for name in ("struct nvme_rdma_ctrl", "union no_such", "enum no_such", "no_such_t"):
        with pytest.raises(LookupError):
            prog.type(name)


def test_a_module_may_be_named():
    prog = shared("rds-stuck-recv").prog
    assert prog.type("struct rds_ib_connection", "rds_rdma").size == 5112
    with pytest.raises(LookupError):
        prog.type("struct rds_ib_connection", "ib_core")


def test_functions_are_objects():
    dump = shared("rds-stuck-recv")
    function = dump.prog.function("rds_shutdown_worker")
    assert function.address_ == dump.symbol("rds_shutdown_worker").address
    assert function.type_.parameters[0].type.type_name() == "struct work_struct *"
