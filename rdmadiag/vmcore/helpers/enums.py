"""
Enumerators
-----------

Names of enum values and of flag bits, taken from the dump's own types.
"""

from drgn import Object, Program, Type, TypeKind

from rdmadiag.vmcore.walk import take_steps

__all__ = ("enum_names", "enum_value_name", "enumerators", "flag_names")

_A_STEP = 4
"""Enumerators that take as long as a node of a list."""


def enumerators(type_: Type) -> dict[int, str]:
    """
    Return the names of an enum type by value; the first name of a value that has several.

    :param type_: ``enum x``, or a typedef of it.
    :raises TypeError: if *type_* is not a (complete) enum.
    """
    while type_.kind == TypeKind.TYPEDEF:
        type_ = type_.type
    if type_.kind != TypeKind.ENUM or type_.enumerators is None:
        raise TypeError(f"{type_.type_name()} is not a complete enum")
    take_steps(type_.prog, len(type_.enumerators) // _A_STEP)
    names: dict[int, str] = {}
    for enumerator in type_.enumerators:
        names.setdefault(enumerator.value, enumerator.name)
    return names


def enum_names(prog: Program, member: str) -> dict[int, str]:
    """
    Return the names by value of the enum that has an enumerator called *member*.

    This is the way to the many anonymous enums of kernel headers.

    :raises LookupError: if no type of the dump has it.
    """
    return enumerators(prog.constant(member).type_)


def enum_value_name(value: Object, prefix: str) -> str:
    """
    Return the enumerator's name of a value without its common prefix; the number when it has none.

    :param value: ``enum x``
    """
    number = int(value.value_())
    name = enumerators(value.type_).get(number)
    return str(number) if name is None else name.removeprefix(prefix)


def flag_names(word: int, bits: dict[int, str]) -> list[str]:
    """Return the names of the bits set in *word*; ``bit N`` where *bits* has no name."""
    return [bits.get(bit, f"bit {bit}") for bit in range(word.bit_length()) if word >> bit & 1]
