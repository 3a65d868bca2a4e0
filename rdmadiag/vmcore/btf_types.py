"""
BTF types for drgn
------------------

Makes :class:`drgn.Type` out of BTF, only what is asked for: members of a struct are made when they are
first looked at.
"""

from collections.abc import Callable
from functools import partial

from drgn import (
    Object,
    Program,
    Qualifiers,
    Type,
    TypeEnumerator,
    TypeMember,
    TypeParameter,
)

from rdmadiag.vmcore.btf import Btf, BtfError, Kind, Member

__all__ = ("BtfTypes",)

_QUALIFIERS = {
    Kind.CONST: Qualifiers.CONST,
    Kind.VOLATILE: Qualifiers.VOLATILE,
    Kind.RESTRICT: Qualifiers.RESTRICT,
}
_SIGNED, _CHAR, _BOOL = 1, 2, 4
_MAX_CHAIN = 64
"""Longest chain of typedefs, pointers and qualifiers that is believed."""


class BtfTypes:
    """
    Types of one BTF as drgn types.

    :param complete: Finds a complete struct, union or enum by kind and name, in any BTF: a type that
        one module only declares is defined in another.
    """

    def __init__(
        self,
        prog: Program,
        btf: Btf,
        base: "BtfTypes | None",
        complete: Callable[[int, str], Type | None],
    ) -> None:
        self.btf = btf
        self._prog = prog
        self._base = base
        self._complete = complete
        self._cache: dict[int, Type] = {}
        self._making: set[int] = set()

    def type(self, number: int) -> Type:
        """
        Return the type with a number.

        :raises BtfError: if there is no such type
        """
        if self._base and number < self.btf.first_id:
            return self._base.type(number)
        if number not in self._cache:
            if number in self._making or len(self._making) >= _MAX_CHAIN:
                raise BtfError(
                    f"type {number} of the BTF of {self.btf.name or 'vmlinux'} has no end"
                )
            self._making.add(number)
            try:
                self._cache[number] = self._make(number)
            finally:
                self._making.discard(number)
        return self._cache[number]

    def _make(self, number: int) -> Type:
        if not number:
            return self._prog.void_type()
        name, kind, size, _, flag = self.btf.head(number)
        if kind in (Kind.STRUCT, Kind.UNION):
            return self._compound(number, name, kind, size)
        if kind in (Kind.ENUM, Kind.ENUM64):
            return self._enum(number, name, size, signed=flag)
        if kind == Kind.FWD:
            return self._declared(Kind.UNION if flag else Kind.STRUCT, name)
        if kind == Kind.ARRAY:
            element, _, count = self.btf.words(number)
            return self._array(self.type(element), count)
        if kind == Kind.FUNC_PROTO:
            return self._prototype(number, size)
        if kind == Kind.INT:
            return self._int(number, name, size)
        if kind == Kind.FLOAT:
            return self._prog.float_type(name, size)
        return self._derived(name, kind, size)

    def _array(self, element: Type, count: int) -> Type:
        """Make an array; ``[]`` and ``[0]`` are the same in BTF, and several dimensions are one."""
        return self._prog.array_type(element, count) if count else self._prog.array_type(element)

    def _derived(self, name: str, kind: int, target: int) -> Type:
        """Make a type of another one: pointer, typedef, qualifier; tags and the like are passed over."""
        type_ = self.type(target)
        if kind == Kind.PTR:
            return self._prog.pointer_type(type_)
        if kind == Kind.TYPEDEF:
            return self._prog.typedef_type(name, type_)
        if kind in _QUALIFIERS:
            return type_.qualified(type_.qualifiers | _QUALIFIERS[kind])
        return type_

    def _int(self, number: int, name: str, size: int) -> Type:
        encoding = self.btf.words(number)[0] >> 24
        if encoding & _BOOL:
            return self._prog.bool_type(name, size)
        return self._prog.int_type(name, size, bool(encoding & _SIGNED))

    def _enum(self, number: int, name: str, size: int, *, signed: bool) -> Type:
        values = [TypeEnumerator(*pair) for pair in self.btf.enumerators(number)]
        if not values:
            return self._prog.enum_type(name or None)
        names = {1: "char", 2: "short", 4: "int", 8: "long"}
        word = names.get(size, "int")
        compatible = self._prog.int_type(word if signed else f"unsigned {word}", size, signed)
        return self._prog.enum_type(name or None, compatible, values)

    def _declared(self, kind: int, name: str) -> Type:
        found = self._complete(kind, name)
        if found is not None:
            return found
        make = self._prog.union_type if kind == Kind.UNION else self._prog.struct_type
        return make(name)

    def _compound(self, number: int, name: str, kind: int, size: int) -> Type:
        members = [
            TypeMember(partial(self._member, member), member.name or None, member.bit_offset)
            for member in self.btf.members(number)
        ]
        make = self._prog.union_type if kind == Kind.UNION else self._prog.struct_type
        return make(name or None, size, members)

    def _member(self, member: Member) -> Object | Type:
        type_ = self.type(member.type)
        if member.bit_size:
            return Object(self._prog, type_, bit_field_size=member.bit_size)
        return type_

    def _prototype(self, number: int, result: int) -> Type:
        words = self.btf.words(number)
        pairs = list(zip(words[0::2], words[1::2], strict=True))
        variadic = bool(pairs) and pairs[-1] == (0, 0)
        parameters = [
            TypeParameter(partial(self.type, type_), self.btf.string(name) or None)
            for name, type_ in (pairs[:-1] if variadic else pairs)
        ]
        return self._prog.function_type(self.type(result), parameters, variadic)
