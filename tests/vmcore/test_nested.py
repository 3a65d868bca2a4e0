"""Walks in walks: each goes on when another breaks, and all together have a bound."""

from collections.abc import Iterator

import pytest

from rdmadiag.vmcore import walk
from rdmadiag.vmcore.collect import ipoib, run, svcrdma, xprtrdma
from rdmadiag.vmcore.helpers.nested import nested
from rdmadiag.vmcore.helpers.rds import for_each_rds_connection
from rdmadiag.vmcore.helpers.sunrpc import for_each_rpc_clnt, rpc_clnt_for_each_task
from rdmadiag.vmcore.walk import WalkError, limited_steps, take_steps

from .rds_kernel import RdsKernel
from .test_collect_ulps_layouts import Nfs, UlpKernel

MANY = 60


def broken_after(*values: int) -> Iterator[int]:
    yield from values
    raise WalkError(f"broken after {values}")


def until_error(found: Iterator[int]) -> tuple[list[int], str]:
    got: list[int] = []
    with pytest.raises(WalkError) as caught:
        for one in found:
            got.append(one)  # noqa: PERF402 - what came before the error is wanted
    return got, str(caught.value)


def test_a_broken_walk_costs_what_is_behind_it_in_it() -> None:
    walks = {1: lambda: iter((10, 11)), 2: lambda: broken_after(20), 3: lambda: iter((30,))}
    got, error = until_error(nested(walks, lambda one: walks[one]()))
    assert (got, error) == ([10, 11, 20, 30], "broken after (20,)")


def test_a_broken_outer_walk_is_told_after_what_it_gave() -> None:
    got, error = until_error(nested(broken_after(1, 2), lambda one: iter((10 * one,))))
    assert (got, error) == ([10, 20], "broken after (1, 2)")


def test_the_first_of_several_errors_is_raised() -> None:
    got, error = until_error(nested((1, 2), broken_after))
    assert (got, error) == ([1, 2], "broken after (1,)")


def test_chains_behind_a_broken_one_are_walked() -> None:
    kernel = RdsKernel("rds_uek5")
    ends = {"laddr": "10.0.0.1", "faddr": "10.0.0.2", "state": 3}
    first, second = (kernel.connection(**ends, tos=tos) for tos in (1, 2))
    kernel.set(first.c_hash_node.next, first.c_hash_node)
    got = []
    with pytest.raises(WalkError, match="circle"):
        for conn in for_each_rds_connection(kernel.prog):
            got.append(conn.value_())  # noqa: PERF401
    assert got == [first.address_, second.address_]


def hostile_rpc() -> Nfs:
    """Many clients, each with the same endless list of calls."""
    kernel = Nfs()
    sunrpc = kernel.at(kernel.prog.type("struct sunrpc_net"), kernel.net.gen.ptr[1].value_())
    clients = [
        kernel.new("struct rpc_clnt", cl_program=kernel.clnt.cl_program) for _ in range(MANY)
    ]
    kernel.list_init(sunrpc.all_clients, *(clnt.cl_clients for clnt in clients))
    calls = [kernel.new("struct rpc_task") for _ in range(MANY)]
    ring = calls[0].tk_task
    kernel.list_init(ring, *(call.tk_task for call in calls[1:]))
    for clnt in clients:
        kernel.set(clnt.cl_xprt, kernel.xprt)
        kernel.set(clnt.cl_tasks.next, ring)
    return kernel


def test_walks_in_walks_take_no_more_steps_than_they_are_allowed() -> None:
    prog = hostile_rpc().prog
    calls = 0
    with limited_steps(prog, 10 * MANY):
        with pytest.raises(WalkError, match="circle"):
            for _ in nested(for_each_rpc_clnt(prog), rpc_clnt_for_each_task):
                calls += 1
        assert walk.is_out_of_steps(prog)
    assert MANY < calls < 10 * MANY


def test_steps_are_not_counted_outside_of_a_block() -> None:
    prog = hostile_rpc().prog
    with limited_steps(prog, 1):
        take_steps(prog)
        with pytest.raises(WalkError):
            take_steps(prog)
    with pytest.raises(WalkError, match="circle"):
        list(nested(for_each_rpc_clnt(prog), rpc_clnt_for_each_task))


def hostile_ipoib() -> UlpKernel:
    """Many interfaces, each with the same endless list of children."""
    kernel = UlpKernel()
    head = kernel.new("struct list_head")
    kernel.client("ipoib_client", head)
    parents, children = (
        [kernel.new("struct ipoib_dev_priv") for _ in range(MANY)] for _ in range(2)
    )
    kernel.list_init(head, *(one.list for one in parents))
    ring = children[0].list
    kernel.list_init(ring, *(one.list for one in children[1:]))
    for one in parents:
        kernel.set(one.child_intfs.next, ring)
    return kernel


def hostile_nfsd() -> UlpKernel:
    """One server in many namespaces, whose transports run in a circle."""
    kernel = UlpKernel()
    nfsd, serv = (
        kernel.per_net("nfsd_net_id", "struct nfsd_net", 1),
        kernel.new("struct svc_serv"),
    )
    kernel.set(nfsd.nfsd_serv, serv)
    nets = [kernel.new("struct net", gen=kernel.net.gen) for _ in range(MANY)]
    kernel.list_init(kernel.prog["net_namespace_list"], *(net.list for net in nets))
    kind = kernel.new("struct svc_xprt_class", xcl_name=kernel.text("rdma"))
    xprts = [kernel.new("struct svcxprt_rdma") for _ in range(MANY)]
    for one in xprts:
        kernel.set(one.sc_xprt.xpt_class, kind)
    ring = xprts[0].sc_xprt.xpt_list
    kernel.list_init(ring, *(one.sc_xprt.xpt_list for one in xprts[1:]))
    kernel.list_init(serv.sv_permsocks)
    kernel.set(serv.sv_tempsocks.next, ring)
    return kernel


@pytest.mark.parametrize(
    ("kernel", "modules", "collector"),
    [
        (hostile_rpc, ("sunrpc", "rpcrdma", "rdma_cm"), xprtrdma),
        (hostile_ipoib, ("ib_ipoib",), ipoib),
        (hostile_nfsd, ("nfsd", "rpcrdma"), svcrdma),
    ],
)
def test_a_collector_ends_and_says_so(kernel, modules, collector, monkeypatch) -> None:
    view = kernel().view(*modules)
    following, taken = walk._next, 0

    def counted(prog, place):
        nonlocal taken
        found = following(prog, place)
        taken += 1
        return found

    monkeypatch.setattr(walk, "_next", counted)
    monkeypatch.setattr("rdmadiag.vmcore.collect.view._FACT_STEPS", 1)
    allowed = 20 * MANY
    monkeypatch.setattr(run, "MAX_STEPS", allowed)
    found = run._run(view, collector)
    assert 2 * MANY < taken <= allowed
    assert found.coverage[0].status in ("partial", "failed")
    assert found.coverage[0].reason.startswith(walk.OUT_OF_STEPS)


def test_facts_have_a_bound_too(monkeypatch) -> None:
    view = hostile_ipoib().view("ib_ipoib")
    monkeypatch.setattr(run, "MAX_STEPS", 20 * MANY)
    found = run._run(view, ipoib)
    assert 0 < len(found.facts) < MANY
    assert found.coverage[0].reason.startswith(walk.OUT_OF_STEPS)
