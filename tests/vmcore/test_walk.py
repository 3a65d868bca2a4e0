import drgn
import pytest
from drgn import Object, TypeMember
from drgn.helpers.linux.idr import idr_for_each

from rdmadiag.vmcore.walk import (
    WalkError,
    hlist_entries,
    list_entries,
    rbtree_entries,
    xarray_entries,
)

from .samples import fresh, overlay, shared, word
from .test_printk import BASE, PLATFORM


def names(dump):
    return [
        wq.name.string_()
        for wq in list_entries("struct workqueue_struct", dump.prog["workqueues"], "list")
    ]


def test_list():
    dump = shared("rds-stuck-recv")
    assert names(dump)[:2] == [b"events", b"events_highpri"]
    assert b"krdsd" in names(dump)
    head = dump.prog["workqueues"].address_of_()
    by_pointer = list_entries("struct workqueue_struct", head, "list")
    assert [one.name.string_() for one in by_pointer] == names(dump)


def until_error(walk):
    """Return the addresses that a walk yields before its error, and the error."""
    got = []

    def collect():
        got.extend(one.value_() for one in walk)

    with pytest.raises(WalkError) as caught:
        collect()
    return got, caught.value


def broken(dump, after, following):
    """Walk the list of workqueues with one ``next`` changed; return what was yielded and the error."""
    entries = list(list_entries("struct workqueue_struct", dump.prog["workqueues"], "list"))
    overlay(dump, entries[after].list.next.address_, word(following(entries)))
    got, error = until_error(
        list_entries("struct workqueue_struct", dump.prog["workqueues"], "list")
    )
    return [one.value_() for one in entries], got, error


def test_list_that_runs_in_a_circle_yields_what_there_is():
    dump = fresh("rds-stuck-recv")
    entries, got, error = broken(dump, 3, lambda entries: entries[1].list.address_of_().value_())
    assert got == entries[:4]
    assert error.problem.what == "the list runs in a circle after 4 entries"


def test_list_whose_node_points_to_itself():
    dump = fresh("rds-stuck-recv")
    entries, got, error = broken(dump, 0, lambda entries: entries[0].list.address_of_().value_())
    assert got == entries[:1]
    assert "circle" in error.problem.what


def test_list_that_ends_in_null():
    dump = fresh("rds-stuck-recv")
    entries, got, error = broken(dump, 2, lambda _: 0)
    assert got == entries[:3]
    assert error.problem.what == "the list ends in NULL after 3 entries"


def test_list_that_leads_into_poison():
    dump = fresh("rds-stuck-recv")
    entries, got, error = broken(dump, 2, lambda _: 0xDEAD000000000100)
    assert got == entries[:3]
    assert error.problem.where == "0xdead000000000100"
    assert error.problem.what == "a node is not in the dump"


def test_list_has_a_bound():
    dump = shared("rds-stuck-recv")
    head = dump.prog["workqueues"]
    got, error = until_error(list_entries("struct workqueue_struct", head, "list", limit=5))
    assert len(got) == 5
    assert error.problem.what == "the list has more than 5 entries"


def test_hlist():
    dump = shared("rds-stuck-recv")
    found = [
        conn.value_()
        for head in dump.prog["rds_conn_hash"]
        for conn in hlist_entries("struct rds_connection", head, "c_hash_node")
    ]
    assert found == [0xFFFF8DC202FF7A10]


def test_hlist_whose_node_points_to_itself():
    dump = fresh("rds-stuck-recv")
    conn = 0xFFFF8DC202FF7A10
    prog = dump.prog
    [head] = [head for head in prog["rds_conn_hash"] if head.first]
    overlay(dump, head.first.value_(), word(head.first.value_()))
    got, error = until_error(hlist_entries("struct rds_connection", head, "c_hash_node"))
    assert got == [conn]
    assert error.problem.what == "the list runs in a circle after 1 entries"


def test_xarray():
    dump = shared("rds-stuck-recv")
    found = list(xarray_entries("struct ib_device *", dump.prog["devices"].address_of_()))
    assert [(index, device.name.string_()) for index, device in found] == [(0, b"rxe0")]
    with pytest.raises(WalkError, match="more than 0 entries"):
        list(xarray_entries("struct ib_device *", dump.prog["devices"].address_of_(), limit=0))


def pools(dump):
    return xarray_entries("struct worker_pool *", dump.prog["worker_pool_idr"].idr_rt.address_of_())


def test_xarray_with_nodes():
    dump = shared("iwcm-connect-wait")
    found = [(index, pool.value_()) for index, pool in pools(dump)]
    truth = idr_for_each(dump.prog["worker_pool_idr"].address_of_())
    assert found == [(index, pool.value_()) for index, pool in truth]
    assert [index for index, _ in found] == list(range(len(found)))
    assert len(found) > 8


def test_xarray_whose_node_holds_itself():
    dump = fresh("iwcm-connect-wait")
    node = dump.prog["worker_pool_idr"].idr_rt.xa_head.value_()
    slots = Object(dump.prog, "struct xa_node", address=node - 2).slots
    overlay(dump, slots[1].address_, word(node))
    got = []

    def collect():
        got.extend(index for index, _ in pools(dump))

    with pytest.raises(WalkError, match="no end after 2 nodes"):
        collect()
    assert got == [0]


def test_xarray_that_leads_into_nothing():
    dump = fresh("iwcm-connect-wait")
    head = dump.prog["worker_pool_idr"].idr_rt.xa_head
    overlay(dump, head.address_, word(0xDEAD000000000102))
    with pytest.raises(WalkError, match="a node is not in the dump"):
        list(pools(dump))


class Tree:
    """An rb tree of nodes at multiples of 32 from BASE, by (left, right) numbers from 1."""

    def __init__(self, nodes, root=1):
        self.prog = drgn.Program(PLATFORM)
        raw = bytearray(8192)
        for number, children in nodes.items():
            at = 32 * number
            left, right = (BASE + 32 * child if child else 0 for child in children)
            raw[at : at + 24] = word(1) + word(right) + word(left)
        raw[:8] = word(BASE + 32 * root if root else 0)
        self.prog.add_memory_segment(
            BASE,
            len(raw),
            lambda _address, count, offset, _physical: bytes(raw[offset : offset + count]),
        )
        long = self.prog.int_type("unsigned long", 8, False)
        pointer = self.prog.pointer_type(self.prog.void_type())
        names = ("rb_right", "rb_left")
        members = [
            TypeMember(long, "__rb_parent_color"),
            *(TypeMember(pointer, name, 64 * (i + 1)) for i, name in enumerate(names)),
        ]
        self.node = self.prog.struct_type("rb_node", 24, members)
        self.prog.register_type_finder(
            "test",
            lambda prog, kinds, name, filename: self.node if name == "rb_node" else None,
            enable_index=0,
        )
        self.holder = self.prog.struct_type("holder", 32, [TypeMember(self.node, "node", 64)])
        self.root = Object(self.prog, self.prog.pointer_type(self.prog.void_type()), BASE)

    def numbers(self, **options):
        for one in rbtree_entries(self.holder, self.root, "node", **options):
            yield (one.value_() + 8 - BASE) // 32


def test_rbtree_is_walked_in_order():
    tree = Tree({1: (2, 3), 2: (4, 5), 3: (0, 6), 4: (0, 0), 5: (0, 0), 6: (0, 0)})
    assert list(tree.numbers()) == [4, 2, 5, 1, 3, 6]
    assert list(Tree({}, root=0).numbers()) == []


@pytest.mark.parametrize("nodes", [{1: (1, 0)}, {1: (2, 0), 2: (0, 1)}, {1: (0, 2), 2: (0, 1)}])
def test_rbtree_with_a_cycle(nodes):
    with pytest.raises(WalkError, match="the tree has no end"):
        list(Tree(nodes).numbers())


def test_rbtree_has_a_bound():
    with pytest.raises(WalkError, match="no end after 2 entries"):
        list(Tree({1: (2, 3), 2: (0, 0), 3: (0, 0)}).numbers(limit=2))
