"""
Walks
-----

Iteration over the kernel's linked structures that always ends: bounded, and checked for cycles. In a dump
of a broken kernel a list may run in a circle or through freed memory.

Every walk yields what it can; where it has to stop early it raises :class:`WalkError` *after* that, so a
caller keeps what was read::

    rows = []
    try:
        for conn in list_entries("struct rds_ib_connection", head, "ib_node"):
            rows.append(conn)
    except WalkError as error:
        problems.append(error.problem)
"""

from collections.abc import Iterator

from drgn import FaultError, Object, Program, Type, TypeKind, cast, container_of, offsetof
from drgn.helpers.linux.rbtree import rb_first, rb_next
from drgn.helpers.linux.xarray import xa_for_each

from rdmadiag.facts.model import Problem

__all__ = (
    "MAX_NODES",
    "WalkError",
    "hlist_entries",
    "list_entries",
    "rbtree_entries",
    "xarray_entries",
)

MAX_NODES = 65_536
_ADDRESS_MASK = (1 << 64) - 1


class WalkError(Exception):
    """
    A structure is corrupt, or longer than the bound, or a part of it cannot be read.

    :ivar problem: What is wrong, and where.
    """

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(f"{what} ({where})" if where else what)
        self.problem = Problem(what, where)


def list_entries(
    type_: str | Type, head: Object, member: str, *, limit: int = MAX_NODES
) -> Iterator[Object]:
    """
    Iterate over the entries of a ``struct list_head``.

    :param type_: Type of the entries.
    :param head: ``struct list_head *`` (or the ``struct list_head`` itself)
    :param member: Name of the ``struct list_head`` in an entry.
    :return: Iterator of ``type_ *``
    :raises WalkError: if the list does not come back to its head
    """
    prog, first = head.prog_, _address(head)
    yield from _entries(prog, type_, member, _next(prog, first), first, limit)


def hlist_entries(
    type_: str | Type, head: Object, member: str, *, limit: int = MAX_NODES
) -> Iterator[Object]:
    """
    Iterate over the entries of a ``struct hlist_head``.

    :param type_: Type of the entries.
    :param head: ``struct hlist_head *`` (or the ``struct hlist_head`` itself)
    :param member: Name of the ``struct hlist_node`` in an entry.
    :return: Iterator of ``type_ *``
    :raises WalkError: if the list does not end
    """
    prog = head.prog_
    yield from _entries(prog, type_, member, _next(prog, _address(head)), 0, limit)


def _address(head: Object) -> int:
    try:
        pointer = head.type_.unaliased_kind() == TypeKind.POINTER
        place: int = head.value_() if pointer else head.address_ or 0
    except FaultError as error:
        raise WalkError("the head is not in the dump") from error
    return place


def _next(prog: Program, place: int) -> int:
    """Read the pointer to the next node: the first member of every kind of node."""
    try:
        following: int = prog.read_word(place)
    except FaultError as error:
        raise WalkError("a node is not in the dump", f"{place:#x}") from error
    return following


def _entries(
    prog: Program, type_: str | Type, member: str, place: int, end: int, limit: int
) -> Iterator[Object]:
    entry = prog.type(type_) if isinstance(type_, str) else type_
    pointer, offset, seen = prog.pointer_type(entry), offsetof(entry, member), set[int]()
    while place != end:
        if place in seen:
            raise WalkError(f"the list runs in a circle after {len(seen)} entries", f"{place:#x}")
        if len(seen) >= limit:
            raise WalkError(f"the list has more than {limit} entries", f"{place:#x}")
        if not place:
            raise WalkError(f"the list ends in NULL after {len(seen)} entries", "0x0")
        following = _next(prog, place)
        seen.add(place)
        yield Object(prog, pointer, (place - offset) & _ADDRESS_MASK)
        place = following


def rbtree_entries(
    type_: str | Type, root: Object, member: str, *, limit: int = MAX_NODES
) -> Iterator[Object]:
    """
    Iterate over the entries of a ``struct rb_root``, in order.

    :param root: ``struct rb_root *``
    :return: Iterator of ``type_ *``
    :raises WalkError: if the tree does not end
    """
    seen = set[int]()
    try:
        node = rb_first(root)
        while node:
            place = node.value_()
            if place in seen or len(seen) >= limit:
                raise WalkError(f"the tree does not end after {len(seen)} entries", f"{place:#x}")
            seen.add(place)
            yield container_of(node, type_, member)
            node = rb_next(node)
    except FaultError as error:
        raise WalkError("a node is not in the dump") from error


def xarray_entries(
    type_: str | Type, array: Object, *, limit: int = MAX_NODES
) -> Iterator[tuple[int, Object]]:
    """
    Iterate over the indices and entries of a ``struct xarray``.

    :param array: ``struct xarray *``
    :return: Iterator of (index, ``type_``)
    :raises WalkError: if it does not end
    """
    count = 0
    try:
        for index, entry in xa_for_each(array):
            if count >= limit:
                raise WalkError(f"the xarray has more than {limit} entries", f"{array.value_():#x}")
            count += 1
            yield index, cast(type_, entry)
    except FaultError as error:
        raise WalkError("an entry is not in the dump") from error
