"""What is built into the kernel is there, though no module has its name."""

from types import SimpleNamespace

import pytest
from drgn import FaultError, FindObjectFlags

from rdmadiag.vmcore.collect import iser, srp, xprtrdma
from rdmadiag.vmcore.collect.rds import collect as collect_rds
from rdmadiag.vmcore.collect.view import View
from rdmadiag.vmcore.finders import Finders
from rdmadiag.vmcore.globals import GLOBALS
from rdmadiag.vmcore.presence import built_in, presence
from rdmadiag.vmcore.symbols import Symbol, SymbolTable

from .fake_kernel import FakeKernel, fake_dump
from .rds_kernel import RdsKernel

FLAGS = FindObjectFlags.VARIABLE


class Table:
    """A kernel's own symbol table of a few names."""

    def __init__(self, *names, damaged=False):
        self.symbols = [Symbol(name, 0x1000 * i, 16) for i, name in enumerate(names, 1)]
        self.damaged = damaged

    def symbols_named(self, name):
        if self.damaged:
            raise FaultError("not there", 0x1000)
        yield from (one for one in self.symbols if one.name == name)


def symbols(table, *modules, complete=True):
    made = SymbolTable(table, [])
    loaded = {
        name: SimpleNamespace(name=name, symbols_named=lambda _: iter(())) for name in modules
    }

    class Modules(list):
        named = staticmethod(loaded.get)

    made.modules = Modules(loaded.values())
    made.modules.complete = complete
    return made


@pytest.mark.parametrize(
    ("table", "complete", "expected"),
    [
        (Table("srp_queuecommand"), True, "built-in"),
        (Table("srp_queuecommand"), False, "built-in"),
        (Table("schedule"), True, "absent"),
        (Table("schedule"), False, "unknown"),
        (Table("srp_queuecommand", damaged=True), True, "unknown"),
        (None, True, "unknown"),
    ],
)
def test_presence(table, complete, expected):
    assert presence(symbols(table, "ib_core", complete=complete), "ib_srp") == expected


def test_a_module_that_is_loaded():
    assert presence(symbols(Table(), "ib_srp"), "ib_srp") == "loaded"


def test_built_in_names_rdma_only():
    table = Table("nvme_init_ctrl", "rds_conn_create", "rds_ib_conn_alloc", "nfsd_dispatch")
    assert built_in(symbols(table)) == ["rds", "rds_rdma"]


def test_each_variable_is_of_a_module_that_is_known():
    table = symbols(Table())
    assert {presence(table, one.module) for one in GLOBALS if one.module} == {"absent"}


def variable(*names):
    """Return where the variable ``devices`` of ib_core is found in a kernel proper with these symbols."""
    kernel = FakeKernel("struct xarray { long head; };")
    finders = Finders(kernel.prog, SimpleNamespace(all=lambda _: iter(())), symbols(Table(*names)))
    found = finders.find_object(kernel.prog, "devices", FLAGS, None)
    return None if found is None else found.address_


def test_a_variable_of_what_is_built_in_is_found():
    assert variable("ib_register_device", "devices") == 0x2000


def test_a_variable_that_others_have_too_is_not_guessed():
    assert variable("ib_register_device", "devices", "devices") is None


def test_a_variable_of_what_is_absent_is_not_that_of_another():
    assert variable("devices") is None


@pytest.mark.parametrize(
    ("collect", "function", "module"),
    [
        (srp.collect, "srp_queuecommand", "ib_srp"),
        (xprtrdma.collect, "xprt_rdma_send_request", "rpcrdma"),
        (iser.collect, "iscsi_iser_session_create", "ib_iser"),
    ],
)
def test_what_is_built_in_is_not_called_absent(collect, function, module):
    kernel = FakeKernel()
    for name in (function, "rpc_run_task"):
        kernel.function(name)
    kernel.variable("sunrpc_net_id", "unsigned int")
    kernel._blocks["struct rpc_xprt"] = "int state;"
    (coverage,) = collect(View(fake_dump(kernel, "ib_core"), "dump")).coverage
    assert coverage.status == "failed"
    assert coverage.reason.startswith(f"{module} is built into the kernel: ")


def test_a_kernel_without_readable_symbols_says_nothing_absent():
    dump = fake_dump(FakeKernel(), "ib_core")
    dump.symbols.is_whole = False
    (coverage,) = srp.collect(View(dump, "dump")).coverage
    assert coverage.status == "failed"
    assert coverage.reason.endswith("it cannot be told whether ib_srp is built in")


ENDS = {"laddr": "10.0.0.1", "faddr": "10.0.0.2"}


def test_rds_that_is_built_in_is_read():
    kernel = RdsKernel("rds_uek5")
    kernel.connection(**ENDS, tos=1, state=3)
    kernel.function("rds_ib_conn_alloc")
    dump = fake_dump(kernel)
    collected = collect_rds(View(dump, "dump"))
    assert [fact.fields["laddr"] for fact in collected.facts] == ["10.0.0.1"]
    assert collected.coverage[0].status == "complete"
