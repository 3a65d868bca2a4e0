import pytest

from rdmadiag.vmcore.kallsyms import Kallsyms, KallsymsError, KallsymsTables
from rdmadiag.vmcore.kallsyms_search import find_tables

from .kallsyms_image import BASE, ORDERS, Image, build

pytestmark = pytest.mark.parametrize("generation", list(ORDERS))

WITHOUT_PERCPU = ("v4.1", "v4.1 with seqs", "v7.0")
PERCPU = [(0x0, "D__per_cpu_start"), (0x31C40, "Arunqueues")]


def symbols(count: int, percpu: bool = True) -> list[tuple[int, str]]:
    many = [(BASE + 0x1000 + 16 * i, f"Trds_ib_conn_{i * 7919 % count:06}") for i in range(count)]
    twins = [(many[-1][0] + 16, "tfirst_alias"), (many[-1][0] + 16, "Tsecond_alias")]
    long = [(many[-1][0] + 32, "t" + "long_" * 60)]
    last = [(many[-1][0] + 64, "B_end")]
    return [*(PERCPU if percpu else []), *many, *twins, *long, *last]


def tables(image: Image) -> KallsymsTables:
    place = image.places
    return KallsymsTables(
        place["num_syms"],
        place["names"],
        place["token_table"],
        place["token_index"],
        place.get("offsets"),
        place.get("relative_base"),
        place.get("addresses"),
    )


def opened(generation: str, count: int = 3000) -> Kallsyms:
    image = build(symbols(count, generation not in WITHOUT_PERCPU), generation)
    return Kallsyms(image.read, tables(image))


def test_finds_an_address(generation):
    table = opened(generation)
    for i in (0, 1, 255, 256, 2999):
        found = table.symbol_at(BASE + 0x1000 + 16 * i + 5)
        assert found is not None
        assert (found.name, found.address, found.size, found.type) == (
            f"rds_ib_conn_{i * 7919 % 3000:06}",
            BASE + 0x1000 + 16 * i,
            16,
            "T",
        )


def test_takes_the_first_name_of_a_place_and_the_size_to_the_next_place(generation):
    found = opened(generation).symbol_at(BASE + 0x1000 + 16 * 3000)
    assert found is not None
    assert (found.name, found.size) == ("first_alias", 16)


def test_nothing_is_before_the_first_and_after_the_last(generation):
    table = opened(generation)
    assert table.symbol_at(0xFFFF888012345678) is None
    assert table.symbol_at(BASE + 0x1000 + 16 * 2999 + 64) is None
    assert table.symbol_at(BASE + 0x100000) is None


@pytest.mark.parametrize("count", [600, 845])  # an even and an odd number of markers
def test_finds_every_name(generation, count):
    table = opened(generation, count)
    for i in range(count):
        found = list(table.symbols_named(f"rds_ib_conn_{i * 7919 % count:06}"))
        assert [one.address for one in found] == [BASE + 0x1000 + 16 * i]


def test_finds_long_names_and_none(generation):
    table = opened(generation)
    assert [one.address for one in table.symbols_named("long_" * 60)] == [BASE + 0x1000 + 16 * 3001]
    assert list(table.symbols_named("rds_ib_con")) == []
    assert list(table.symbols_named("zzz")) == []


def test_percpu_variables_keep_their_offset(generation):
    if generation in WITHOUT_PERCPU:
        pytest.skip("there are none in the table")
    assert [one.address for one in opened(generation).symbols_named("runqueues")] == [0x31C40]


def test_offsets_without_percpu_variables(generation):
    if generation.startswith("v4.1"):
        pytest.skip("whole addresses")
    image = build(symbols(700, percpu=False), generation, percpu=False)
    table = Kallsyms(image.read, tables(image))
    assert table.symbol_at(BASE + 0x1000).name == "rds_ib_conn_000000"


@pytest.mark.parametrize("count", [600, 3000, 5001])
def test_is_found_by_what_is_in_it(generation, count):
    if generation == "v7.0":
        pytest.skip("VMCOREINFO tells")
    image = build(symbols(count, generation not in WITHOUT_PERCPU), generation)
    found = find_tables(image.read, BASE, len(image.memory))
    assert found == tables(image)


def test_a_wrong_count_is_refused(generation):
    image = build(symbols(600, generation not in WITHOUT_PERCPU), generation)
    for count in (0, 1 << 31):
        memory = bytearray(image.memory)
        at = image.places["num_syms"] - BASE
        memory[at : at + 8] = count.to_bytes(8, "little")
        with pytest.raises(KallsymsError):
            Kallsyms(Image(bytes(memory), image.places).read, tables(image))


def test_damaged_markers_are_refused(generation):
    image = build(symbols(600, generation not in WITHOUT_PERCPU), generation)
    memory = bytearray(image.memory)
    at = image.places["markers"] - BASE
    memory[at : at + 8] = b"\xff" * 8
    with pytest.raises(KallsymsError):
        Kallsyms(Image(bytes(memory), image.places).read, tables(image))
