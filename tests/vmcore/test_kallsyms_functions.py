"""A kernel without CONFIG_KALLSYMS_ALL, made of a sample by leaving out all that is no function."""

from collections.abc import Iterator

import pytest
from drgn.helpers.linux.pid import find_task

from rdmadiag.vmcore.kallsyms import Kallsyms
from rdmadiag.vmcore.symbols import Symbol
from tests.vmcore.samples import fresh


@pytest.fixture
def _functions_only(monkeypatch):
    every = Kallsyms.symbols_named

    def named(self: Kallsyms, name: str) -> Iterator[Symbol]:
        return (symbol for symbol in every(self, name) if symbol.type in "tTwW")

    monkeypatch.setattr(Kallsyms, "symbols_named", named)


@pytest.mark.usefixtures("_functions_only")
def test_why_there_are_no_types_is_said():
    dump = fresh("rds-stuck-recv")
    assert dump.types == "none"
    (problem,) = (one for one in dump.problems if "CONFIG_KALLSYMS_ALL" in one.what)
    assert problem.where.startswith("build id ")
    assert dump.symbol("schedule")
    assert len(dump.dmesg()) == 396


def test_drgn_that_stops_below_the_stacks_top_is_said(monkeypatch):
    dump = fresh("rds-stuck-recv")
    monkeypatch.setattr(dump._stacks, "_use_drgn", True)
    monkeypatch.setitem(dump._stacks.__dict__, "_unwinder", None)
    stack = dump.stack(find_task(dump.prog, 9))
    assert stack.problem == "the stack is cut short: drgn's unwinder goes no further"
