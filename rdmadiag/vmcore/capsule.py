"""
Capsules
--------

A capsule is a very small dump cut out of a big one: the pages that a diagnosis reads, and the kernel's variables
and symbols, in a format that drgn, crash (with ``--minimal``) and :func:`~rdmadiag.vmcore.dump.open_dump` open like any dump.
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from drgn import FaultError, Program

from rdmadiag.errors import UserError
from rdmadiag.facts.model import Problem
from rdmadiag.vmcore.corefile import CoreFile, pack_origin
from rdmadiag.vmcore.dump import Dump, open_dump
from rdmadiag.vmcore.kallsyms import tables_of_vmcoreinfo
from rdmadiag.vmcore.kallsyms_search import search_tables, told_tables
from rdmadiag.vmcore.kdump_writer import PAGE, KdumpContents, write_kdump
from rdmadiag.vmcore.keep import read_for_later
from rdmadiag.vmcore.notes import NT_PRSTATUS, pack_note
from rdmadiag.vmcore.opening import open_program
from rdmadiag.vmcore.page_tables import kernel_page_tables
from rdmadiag.vmcore.physical import by_pages
from rdmadiag.vmcore.split import read_dump_files
from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

__all__ = ("Extracted", "extract")


class Extracted(msgspec.Struct, frozen=True):
    """What was written: pages of the machine, and bytes of the file."""

    pages: int
    bytes: int


class _Recorder(msgspec.Struct):
    """Physical memory of a dump that notes the pages that are read."""

    source: Program
    pages: dict[int, bytes] = {}

    def read(self, address: int, count: int, _offset: int, _physical: bool) -> bytes:
        first, last = address // PAGE, (address + count - 1) // PAGE
        parts = [self.page(pfn) for pfn in range(first, last + 1)]
        start = address % PAGE
        return (parts[0] if first == last else b"".join(parts))[start : start + count]

    def page(self, pfn: int) -> bytes:
        if pfn not in self.pages:
            self.pages[pfn] = self.source.read(pfn * PAGE, PAGE, True)
        return self.pages[pfn]


def extract(
    path: str | Path, out: Path, run: Callable[[Dump], object], debuginfo: Sequence[Path] = ()
) -> Extracted:
    """
    Cut a capsule out of a dump.

    :param out: File to write; it appears when it is complete and was seen to read as the dump does.
    :param run: Reads from the dump what the capsule is to hold: the diagnosis. It is run on the capsule
        as well, to check it.
    :param debuginfo: As for :func:`~rdmadiag.vmcore.dump.open_dump`; it is not in the capsule.
    :raises UserError: if the dump cannot be read, or *out* is the dump itself or cannot be written
    """
    core = read_dump_files(path)
    _refuse(core, out)
    recorder = _Recorder(open_program(core))
    _tell_tables(core, recorder.source)
    linear = recorder.source.core_dump_path is None
    dump = Dump(core, by_pages(core, recorder.read, linear=linear), debuginfo)
    run(dump)
    problems = list(dump.problems)
    read_for_later(dump)
    # libkdumpfile looks at page tables that drgn's own walk did not need.
    recorder.pages.update(kernel_page_tables(recorder.source, dump.info))
    try:
        contents = _contents(dump, recorder.pages, by_pages=linear)
        return _write(out, contents, lambda part: _check(part, problems, run, debuginfo))
    except OSError as error:
        raise UserError(f"{out}: {error.strerror}") from error


def _refuse(core: CoreFile, out: Path) -> None:
    """Raise UserError if the capsule cannot be had, or would replace the dump."""
    if core.kind == "live":
        raise UserError(f"{core.path}: a capsule is cut out of a dump, not of the running system")
    if out.exists() and any(out.samefile(part.path) for part in core.parts or (core,)):
        raise UserError(f"{out}: is the dump itself")


def _tell_tables(core: CoreFile, source: Program) -> None:
    """Note in VMCOREINFO where the symbol table is if the kernel does not tell: a capsule has no image to search."""
    info = VmcoreInfo(core.vmcoreinfo)
    tables = None if tables_of_vmcoreinfo(info) else search_tables(source.read, info)
    if tables:
        text = core.vmcoreinfo.rstrip(b"\0") + b"\n" + told_tables(tables)
        core.notes = pack_note(b"VMCOREINFO", 0, text) + core.notes


def _write(out: Path, contents: KdumpContents, check: Callable[[Path], None]) -> Extracted:
    """Write the file under another name first: it is whole and right, or not there."""
    handle, name = tempfile.mkstemp(prefix=f".{out.name}.", dir=out.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            write_kdump(file, contents)
        check(part)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    return Extracted(len(contents.pages), out.stat().st_size)


def _check(
    part: Path,
    problems: list[Problem],
    run: Callable[[Dump], object],
    debuginfo: Sequence[Path],
) -> None:
    """
    Run the diagnosis again, on the capsule.

    :raises UserError: if a page that it needs is missing
    """
    again = open_dump(part, debuginfo)
    try:
        run(again)
    except (FaultError, LookupError) as error:
        raise UserError(f"the capsule does not read as the dump does: {error}") from error
    if again.problems != problems:
        raise UserError("the capsule does not read as the dump does")


def _contents(dump: Dump, pages: dict[int, bytes], *, by_pages: bool) -> KdumpContents:
    core = dump.core
    cpus = b"".join(pack_note(b"CORE", NT_PRSTATUS, status) for status in core.prstatus)
    return KdumpContents(
        utsname=dump.utsname or (core.kdump.utsname if core.kdump else b""),
        notes=cpus + pack_origin(core, by_pages=by_pages),
        vmcoreinfo=core.vmcoreinfo,
        phys_base=dump.info.number("phys_base") or 0,
        max_mapnr=max(pages) + 1,
        dump_level=core.kdump.dump_level if core.kdump else 0,
        nr_cpus=core.kdump.nr_cpus if core.kdump else len(core.prstatus),
        pages=pages,
    )
