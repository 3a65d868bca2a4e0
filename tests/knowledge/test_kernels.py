"""What kernels' names say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmadiag.knowledge.kernels import parse_kernel
from rdmadiag.knowledge.versions import show

# release; family; tree; package; upstream; = it is that, > it starts from that
NAMES = """
4.1.12-124.24.3.el6uek.x86_64                      | UEK | UEK4 | 4.1.12-124.24.3 | > 4.1.12
4.1.12-124.24.3                                    | UEK | UEK4 | 4.1.12-124.24.3 | > 4.1.12
4.1.12-112.16.7.el7uek                             | UEK | UEK4 | 4.1.12-112.16.7 | > 4.1.12
4.1.10-21.el7uek.x86_64                            | UEK | UEK4 | 4.1.10-21 | > 4.1.10
4.14.35-1844.2.1.el7uek.x86_64                     | UEK | UEK5 | 4.14.35-1844.2.1 | > 4.14.35
4.14.35-1902.3.1.el7uek.x86_64.debug               | UEK | UEK5 | 4.14.35-1902.3.1 | > 4.14.35
4.14.35-1902.300.11.el7uek.aarch64                 | UEK | UEK5 | 4.14.35-1902.300.11 | > 4.14.35
5.4.17-2136.321.4.el8uek.aarch64                   | UEK | UEK6 | 5.4.17-2136.321.4 | > 5.4.17
5.4.17-2102.200.13.el7uek.x86_64                   | UEK | UEK6 | 5.4.17-2102.200.13 | > 5.4.17
5.15.0-100.96.32.el8uek.x86_64                     | UEK | UEK7 | 5.15.0-100.96.32 | > 5.15
5.15.0-4.70.5.2                                    | UEK | UEK7 | 5.15.0-4.70.5.2 | > 5.15
5.15.0-300.163.18.el9uek                           | UEK | UEK7 | 5.15.0-300.163.18 | > 5.15
6.12.0-1.23.3.2.el9uek.x86_64                      | UEK | UEK8 | 6.12.0-1.23.3.2 | > 6.12
6.12.0-102.36.5.2.el10uek.x86_64                   | UEK | UEK8 | 6.12.0-102.36.5.2 | > 6.12
3.8.13-16.2.1.el6uek.x86_64                        | UEK | UEK3 | 3.8.13-16.2.1 | > 3.8.13
2.6.39-400.293.2.el6uek.x86_64                     | UEK | UEK2 | 2.6.39-400.293.2 | > 2.6.39
2.6.32-400.11.1.el5uek                             | UEK | UEK1 | 2.6.32-400.11.1 | > 2.6.32
2.6.32-754.el6.x86_64                              | RHEL | RHEL6 | 2.6.32-754 | > 2.6.32
3.10.0-1160.el7.x86_64                             | RHEL | RHEL7 | 3.10.0-1160 | > 3.10
4.18.0-553.16.1.el8_10.x86_64                      | RHEL | RHEL8 | 4.18.0-553.16.1 | > 4.18
4.18.0-305.45.1.rt7.117.el8_4.x86_64               | RHEL | RHEL8 | 4.18.0-305.45.1.rt7.117 | > 4.18
5.14.0-427.13.1.el9_4.x86_64+debug                 | RHEL | RHEL9 | 5.14.0-427.13.1 | > 5.14
5.14.0-130.el9.x86_64                              | RHEL | RHEL9 | 5.14.0-130 | > 5.14
6.12.0-55.9.1.el10_0.x86_64                        | RHEL | RHEL10 | 6.12.0-55.9.1 | > 6.12
5.14.5-1.el7.elrepo.x86_64                         | ELRepo | ELRepo | 5.14.5-1.el7.elrepo | = 5.14.5
6.8.4-300.fc40.x86_64                              | Fedora | Fedora | 6.8.4-300.fc40 | = 6.8.4
6.8.4-300.patched.fc40.x86_64                      | Fedora | Fedora | 6.8.4-300.patched.fc40 | = 6.8.4
6.1.0-56-amd64                                     | Debian | Debian | | > 6.1
6.1.0-13-cloud-amd64                               | Debian | Debian | | > 6.1
6.1.0-13-rt-amd64                                  | Debian | Debian | | > 6.1
5.10.0-0.bpo.9-amd64                               | Debian | Debian | | > 5.10
6.1.0-0.deb11.13-amd64                             | Debian | Debian | | > 6.1
4.19.0-27-686-pae                                  | Debian | Debian | | > 4.19
5.10.0-28-arm64                                    | Debian | Debian | | > 5.10
6.12.117+deb12-amd64                               | Debian | Debian | 6.12.117 | = 6.12.117
6.12.43+deb13-cloud-arm64                          | Debian | Debian | 6.12.43 | = 6.12.43
5.15.0-91-generic                                  | Ubuntu | Ubuntu | 5.15.0-91 | > 5.15
6.5.0-1014-aws                                     | Ubuntu | Ubuntu | 6.5.0-1014 | > 6.5
6.8.0-1008-nvidia-64k                              | Ubuntu | Ubuntu | 6.8.0-1008 | > 6.8
5.4.0-139-lowlatency                               | Ubuntu | Ubuntu | 5.4.0-139 | > 5.4
5.3.18-150300.59.106-default                       | SLES | SLES15.3 | 5.3.18-150300.59.106 | > 5.3.18
6.4.0-150600.23.22-default                         | SLES | SLES15.6 | 6.4.0-150600.23.22 | > 6.4
4.12.14-122.37-default                             | SLES | SLES | 4.12.14-122.37 | > 4.12.14
6.9.7-1-default                                    | Tumbleweed | Tumbleweed | 6.9.7-1 | = 6.9.7
5.10.209-198.858.amzn2.x86_64                      | Amazon | Amazon | 5.10.209-198.858.amzn2 | = 5.10.209
6.1.79-99.164.amzn2023.x86_64                      | Amazon | Amazon | 6.1.79-99.164.amzn2023 | = 6.1.79
5.15.148.2-2.cm2                                   | Azure Linux | Azure Linux | 5.15.148.2-2.cm2 | = 5.15.148
6.6.35.1-5.azl3                                    | Azure Linux | Azure Linux | 6.6.35.1-5.azl3 | = 6.6.35
5.15.153.1-microsoft-standard-WSL2                 | WSL | WSL | 5.15.153.1-microsoft-standard-WSL2 | = 5.15.153
5.10.201-1.ph4                                     | Photon | Photon | 5.10.201-1.ph4 | = 5.10.201
6.8.12-4-pve                                       | Proxmox | Proxmox | 6.8.12-4-pve | > 6.8.12
4.19.90-25.44.v2101.ky10.aarch64                   | Kylin | Kylin | 4.19.90-25.44.v2101.ky10 | > 4.19.90
5.10.0-60.18.0.50.oe2203.x86_64                    | vendor | vendor | 5.10.0-60.18.0.50.oe2203 | > 5.10
6.14.0                                             | mainline | mainline | 6.14.0 | = 6.14
4.9.0                                              | mainline | mainline | 4.9.0 | = 4.9
6.9.0-rc1                                          | mainline | mainline | 6.9.0 | = 6.9 rc
6.5.0-rc3+                                         | mainline | mainline | 6.5.0 | = 6.5 rc
5.16.0-rc5-00012-gabcdef123456+                    | mainline | mainline | 5.16.0 | = 5.16 rc
6.11.0-next-20240920                               | mainline | mainline | 6.11.0 | = 6.11 rc
6.9.7-arch1-1                                      | mainline | mainline | 6.9.7 | = 6.9.7
6.6.31-0-lts                                       | mainline | mainline | 6.6.31 | = 6.6.31
5.15.133+                                          | mainline | mainline | 5.15.133 | = 5.15.133
2.6.32.9                                           | mainline | mainline | 2.6.32.9 | = 2.6.32.9
6.6.31-00012-gabcdef123456                         | mainline | mainline | 6.6.31 | = 6.6.31
garbage                                            | unknown | | garbage |
"""


def rows() -> list[tuple[str, str, str, str, str]]:
    lines = [line.split("|") for line in NAMES.strip().splitlines()]
    return [tuple(cell.strip() for cell in line) for line in lines]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("release", "family", "tree", "package", "upstream"), rows(), ids=lambda cell: cell or "-"
)
def test_names(release: str, family: str, tree: str, package: str, upstream: str):
    kernel = parse_kernel(release)
    told = ""
    if kernel.upstream:
        told = f"{'=' if kernel.exact else '>'} {show(kernel.upstream)}{' rc' * kernel.candidate}"
    assert (kernel.family, kernel.tree, kernel.package, told) == (family, tree, package, upstream)


def test_debian_says_its_upstream_in_the_version():
    kernel = parse_kernel("6.1.0-56-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-2 (2026-10-01)")
    assert (kernel.package, kernel.exact, kernel.upstream) == ("6.1.192-2", True, (6, 1, 192, 0))


def test_debian_backport():
    kernel = parse_kernel("6.1.0-0.deb11.13-amd64", "#1 SMP Debian 6.1.55-1~bpo11+1 (2023-10-08)")
    assert (kernel.package, kernel.upstream) == ("6.1.55-1~bpo11+1", (6, 1, 55, 0))


def test_ubuntu_says_its_upstream_only_in_the_signature():
    assert not parse_kernel(
        "5.15.0-91-generic", "#101-Ubuntu SMP Tue Nov 14 13:30:08 UTC 2023"
    ).exact
    kernel = parse_kernel("5.15.0-91-generic", "Ubuntu 5.15.0-91.101-generic 5.15.131")
    assert (kernel.exact, kernel.upstream, kernel.package) == (True, (5, 15, 131, 0), "5.15.0-91")


def test_a_hint_of_the_distribution_settles_a_bare_package_version():
    assert parse_kernel("6.12.0-1.23.3", distro="uek").tree == "UEK8"
    assert parse_kernel("6.12.0-55.9.1").tree == ""


PIECES = st.sampled_from(
    [
        "6.1",
        ".0",
        "-",
        "56",
        "amd64",
        ".el8uek",
        ".x86_64",
        "-rc1",
        "+",
        "uek",
        "generic",
        "9" * 300,
        "-amd64-" * 40,
        "Debian ",
    ]
)


@given(
    st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=12).map("".join)),
    st.text(max_size=40),
)
def test_any_text_can_be_a_release(release: str, version: str):
    kernel = parse_kernel(release, version)
    assert kernel.family
