"""Damage to a dump: words of kernel objects that are overlaid, files that are cut or have flipped bits."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rdmadiag.facts.model import Where
from rdmadiag.vmcore.dump import Dump, open_dump

SELF, NULL, LIST_POISON, SLAB_POISON, UNMAPPED, ONES, COUNTER = (
    "pointer to itself",
    "NULL",
    "list poison",
    "slab poison",
    "unmapped",
    "all ones",
    "counter out of range",
)
WORDS = (SELF, NULL, LIST_POISON, SLAB_POISON, UNMAPPED, ONES, COUNTER)
CUT, FLIPPED = "cut file", "flipped bits"
KINDS = (*WORDS, CUT, FLIPPED)
_HEADERS = 8192


@dataclass(frozen=True)
class Damage:
    """What is done to a dump; the same seed does the same."""

    sample: str
    kind: str
    seed: int


def damages(samples: Sequence[str], count: int) -> list[Damage]:
    """Return *count* damages, spread over kinds and samples."""
    return [
        Damage(samples[seed // len(KINDS) % len(samples)], KINDS[seed % len(KINDS)], seed)
        for seed in range(count)
    ]


def damaged(damage: Damage, path: Path, places: Sequence[Where], folder: Path) -> Dump:
    """
    Return the damaged dump.

    :param places: Objects of the undamaged dump.
    :raises UserError: If nothing can be read of it any more.
    """
    chance = random.Random(damage.seed)
    if damage.kind in WORDS:
        dump = open_dump(path)
        for _ in range(chance.randint(1, 3)):
            _overlay(dump, damage.kind, chance.choice(places), chance)
        return dump
    data = bytearray(path.read_bytes())
    if damage.kind == CUT:
        del data[chance.randrange(_HEADERS, len(data)) :]
    else:
        for _ in range(chance.choice((1, 20, 400))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    out = folder / f"vmcore-{damage.seed}"
    out.write_bytes(data)
    return open_dump(out)


def _overlay(dump: Dump, kind: str, where: Where, chance: random.Random) -> None:
    start, size = where.address or 0, dump.prog.type(where.type or "").size
    address = start + chance.randrange(0, max(size - 7, 1), 8)
    values = {
        SELF: address,
        NULL: 0,
        LIST_POISON: 0xDEAD000000000100 + 0x22 * chance.randrange(2),
        SLAB_POISON: 0x6B6B6B6B6B6B6B6B,
        UNMAPPED: 0xFFFFC90000000000 + chance.randrange(1 << 30),
        ONES: (1 << 64) - 1,
        COUNTER: chance.choice((0x7FFFFFFF, 0xFFFF0000, 1 << 31)) * 0x100000001,
    }
    data = values[kind].to_bytes(8, "little")

    def read(_address: int, count: int, offset: int, _physical: bool) -> bytes:
        return data[offset : offset + count]

    dump.prog.add_memory_segment(address, len(data), read)
