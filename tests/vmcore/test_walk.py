import pytest

from rdmadiag.vmcore.walk import (
    WalkError,
    hlist_entries,
    list_entries,
    rbtree_entries,
    xarray_entries,
)

from .samples import fresh, overlay, shared, word


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


def test_rbtree():
    dump = shared("rds-stuck-recv")
    root = dump.prog["init_task"].se.cfs_rq.tasks_timeline.rb_root.address_of_()
    assert [one.value_() for one in rbtree_entries("struct sched_entity", root, "run_node")] == []
