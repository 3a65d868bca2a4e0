"""Helpers that read values of a type: addresses, enums, flags, texts, damage."""

import pytest

from rdmadiag.vmcore.helpers.addresses import ip_address, sockaddr_ip, sockaddr_port
from rdmadiag.vmcore.helpers.damage import object_damage
from rdmadiag.vmcore.helpers.enums import enum_names, enum_value_name, enumerators, flag_names
from rdmadiag.vmcore.helpers.errors import READ_ERRORS, why
from rdmadiag.vmcore.helpers.text import c_string
from rdmadiag.vmcore.walk import WalkError

from .fake_kernel import FakeKernel

TYPES = """
enum colour { RED, GREEN = 4, BLUE, ALSO_BLUE = 5 };
typedef enum colour colour_t;
struct thing { colour_t colour; u32 size; u64 more; };
"""


@pytest.fixture
def kernel():
    return FakeKernel(TYPES)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (bytes([10, 0, 0, 1]), "10.0.0.1"),
        (bytes(10) + b"\xff\xff" + bytes([10, 0, 0, 1]), "10.0.0.1"),  # IPv4 in IPv6
        (bytes.fromhex("fe80" + "00" * 12 + "0001"), "fe80::1"),
        (bytes(16), "::"),
    ],
)
def test_ip_address(kernel, raw, expected):
    value = kernel.new("__be32" if len(raw) == 4 else "struct in6_addr")
    kernel.set(value, raw)
    assert ip_address(value) == expected


def test_what_is_no_ip_address(kernel):
    with pytest.raises(ValueError, match="is no IP address"):
        ip_address(kernel.new("u64"))


@pytest.mark.parametrize(
    ("raw", "ip", "port"),
    [
        (b"\x02\x00\x11\x44\x0a\x00\x00\x07", "10.0.0.7", 4420),
        (
            b"\x0a\x00\x11\x44" + bytes(4) + bytes.fromhex("fe80" + "00" * 12 + "0002"),
            "fe80::2",
            4420,
        ),
        (b"\x1b\x00" + bytes(26), None, None),  # AF_IB
        (bytes(28), None, None),
    ],
)
def test_socket_address(kernel, raw, ip, port):
    value = kernel.new("struct sockaddr_storage")
    kernel.set(value, raw)
    assert (sockaddr_ip(value), sockaddr_port(value)) == (ip, port)


def test_enumerators(kernel):
    names = {0: "RED", 4: "GREEN", 5: "BLUE"}
    assert enumerators(kernel.prog.type("colour_t")) == names
    assert enum_names(kernel.prog, "GREEN") == names
    with pytest.raises(LookupError):
        enum_names(kernel.prog, "PINK")
    with pytest.raises(TypeError, match="unsigned int is not a complete enum"):
        enumerators(kernel.prog.type("u32"))


@pytest.mark.parametrize(("value", "expected"), [(4, "EN"), (0, "RED"), (9, "9")])
def test_enum_value_name(kernel, value, expected):
    thing = kernel.new("struct thing", colour=value)
    assert enum_value_name(thing.colour, "GRE") == expected


def test_flag_names():
    assert flag_names(0, {0: "A"}) == []
    assert flag_names(0b1101, {0: "A", 2: "C"}) == ["A", "C", "bit 3"]


def test_text(kernel):
    assert c_string(kernel.text("krdsd")) == "krdsd"
    raw = kernel.new("char", 8)
    kernel.set(raw, b"a\xffb")
    assert c_string(raw) == "a\\xffb"


def test_damage(kernel):
    thing = kernel.new("struct thing", size=7)
    assert object_damage(thing.address_of_()) == ""
    assert "all of it is zero" in object_damage(kernel.new("struct thing").address_of_())
    freed = kernel.new("struct thing")
    kernel.set(freed, b"\x6b" * 15 + b"\xa5")
    assert "freed" in object_damage(freed.address_of_())


def test_reasons(kernel):
    with pytest.raises(READ_ERRORS) as caught:
        kernel.prog.read(0, 8)
    assert why(caught.value) == "its memory is not in the dump"
    assert why(LookupError("no type")) == "no type"
    assert why(ValueError()) == "ValueError"
    assert why(WalkError("the list runs in a circle", "0x10")) == "the list runs in a circle (0x10)"
