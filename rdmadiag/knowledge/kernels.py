"""What a kernel's name says: whose kernel it is, and which upstream kernel it is or starts from."""

import re
from collections.abc import Callable

import msgspec

from rdmadiag.errors import UserError
from rdmadiag.knowledge.versions import Number, parse_number

_ARCH = re.compile(
    r"\.(x86_64|i[3-6]86|aarch64|ppc64(le)?|s390x|riscv64|noarch|src)(\.debug|\+debug)?$"
)
_LONGEST = 200
"""utsname has 64; what is much longer comes from a damaged log."""
_UEK_BASES = {
    "2.6.32": "UEK1",
    "2.6.39": "UEK2",
    "3.8": "UEK3",
    "4.1": "UEK4",
    "4.14": "UEK5",
    "5.4": "UEK6",
    "5.15": "UEK7",
    "6.12": "UEK8",
}
# Bases that no one but Oracle ships with a dash and a number behind; 5.15.0 and 6.12.0 are others' too.
_UEK_ONLY = {"2.6.39", "3.8.13", "4.1.12", "4.14.35", "5.4.17"}


class Kernel(msgspec.Struct, frozen=True):
    """
    A kernel as far as its name tells.

    :ivar release: utsname release, as given.
    :ivar family: ``UEK``, ``RHEL``, ``Debian``, ``Ubuntu``, ``SLES``, ``mainline``, a vendor, or ``unknown``.
    :ivar tree: The tree that fixes are listed for: ``UEK4``, ``RHEL8``, ``Debian`` ...
    :ivar package: What is compared with the versions of that tree, without the distribution's tag.
    :ivar upstream: The upstream kernel, or ``None`` when the name does not tell.
    :ivar exact: Whether the kernel is that upstream release (with few own patches); otherwise it only starts
        from it, and what was taken over later does not show in its name.
    :ivar candidate: A release candidate of *upstream*.
    """

    release: str
    family: str
    tree: str
    package: str
    upstream: Number | None = None
    exact: bool = False
    candidate: bool = False


def parse_kernel(release: str, version: str = "", distro: str = "") -> Kernel:
    """
    Find out what kernel this is.

    :param release: utsname release (``uname -r``), or a package's version.
    :param version: utsname version (``uname -v``), or Ubuntu's ``/proc/version_signature``: some distributions
        name the upstream kernel only there.
    :param distro: The distribution, when something else told (``uek``, ``rhel``, ``debian`` ...).
    """
    name = _ARCH.sub("", release.strip()[:_LONGEST])
    for reader in _READERS:
        kernel = reader(name, version, distro.lower())
        if kernel is not None:
            return Kernel(release.strip(), *kernel)
    return Kernel(release.strip(), "unknown", "", name)


def named_kernel(release: str, version: str = "") -> Kernel:
    """
    Find out what kernel a user has named with ``--kernel``.

    :param release: utsname release; *version*: as for :func:`parse_kernel`.
    :raises UserError: If that is no kernel's name.
    """
    kernel = parse_kernel(release, version)
    if not kernel.tree and kernel.upstream is None:
        raise UserError(f"{release!r} is no kernel release; 'uname -r' prints one")
    return kernel


_Parts = tuple[str, str, str, Number | None, bool, bool]
"""(family, tree, package, upstream, exact, candidate)"""
_Reader = Callable[[str, str, str], _Parts | None]


def _uek(name: str, _version: str, distro: str) -> _Parts | None:
    match = re.match(r"(\d+\.\d+\.\d+)-(\d+(?:\.\d+)*)(.*)", name)
    if not match:
        return None
    base, build, rest = match.groups()
    # UEK7's 5.15.0-4.70.5.2 has dots where Ubuntu's 5.15.0-91-generic has none.
    ours = base in _UEK_ONLY or (base == "5.15.0" and "." in build)
    if "uek" not in rest and not (distro == "uek" or (ours and not re.search(r"[a-z]", rest))):
        return None
    tree = _UEK_BASES.get(base) or _UEK_BASES.get(base.rpartition(".")[0], "UEK")
    return ("UEK", tree, f"{base}-{build}", parse_number(base), False, False)


def _fedora(name: str, _version: str, _distro: str) -> _Parts | None:
    match = re.match(r"(\d+\.\d+\.\d+)-.*\.(fc\d+|el\d+\.elrepo)$", name)
    if not match:
        return None
    family = "Fedora" if match[2].startswith("fc") else "ELRepo"
    candidate = re.search(r"-0\.rc\d", name) is not None
    return (family, family, name, parse_number(match[1]), True, candidate)


def _amazon(name: str, _version: str, _distro: str) -> _Parts | None:
    match = re.match(r"(\d+\.\d+\.\d+)-.*\.(amzn\d+|cm\d+|azl\d+|ph\d+)$", name) or re.match(
        r"(\d+\.\d+\.\d+)\.\d+-.*\.?(cm\d+|azl\d+|WSL2.*)$", name
    )
    if not match:
        return None
    families = {"am": "Amazon", "ph": "Photon", "WS": "WSL"}
    family = families.get(match[2][:2], "Azure Linux")
    return (family, family, name, parse_number(match[1]), True, False)


def _rhel(name: str, _version: str, _distro: str) -> _Parts | None:
    match = re.match(r"(\d+\.\d+\.\d+)-(\d[^ ]*?)\.el(\d+)", name)
    if not match:
        return None
    tree = f"RHEL{match[3]}"
    return ("RHEL", tree, f"{match[1]}-{match[2]}", parse_number(match[1]), False, False)


def _debian(name: str, version: str, _distro: str) -> _Parts | None:
    package = re.search(r"\bDebian ([\d][\w.+~:-]*)", version)
    if package:
        return ("Debian", "Debian", package[1], parse_number(package[1]), True, False)
    stated = re.match(r"(\d+\.\d+\.\d+)\+deb\d", name)
    if stated:
        return ("Debian", "Debian", stated[1], parse_number(stated[1]), True, False)
    # 6.1.0-56-amd64 names the binary interface, not the kernel: all it says is the branch.
    match = re.match(
        r"(\d+\.\d+)\.0-(?:0\.(?:bpo|deb\d+)\.)?\d+-(?:\w+-)*"
        r"(?:amd64|arm64|686|pae|armmp|lpae|marvell|powerpc\w*|ppc64el|s390x|riscv64|mips\w*|\w+-malta|loong64)$",
        name,
    )
    if not match:
        return None
    return ("Debian", "Debian", "", parse_number(match[1]), False, False)


def _ubuntu(name: str, version: str, _distro: str) -> _Parts | None:
    match = re.match(r"(\d+\.\d+\.\d+)-(\d+)-([a-z][a-z0-9-]*)$", name)
    if not match or not (
        "Ubuntu" in version
        or re.match(
            r"generic|lowlatency|aws|azure|gcp|gke|kvm|oracle|oem|ibm|nvidia|raspi|realtime",
            match[3],
        )
    ):
        return None
    # /proc/version_signature: "Ubuntu 5.15.0-91.101-generic 5.15.131"
    signature = re.search(r"Ubuntu \S+ (\d+\.\d+\.\d+)", version)
    if signature:
        return (
            "Ubuntu",
            "Ubuntu",
            f"{match[1]}-{match[2]}",
            parse_number(signature[1]),
            True,
            False,
        )
    return ("Ubuntu", "Ubuntu", f"{match[1]}-{match[2]}", parse_number(match[1]), False, False)


def _suse(name: str, _version: str, distro: str) -> _Parts | None:
    match = re.match(
        r"(\d+\.\d+\.\d+)-([\w.]+?)-(default|preempt|azure|rt|64kb|kvmsmall|vanilla)$", name
    )
    if not match:
        return None
    # Tumbleweed takes each stable release as it comes (6.9.7-1-default); the enterprise kernels stand still.
    rolling = re.fullmatch(r"\d{1,2}(\.g\w+)?", match[2]) and distro != "sles"
    package = f"{match[1]}-{match[2]}"
    if rolling:
        return ("Tumbleweed", "Tumbleweed", package, parse_number(match[1]), True, False)
    service_pack = re.match(r"150(\d)00", match[2])
    tree = f"SLES15.{service_pack[1]}" if service_pack else "SLES"
    return ("SLES", tree, package, parse_number(match[1]), False, False)


def _vendor(name: str, _version: str, _distro: str) -> _Parts | None:
    tags = r"pve|ky10|v2101|oe\d+|an8|an23|al8|tl[234]|euleros|nutanix|bclinux|uos|hce\d"
    match = re.match(rf"(\d+\.\d+\.\d+)[-+].*?(?<![a-z])({tags})\b", name)
    if not match:
        return None
    family = {"pve": "Proxmox", "ky10": "Kylin", "v2101": "Kylin"}.get(match[2], "vendor")
    return (family, family, name, parse_number(match[1]), False, False)


def _mainline(name: str, _version: str, distro: str) -> _Parts | None:
    match = re.match(r"v?(\d+\.\d+(?:\.\d+)?(?:\.\d+)?)(-rc\d+|-next-\d+)?(.*)$", name)
    if not match or (distro and distro not in ("mainline", "stable")):
        return None
    number, candidate, rest = match.groups()
    # A suffix of one's own (+, -custom, -arch1-1, -lts) is still that release; a number and dots are a package's.
    own = re.fullmatch(
        r"(\+|[-.+_]?[a-z][\w.+-]*|-\d+-g[0-9a-f]+.*|-\d+-lts|-\d+)?", rest, re.IGNORECASE
    )
    upstream = parse_number(number)
    if not own or re.match(r"[-.]\d+$", rest):
        return ("unknown", "", name, upstream, False, candidate is not None)
    return ("mainline", "mainline", number, upstream, True, candidate is not None)


_READERS: tuple[_Reader, ...] = (
    _uek,
    _fedora,
    _amazon,
    _rhel,
    _debian,
    _ubuntu,
    _suse,
    _vendor,
    _mainline,
)
