"""A dump whose VMCOREINFO does not tell where the symbol table is, as before v6.0."""

import pytest
from drgn import FaultError

from rdmadiag.vmcore import capsule, dump, kallsyms_search, physical
from rdmadiag.vmcore.capsule import extract
from rdmadiag.vmcore.corefile import read_core_file
from rdmadiag.vmcore.dump import open_dump
from rdmadiag.vmcore.kallsyms import tables_of_vmcoreinfo
from rdmadiag.vmcore.kallsyms_search import find_tables, search_tables, told_tables
from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo

from .kallsyms_image import BASE, build
from .samples import path_of, shared
from .test_capsule import Reading, source
from .test_kallsyms import symbols, tables

NAME = "rds-stuck-recv"
DATA = path_of(NAME).read_bytes()
SILENT = DATA.replace(b"SYMBOL(kallsyms_", b"SYMBOL(nothing__")
GENERATIONS = ("v4.1", "v4.1 with seqs", "v5.15", "v6.2", "v6.4")
"""Orders of kernels before v6.0, and of such to which the table of v6.2 that is sorted by name was brought."""
PAGE = 4096


@pytest.fixture
def found(monkeypatch):
    """The sample's table has an order of v6.2: finding it is tried on images, here only what becomes of it."""

    def search(read, info):
        assert tables_of_vmcoreinfo(info) is None
        searched.append(read)
        return tables_of_vmcoreinfo(shared(NAME).info)

    searched = []
    for module in (capsule, dump, physical):
        monkeypatch.setattr(module, "search_tables", search)
    return searched


def test_a_dump_with_a_table_that_was_found_reads_as_one_that_tells(tmp_path, found):
    silent, told = open_dump(source(tmp_path, SILENT)), shared(NAME)
    assert len(found) == 1
    assert silent.problems == told.problems
    assert silent.symbol("rds_conn_hash", "rds") == told.symbol("rds_conn_hash", "rds")
    assert silent.symbol("schedule") == told.symbol("schedule")


def test_the_host_is_told_by_types_where_vmcoreinfo_does_not_tell(tmp_path):
    silent = DATA.replace(b"OFFSET(uts_namespace.name)", b"OFFSET(nothing_there.name)")
    assert silent != DATA
    dump, told = open_dump(source(tmp_path, silent)), shared(NAME)
    assert dump.nodename
    assert (dump.nodename, dump.version) == (told.nodename, told.version)


def test_a_capsule_tells_where_the_table_is_and_is_not_searched(tmp_path, found):
    out, told, silent = tmp_path / "out", Reading(), Reading()
    told(open_dump(path_of(NAME)))
    extract(source(tmp_path, SILENT), out, silent)
    assert len(found) == 1
    assert silent.read == told.read * 2
    info = VmcoreInfo(read_core_file(out).vmcoreinfo)
    assert tables_of_vmcoreinfo(info) == tables_of_vmcoreinfo(shared(NAME).info)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_what_is_told_is_what_was_found(generation):
    found = tables(build(symbols(600, not generation.startswith("v4.1")), generation))
    assert tables_of_vmcoreinfo(VmcoreInfo(told_tables(found))) == found


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_search_ends_where_the_data_begin(generation):
    image = build(symbols(600, not generation.startswith("v4.1")), generation)
    end = BASE + len(image.memory)

    def search(in_data):
        read = []

        def reader(address, size):
            read.append(address + size)
            return image.read(address, size)

        info = f"SYMBOL(_stext)={BASE:x}\nSYMBOL(init_uts_ns)={in_data:x}\n"
        return search_tables(reader, VmcoreInfo(info.encode())), read

    assert search(end)[0] == tables(image)
    found, read = search(image.places["token_table"] & -PAGE)
    assert found is None
    assert max(read) <= image.places["token_table"] + PAGE


def test_without_a_place_of_the_code_nothing_is_read():
    def refuse(_address, _size):
        raise AssertionError

    assert search_tables(refuse, VmcoreInfo(b"")) is None


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_hole_behind_the_table_does_not_hide_it(generation):
    image = build(symbols(600, not generation.startswith("v4.1")), generation)
    hole = -(-(image.places["token_index"] + 512) // PAGE) * PAGE

    def reader(address, size):
        if address + size > hole:
            raise FaultError("not there", hole)
        return image.read(address, size)

    assert find_tables(reader, BASE, 1 << 22) == tables(image)


def test_a_search_for_nothing_is_bounded():
    read = []

    def zeros(_address, size):
        read.append(size)
        return bytes(size)

    assert search_tables(zeros, VmcoreInfo(f"SYMBOL(_stext)={BASE:x}".encode())) is None
    assert sum(read) < 1.01 * kallsyms_search._MAX_IMAGE
