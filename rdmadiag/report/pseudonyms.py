"""
Stable pseudonyms for names and addresses.

All are made from a secret key with HMAC, so the same original gives the same pseudonym wherever it is
seen, and without the key nobody can try out which original gives it. Addresses keep their structure: two
that share the first n bits share exactly n bits afterwards (the idea of Crypto-PAn), so subnets stay subnets
whatever their mask.
"""

import hmac
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

_PRIVATE4 = [
    IPv4Network(n)
    for n in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10")
]
_SPECIAL4 = [IPv4Network(n) for n in ("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3")]
"""This host, loopback, multicast, masks: they name nobody and stay as they are."""
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_LOW = IPv6Network("::/96")
_MULTICAST = IPv6Network("ff00::/8")
_SOLICITED = IPv6Network("ff02::1:ff00:0/104")
_LINK_LOCAL = IPv6Network("fe80::/10")
_KEPT6 = ((IPv6Network("fc00::/7"), 8), (IPv6Network("2000::/3"), 3), (IPv6Network("::/0"), 8))


class Pseudonyms:
    """
    Gives pseudonyms, and remembers them.

    :ivar table: Original -> pseudonym, of all that were asked for.
    """

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.table: dict[str, str] = {}
        self._taken: dict[str, str] = {}
        self._bits: dict[tuple[int, int, int], int] = {}

    def digest(self, kind: str, text: str) -> bytes:
        """Return 32 keyed bytes for *text*."""
        return hmac.digest(self.key, f"{kind}\0{text}".encode("utf-8", "surrogatepass"), "sha256")

    def name(self, kind: str, text: str) -> str:
        """Return a pseudonym like ``host-3f9a2`` that no other name has."""
        return self._remember(text, lambda: self._unique(kind, text.lower()))

    def target(self, text: str, stem: str) -> str:
        """Return a pseudonym for an NQN or IQN that begins with *stem*."""
        return self._remember(text, lambda: f"{stem}.{self._unique('target', text)}")

    def _unique(self, kind: str, text: str) -> str:
        digits = self.digest(kind, text).hex()
        for length in range(5, len(digits)):
            pseudonym = f"{kind}-{digits[:length]}"
            if self._taken.setdefault(pseudonym, text) == text:
                return pseudonym
        raise AssertionError("two names with the same digest")

    def _remember(self, text: str, make: Callable[[], str]) -> str:
        if text not in self.table:
            self.table[text] = make()
        return self.table[text]

    def ipv4(self, text: str) -> str:
        """Return the pseudonym of an IPv4 address (as text that ``IPv4Address`` takes)."""
        address = IPv4Address(text)
        if any(address in network for network in _SPECIAL4):
            return text
        return self._remember(text, lambda: str(IPv4Address(self._ipv4(address))))

    def _ipv4(self, address: IPv4Address) -> int:
        for network in _PRIVATE4:
            if address in network:
                return self._scramble(4, int(address), 32, network.prefixlen)
        return self._scramble(4, int(address), 32, 0, _reserved_below)

    def ipv6(self, text: str) -> str:
        """Return the pseudonym of an IPv6 address, a mapped IPv4 one, or an InfiniBand GID."""
        address = IPv6Address(text)
        whole = text.count(":") == 7 and len(text) == 39
        value = self._ipv6(address)
        if value == int(address):
            return text
        return self._remember(text, lambda: _show6(value, whole, "." in text))

    def _ipv6(self, address: IPv6Address) -> int:
        value = int(address)
        if address in _MAPPED or address in _NAT64:
            inner = IPv4Address(value & 0xFFFFFFFF)
            return value - int(inner) + int(IPv4Address(self.ipv4(str(inner))))
        if address in _SOLICITED:  # its last 24 bits are those of an address
            return (
                value - (value & 0xFFFFFF) + int.from_bytes(self.digest("low", text_of(value))[:3])
            )
        if address in _LOW or address in _MULTICAST:
            return value
        if address in _LINK_LOCAL:  # the lower half is a GUID, and shall be the same one there
            low = value & 0xFFFFFFFFFFFFFFFF
            return value - low + (self.guid_value(low) if low >> 16 else low)
        kept = next(bits for network, bits in _KEPT6 if address in network)
        return self._scramble(6, value, 128, kept)

    def _scramble(
        self,
        version: int,
        value: int,
        width: int,
        kept: int,
        fixed: Callable[[int, int], bool] = lambda _prefix, _length: False,
    ) -> int:
        """Return *value* with each bit after the first *kept* flipped or not, by the bits before it."""
        result = value
        for length in range(kept, width):
            prefix = value >> (width - length)
            if not fixed(prefix, length):
                result ^= self._flip(version, prefix, length) << (width - length - 1)
        return result

    def _flip(self, version: int, prefix: int, length: int) -> int:
        place = (version, prefix, length)
        if place not in self._bits:
            self._bits[place] = self.digest(f"ip{version}", f"{length}/{prefix:x}")[0] & 1
        return self._bits[place]

    def guid_value(self, value: int) -> int:
        """Return the pseudonym of a 64 bit GUID: one of the locally administered ones."""
        digest = int.from_bytes(self.digest("guid", f"{value:016x}")[:8])
        return digest & 0x00FFFFFFFFFFFFFF | 0x0200000000000000

    def hex_bytes(self, text: str, separator: str) -> str:
        """Return the pseudonym of bytes in hex: a MAC, a GUID, or a hardware address of IPoIB."""
        data = bytes.fromhex(text.replace(separator, ""))
        return self._remember(text, lambda: _like(self._bytes(data), text, separator))

    def _bytes(self, data: bytes) -> bytes:
        if len(data) == 8:
            return self.guid_value(int.from_bytes(data)).to_bytes(8)
        if len(data) == 16:
            return self._ipv6(IPv6Address(data)).to_bytes(16)
        if len(data) == 20:  # queue pair number and flags, then the GID
            return data[:4] + self._bytes(data[4:])
        return b"\x02" + self.digest("mac", data.hex())[: len(data) - 1]

    def guid(self, text: str) -> str:
        """Return the pseudonym of a GUID: ``0002:c903:...``, ``0x2c903...`` or 16 hex digits."""
        value = int(text.replace(":", ""), 16)
        return self._remember(text, lambda: _like_guid(self.guid_value(value), text))

    def uuid(self, text: str) -> str:
        """Return the pseudonym of a UUID."""
        return self._remember(text, lambda: _dashes(self.digest("uuid", text.lower()).hex()))


def text_of(value: int) -> str:
    """Return a number as text to make a digest of."""
    return f"{value:x}"


def _reserved_below(prefix: int, length: int) -> bool:
    """
    Tell whether a block that keeps its meaning lies below *prefix*.

    There no bit may be flipped: a public address must not become a private one, nor the reverse.
    """
    return any(
        network.prefixlen > length and int(network.network_address) >> (32 - length) == prefix
        for network in (*_PRIVATE4, *_SPECIAL4)
    )


def _show6(value: int, whole: bool, dotted: bool) -> str:
    address = IPv6Address(value)
    if whole:
        return address.exploded
    low = value & 0xFFFFFFFF
    if address in _MAPPED:  # Python 3.13 and later print these with dots, earlier ones do not
        return f"::ffff:{IPv4Address(low) if dotted else f'{low >> 16:x}:{low & 0xFFFF:x}'}"
    if dotted:
        high = str(IPv6Address(value - low))
        return f"{high.removesuffix('0:0').removesuffix('::')}{'' if high.endswith('0:0') else '::'}{IPv4Address(low)}"
    return str(address)


def _like(data: bytes, text: str, separator: str) -> str:
    result = data.hex(separator)
    return result.upper() if text.isupper() else result


def _like_guid(value: int, text: str) -> str:
    digits = f"{value:016x}"
    if ":" in text:
        return ":".join(digits[n : n + 4] for n in range(0, 16, 4))
    return f"0x{digits}" if text[:2].lower() == "0x" else digits


def _dashes(digits: str) -> str:
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
