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

Each walk ends, but a walk in a walk may take the product of both bounds. So whoever reads a dump gives its
program an allowance of steps (:func:`limited_steps`) that all its walks use up together.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager

from drgn import FaultError, Object, Program, Type, TypeKind, offsetof

from rdmadiag.facts.model import Problem

__all__ = (
    "MAX_NODES",
    "MAX_STEPS",
    "OUT_OF_STEPS",
    "Allowance",
    "WalkError",
    "hlist_entries",
    "is_out_of_steps",
    "limited_steps",
    "list_entries",
    "rbtree_entries",
    "take_steps",
    "xarray_entries",
)

MAX_NODES = 65_536
MAX_STEPS = 1 << 22
"""Steps that a collector may take: it could visit as many tasks as there can be (``PID_MAX_LIMIT``) once."""
OUT_OF_STEPS = "the search was given up: what leads from one to the next has no end"
_STEPS = "rdmadiag: steps"
_ADDRESS_BITS, _ADDRESS_MASK = 64, (1 << 64) - 1
_INTERNAL, _LAST_SPECIAL = 2, 4096


class WalkError(Exception):
    """
    A structure is corrupt, or longer than the bound, or a part of it cannot be read.

    :ivar problem: What is wrong, and where.
    """

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(f"{what} ({where})" if where else what)
        self.problem = Problem(what, where)


class Allowance:
    """
    What several readers may use up together.

    :param count: How much that is.
    :param what: What is said once it is used up.
    :ivar is_used_up: Whether somebody wanted more than there was left.
    """

    def __init__(self, count: int, what: str) -> None:
        self.is_used_up = False
        self._left, self._what = count, what

    def take(self, count: int) -> None:
        """
        Use up a part of it.

        :raises WalkError: if there is not so much left; then nothing is any more
        """
        self._left -= count
        if self._left < 0:
            self._left, self.is_used_up = 0, True
            raise WalkError(self._what)


@contextmanager
def limited_steps(prog: Program, count: int) -> Iterator[None]:
    """Let all walks of a program in a block take *count* steps together; elsewhere there is no such limit."""
    prog.cache[_STEPS] = Allowance(count, OUT_OF_STEPS)
    try:
        yield
    finally:
        del prog.cache[_STEPS]


def take_steps(prog: Program, count: int = 1) -> None:
    """
    Use up some of a program's steps: one for a node, or for what takes about as long as reading one.

    :raises WalkError: if there are not so many left
    """
    if allowance := prog.cache.get(_STEPS):
        allowance.take(count)


def is_out_of_steps(prog: Program) -> bool:
    """Return whether a program's steps are used up, so that something was not read."""
    allowance = prog.cache.get(_STEPS)
    return allowance is not None and allowance.is_used_up


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
    take_steps(prog)
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
    :param member: Name of the ``struct rb_node`` in an entry.
    :return: Iterator of ``type_ *``
    :raises WalkError: if the tree is none
    """
    prog = root.prog_
    entry = prog.type(type_) if isinstance(type_, str) else type_
    pointer, offset = prog.pointer_type(entry), offsetof(entry, member)
    node = prog.type("struct rb_node")
    left, right = offsetof(node, "rb_left"), offsetof(node, "rb_right")
    place, waiting, seen = _next(prog, _address(root)), list[int](), set[int]()
    while place or waiting:
        while place:
            if place in seen or len(seen) >= limit:
                raise WalkError(f"the tree has no end after {len(seen)} entries", f"{place:#x}")
            seen.add(place)
            waiting.append(place)
            place = _next(prog, place + left)
        parent = waiting.pop()
        yield Object(prog, pointer, (parent - offset) & _ADDRESS_MASK)
        place = _next(prog, parent + right)


def xarray_entries(
    type_: str | Type, array: Object, *, limit: int = MAX_NODES
) -> Iterator[tuple[int, Object]]:
    """
    Iterate over the indices and entries of a ``struct xarray``.

    :param type_: Type of the entries, a pointer.
    :param array: ``struct xarray *``
    :return: Iterator of (index, ``type_``)
    :raises WalkError: if its nodes do not get smaller, or there are too many
    """
    prog = array.prog_
    entry = prog.type(type_) if isinstance(type_, str) else type_
    head = _next(prog, _address(array) + offsetof(prog.type("struct xarray"), "xa_head"))
    for count, (index, value) in enumerate(_slots(prog, head, limit)):
        if count >= limit:
            raise WalkError(f"the xarray has more than {limit} entries", f"{value:#x}")
        yield index, Object(prog, entry, value)


def _slots(prog: Program, head: int, limit: int) -> Iterator[tuple[int, int]]:
    """
    Iterate over indices and entries, depth first.

    Of ``include/linux/xarray.h``: an entry that ends in binary 10 is internal; above 4096 it is a
    ``struct xa_node``, whose shift is smaller than that of its parent.
    """
    node = prog.type("struct xa_node")
    shift_at, slots_at = offsetof(node, "shift"), offsetof(node, "slots")
    length = node.member("slots").type.length or 0
    waiting, nodes = [(0, head, _ADDRESS_BITS)], 0
    while waiting:
        index, value, above = waiting.pop()
        if value & 3 != _INTERNAL:
            if value:
                yield index, value
            continue
        if value <= _LAST_SPECIAL:
            continue
        place, nodes = value - _INTERNAL, nodes + 1
        shift, slots = _xa_node(prog, place, shift_at, slots_at, length)
        if shift >= above or nodes > limit:
            raise WalkError(f"the xarray has no end after {nodes} nodes", f"{place:#x}")
        children = ((index + (i << shift), child, shift) for i, child in enumerate(slots))
        waiting += reversed([child for child in children if child[1]])


def _xa_node(
    prog: Program, place: int, shift_at: int, slots_at: int, length: int
) -> tuple[int, tuple[int, ...]]:
    take_steps(prog, length)
    try:
        shift = prog.read_u8(place + shift_at)
        raw = prog.read(place + slots_at, 8 * length)
    except FaultError as error:
        raise WalkError("a node is not in the dump", f"{place:#x}") from error
    return shift, struct.unpack(f"<{length}Q", raw)
