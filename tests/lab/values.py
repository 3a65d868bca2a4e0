"""Values of kernel objects as the ground truth has them."""

from drgn import Object


def hex_of(value: Object) -> str:
    return hex(int(value))


def enum_name(value: Object, prefix: str) -> str:
    return value.format_(type_name=False).removeprefix(prefix)


def text_of(value: Object) -> str:
    return value.string_().decode(errors="replace")
