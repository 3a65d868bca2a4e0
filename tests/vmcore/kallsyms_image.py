"""Lays out a kernel's symbol table as the linker of each generation does."""

import struct
from dataclasses import dataclass

BASE = 0xFFFFFFFF81000000
PAIRS = {1: "rd", 2: "s_", 3: "ib", 4: "_i", 5: "conn", 6: "xyz"}
"""Tokens of more than one letter, as the compressor makes them; letters stand for themselves."""


@dataclass
class Image:
    """Memory from BASE on, and what VMCOREINFO would tell of it."""

    memory: bytes
    places: dict[str, int]

    def read(self, address: int, size: int) -> bytes:
        start = address - BASE
        if start < 0 or start + size > len(self.memory):
            from drgn import FaultError

            raise FaultError("not there", address)
        return self.memory[start : start + size]


class Builder:
    def __init__(self, align: int, lead: int = 8192) -> None:
        self.memory = bytearray(lead)
        self.align = align
        self.places: dict[str, int] = {}

    def add(self, name: str, data: bytes) -> None:
        self.memory += bytes(-len(self.memory) % self.align)
        self.places[name] = BASE + len(self.memory)
        self.memory += data


def compress(name: str) -> bytes:
    for code, text in PAIRS.items():
        name = name.replace(text, chr(code))
    raw = name.encode("latin-1")
    head = bytes([len(raw)]) if len(raw) < 128 else bytes([len(raw) & 0x7F | 0x80, len(raw) >> 7])
    return head + raw


def tables(symbols: list[tuple[int, str]], marker: str, percpu: bool) -> dict[str, bytes]:
    """Return each table of symbols (address, type letter and name), sorted by address."""
    names, markers = bytearray(), []
    for i, (_, name) in enumerate(symbols):
        if i % 256 == 0:
            markers.append(len(names))
        names += compress(name)
    tokens = [PAIRS.get(i, chr(i)).encode("latin-1") for i in range(256)]
    tokens[0] = b"zz"
    table = b"".join(token + b"\0" for token in tokens)
    index, place = [], 0
    for token in tokens:
        index.append(place)
        place += len(token) + 1
    order = sorted(range(len(symbols)), key=lambda i: (symbols[i][1][1:], symbols[i][0]))
    return {
        "num_syms": struct.pack("<Q", len(symbols)),
        "names": bytes(names),
        "markers": struct.pack(f"<{len(markers)}{marker}", *markers),
        "seqs_of_names": b"".join(i.to_bytes(3, "big") for i in order),
        "token_table": table,
        "token_index": struct.pack("<256H", *index),
        "offsets": b"".join(offset(address, percpu) for address, _ in symbols),
        "relative_base": struct.pack("<Q", BASE),
        "addresses": struct.pack(f"<{len(symbols)}Q", *(address for address, _ in symbols)),
    }


def offset(address: int, percpu: bool) -> bytes:
    if not percpu:
        return struct.pack("<I", address - BASE)
    return struct.pack("<i", BASE - 1 - address if address >= BASE else address)


def from_own_places(symbols: list[tuple[int, str]], place: int) -> bytes:
    """Return offsets that count each from its own place, the first of which is the next aligned one."""
    first = place + -place % 4
    return b"".join(
        struct.pack("<i", address - first - 4 * i) for i, (address, _) in enumerate(symbols)
    )


ORDERS = {
    "v4.1": ["addresses", "num_syms", "names", "markers", "token_table", "token_index"],
    "v4.1 with seqs": [
        "addresses",
        "num_syms",
        "names",
        "markers",
        "seqs_of_names",
        "token_table",
        "token_index",
    ],
    "v5.15": [
        "offsets",
        "relative_base",
        "num_syms",
        "names",
        "markers",
        "token_table",
        "token_index",
    ],
    "v6.2": [
        "offsets",
        "relative_base",
        "num_syms",
        "names",
        "markers",
        "seqs_of_names",
        "token_table",
        "token_index",
    ],
    "v6.4": [
        "num_syms",
        "names",
        "markers",
        "token_table",
        "token_index",
        "offsets",
        "relative_base",
        "seqs_of_names",
    ],
    "v7.0": [
        "num_syms",
        "names",
        "markers",
        "token_table",
        "token_index",
        "offsets",
        "seqs_of_names",
    ],
}


def build(symbols: list[tuple[int, str]], generation: str, percpu: bool = True) -> Image:
    made = tables(symbols, "Q" if generation.startswith("v4.1") else "I", percpu)
    own_place = "relative_base" not in ORDERS[generation] and "offsets" in ORDERS[generation]
    builder = Builder(4 if own_place else 8)
    if own_place:
        made["num_syms"] = made["num_syms"][:4]
    for name in ORDERS[generation]:
        if own_place and name == "offsets":
            made[name] = from_own_places(symbols, BASE + len(builder.memory))
        builder.add(name, made[name])
    builder.memory += bytes(1 << 16)
    return Image(bytes(builder.memory), builder.places)
