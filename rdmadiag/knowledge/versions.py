"""
Version comparison as the package managers do it, and numbers of upstream kernels.

Own code on purpose: each algorithm is a dozen lines, and the libraries that have them bring a dependency
tree (``univers``) or need the system's own (``rpm``, ``python-apt``). The tests hold results of the real tools.
"""

from itertools import zip_longest

from rdmadiag.lazy import Lazy

Number = tuple[int, int, int, int]
"""An upstream kernel number, filled up with zeros: 6.1.192 -> (6, 1, 192, 0)."""

_RPM_TOKEN = Lazy(r"[0-9]+|[a-zA-Z]+|~|\^")
_DPKG_TOKEN = Lazy(r"([^0-9]*)([0-9]*)")
_NUMBER = Lazy(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?(?!\d)")


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _digits(left: str, right: str) -> int:
    """Order two runs of digits by value; they may be too long for a number."""
    a, b = left.lstrip("0"), right.lstrip("0")
    return _sign(len(a) - len(b)) or (a > b) - (a < b)


def _rpm_special(left: str | None, right: str | None, mark: str) -> int | None:
    """Order two different tokens when one of them is *mark* (``~`` or ``^``)."""
    if mark not in (left, right):
        return None
    with_mark = 1 if left == mark else -1
    other = right if left == mark else left
    # A tilde sorts before the end of the string, a caret after the end but before anything else.
    return with_mark if mark == "^" and other is None else -with_mark


def _rpm_tokens(left: str | None, right: str | None) -> int:
    for mark in "~^":
        special = _rpm_special(left, right, mark)
        if special is not None:
            return special
    if left is None or right is None:
        return -1 if left is None else 1
    if left.isdigit() != right.isdigit():
        return 1 if left.isdigit() else -1
    if left.isdigit():
        return _digits(left, right)
    return 1 if left > right else -1


def rpmvercmp(left: str, right: str) -> int:
    """Compare two version or release strings as ``rpmvercmp()`` of rpm 4.15 and later: -1, 0 or 1."""
    for a, b in zip_longest(_RPM_TOKEN.findall(left), _RPM_TOKEN.findall(right)):
        if a != b:
            order = _rpm_tokens(a, b)
            if order:
                return order
    return 0


def rpm_compare(left: str, right: str) -> int:
    """Compare two ``[EPOCH:]VERSION[-RELEASE]`` strings as rpm does; a missing release equals any."""
    (epoch_a, version_a, release_a), (epoch_b, version_b, release_b) = _evr(left), _evr(right)
    order = _digits(epoch_a, epoch_b) or rpmvercmp(version_a, version_b)
    if order or not release_a or not release_b:
        return order
    return rpmvercmp(release_a, release_b)


def _evr(text: str) -> tuple[str, str, str]:
    epoch, colon, rest = text.partition(":")
    if not colon or not epoch.isdigit():
        epoch, rest = "0", text
    version, _, release = rest.partition("-")
    return epoch, version, release


def _dpkg_weight(char: str) -> int:
    if char == "~":
        return -1
    return ord(char) if char.isalpha() else ord(char) + 256


def _dpkg_text(left: str, right: str) -> int:
    for a, b in zip_longest(left, right):
        # The end of the part weighs 0: above a tilde, below everything else.
        weight_a = _dpkg_weight(a) if a else 0
        weight_b = _dpkg_weight(b) if b else 0
        if weight_a != weight_b:
            return _sign(weight_a - weight_b)
    return 0


def _dpkg_part(left: str, right: str) -> int:
    pairs = zip_longest(_DPKG_TOKEN.findall(left), _DPKG_TOKEN.findall(right), fillvalue=("", ""))
    for (text_a, digits_a), (text_b, digits_b) in pairs:
        order = _dpkg_text(text_a, text_b) or _digits(digits_a, digits_b)
        if order:
            return order
    return 0


def dpkg_compare(left: str, right: str) -> int:
    """Compare two ``[EPOCH:]UPSTREAM[-REVISION]`` strings as ``dpkg --compare-versions``: -1, 0 or 1."""
    (epoch_a, upstream_a, revision_a) = _debian(left)
    (epoch_b, upstream_b, revision_b) = _debian(right)
    return (
        _digits(epoch_a, epoch_b)
        or _dpkg_part(upstream_a, upstream_b)
        or _dpkg_part(revision_a, revision_b)
    )


def _debian(text: str) -> tuple[str, str, str]:
    epoch, colon, rest = text.partition(":")
    if not colon or not epoch.isdigit():
        epoch, rest = "0", text
    upstream, dash, revision = rest.rpartition("-")
    return epoch, upstream if dash else rest, revision if dash else "0"


def parse_number(text: str) -> Number | None:
    """Return the upstream number that *text* starts with (``6.1.192-2`` -> 6.1.192), or ``None``."""
    match = _NUMBER.match(text)
    if not match:
        return None
    major, minor, patch, extra = (int(part or 0) for part in match.groups())
    return (major, minor, patch, extra)


def branch(number: Number) -> Number:
    """Return the stable branch of a number as the number it started from: 6.1.192 -> 6.1, 2.6.32.9 -> 2.6.32."""
    major, minor, patch, _ = number
    return (major, minor, patch if major == 2 else 0, 0)


def show(number: Number) -> str:
    """Write a number as the kernel does: 6.1.192, 6.11, 2.6.32.9."""
    major, minor, patch, extra = number
    return (
        f"{major}.{minor}"
        + (f".{patch}" if patch or extra else "")
        + (f".{extra}" if extra else "")
    )
