"""
BTF of modules
--------------

``btf_modules`` of ``kernel/bpf/btf.c`` has the BTF of every module as the kernel parsed it. A module's own
``btf_data`` is no way to it: the pointer is stale once the module is loaded.
"""

from collections.abc import Iterator

from drgn import FaultError, Object, Program, offsetof

from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.btf import Btf, BtfError
from rdmadiag.vmcore.modules import MAX_MODULES

__all__ = ("module_btfs",)

MAX_SIZE = 64 << 20


def module_btfs(prog: Program, base: Btf) -> Iterator[tuple[Btf | None, Problem | None]]:
    """
    Iterate over the BTF of all modules, each with what went wrong with it.

    :param base: The kernel's own BTF, on which they build.
    """
    try:
        head, type_ = prog["btf_modules"], prog.type("struct btf_module")
    except LookupError:
        yield (
            None,
            Problem("this kernel keeps no BTF of modules (CONFIG_DEBUG_INFO_BTF_MODULES)", ""),
        )
        return
    offset, end, seen = offsetof(type_, "list"), head.address_of_().value_(), set[int]()
    try:
        place = head.next.value_()
        while place != end:
            if place in seen or len(seen) >= MAX_MODULES:
                yield None, Problem("the list of module BTF runs in a circle", f"{place:#x}")
                return
            seen.add(place)
            yield _read(Object(prog, type_, address=place - offset), base)
            place = prog.read_u64(place)
    except FaultError as error:
        yield (
            None,
            Problem(f"the list of module BTF breaks off after {len(seen)}: {error}", "btf_modules"),
        )


def _read(entry: Object, base: Btf) -> tuple[Btf | None, Problem | None]:
    """Read one ``struct btf_module``."""
    name = "?"
    try:
        btf = entry.btf
        name = btf.name.string_().decode("ascii", "backslashreplace")
        size = btf.data_size.value_()
        if size > MAX_SIZE:
            return None, Problem(
                f"the BTF of module {name} says it has {size} bytes", f"{btf.value_():#x}"
            )
        return Btf(entry.prog_.read(btf.data.value_(), size), base, name), None
    except (FaultError, BtfError) as error:
        return None, Problem(
            f"the BTF of module {name} cannot be read: {error}", f"{entry.address_:#x}"
        )
