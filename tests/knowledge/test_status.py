"""
Whether a kernel has a fix: a table of releases against all forms of fixed-in rows.

The right values were worked out by hand from the rows of the entries (quoted above each part).
"""

import pytest

from rdmadiag.knowledge.base import Knowledge
from rdmadiag.knowledge.kernels import parse_kernel
from rdmadiag.knowledge.status import KernelEvidence, marks_wanted, status
from rdmadiag.rules.schema import Fix, FixedIn, LogMark, Mark

# p present, n present because not affected, m missing, u unknown. A second word is the utsname version.
TABLE = {
    # UEK4 4.1.12-124.24.3, UEK5 4.14.35-1844.2.1, UEK6-8 without a release, never in mainline (read to 6.12.117)
    "ORA-28733324": """
        4.1.12-124.24.3.el6uek.x86_64      p
        4.1.12-124.24.3.el7uek.x86_64      p
        4.1.12-124.24.3                    p
        4.1.12-124.24.10.el7uek.x86_64     p
        4.1.12-124.27.2.el7uek.x86_64      p
        4.1.12-124.100.1.el7uek.x86_64     p
        4.1.12-124.24.3.1.el7uek.x86_64    p
        4.1.12-124.24.2.el7uek.x86_64      m
        4.1.12-124.24.1.el7uek             m
        4.1.12-124.18.6.el6uek.x86_64      m
        4.1.12-124.9.9.el6uek.x86_64       m
        4.1.12-112.16.7.el6uek.x86_64      m
        4.1.12-61.1.28.el7uek.x86_64       m
        4.14.35-1844.2.1.el7uek.x86_64     p
        4.14.35-1844.2.5.el7uek.x86_64     p
        4.14.35-1844.10.1.el7uek.x86_64    p
        4.14.35-1902.3.1.el7uek.x86_64     p
        4.14.35-2047.500.1.el7uek.aarch64  p
        4.14.35-1844.1.3.el7uek.x86_64     m
        4.14.35-1844.0.7.el7uek.x86_64     m
        4.14.35-1818.5.4.el7uek.x86_64     m
        5.4.17-2136.321.4.el8uek.x86_64    u
        5.15.0-100.96.32.el8uek.x86_64     u
        6.12.0-1.23.3.2.el9uek.x86_64      u
        3.8.13-118.20.1.el6uek.x86_64      u
        6.12.117                           m
        6.12.0                             m
        6.1.192                            m
        4.19.300                           m
        6.18.2                             u
        7.1.0                              u
        6.1.0-56-amd64                     m
        6.12.117+deb12-amd64               m
        6.8.4-300.fc40.x86_64              m
        5.15.0-91-generic                  m
        4.18.0-553.16.1.el8_10.x86_64      m
        5.14.0-427.13.1.el9_4.x86_64       m
        garbage                            u
    """,
    # UEK4 4.1.12-124.24.5 at the latest, UEK5 4.14.35-1844.2.1
    "ORA-29138813": """
        4.1.12-124.24.5.el7uek.x86_64      p
        4.1.12-124.27.2.el7uek.x86_64      p
        4.1.12-124.24.4.el7uek.x86_64      u
        4.1.12-112.16.7.el7uek.x86_64      u
        4.14.35-1844.2.1.el7uek.x86_64     p
        4.14.35-1844.2.0.el7uek.x86_64     m
        6.1.192                            u
    """,
    # UEK7 5.15.0-4.70.5 at the earliest
    "ORA-34684321": """
        5.15.0-4.70.4.el8uek.x86_64        m
        5.15.0-3.60.5.1.el8uek.x86_64      m
        5.15.0-4.70.5.el8uek.x86_64        u
        5.15.0-4.70.5.2.el8uek.x86_64      u
        5.15.0-5.76.5.1.el8uek.x86_64      p
        5.15.0-100.96.32.el8uek.x86_64     p
        5.4.17-2136.321.4.el8uek.x86_64    u
        5.15.0-91-generic                  u
    """,
    # UEK6 5.4.17-2136.325.4 at the earliest
    "ORA-35836949": """
        5.4.17-2136.325.3.el8uek.x86_64    m
        5.4.17-2136.324.5.3.el8uek.x86_64  m
        5.4.17-2136.325.4.el8uek.x86_64    u
        5.4.17-2136.325.5.1.el8uek.x86_64  u
        5.4.17-2136.326.6.el8uek.x86_64    p
        5.4.17-2102.200.13.el8uek.x86_64   m
    """,
    # UEK4 about 4.1.12-24
    "ORA-22126982": """
        4.1.12-24.el7uek.x86_64            u
        4.1.12-20.el7uek.x86_64            u
        4.1.12-32.1.2.el7uek.x86_64        p
        4.1.12-124.24.3.el7uek.x86_64      p
    """,
    # UEK4 4.1.12-23 at the earliest
    "ORA-21684447": """
        4.1.12-22.el7uek.x86_64            m
        4.1.12-23.el7uek.x86_64            u
        4.1.12-61.1.28.el7uek.x86_64       p
    """,
    # UEK4 4.1.10-21
    "ORA-22025570": """
        4.1.10-21.el7uek.x86_64            p
        4.1.12-32.el7uek.x86_64            p
        4.1.9-20.el7uek.x86_64             m
    """,
    # UEK5 4.14.35-1902.303.5.2, taken out in 1902.303.5.3
    "ORA-31463014": """
        4.14.35-1902.303.5.2.el7uek.x86_64 p
        4.14.35-1902.303.5.1.el7uek.x86_64 m
        4.14.35-1902.303.5.el7uek.x86_64   m
        4.14.35-1902.303.5.3.el7uek.x86_64 m
        4.14.35-2025.400.9.el7uek.x86_64   m
    """,
    # UEK4 4.1.12-124.16.2, taken out in 124.27.2
    "ORA-28149101": """
        4.1.12-124.16.1.el7uek.x86_64      m
        4.1.12-124.16.2.el7uek.x86_64      p
        4.1.12-124.26.12.el7uek.x86_64     p
        4.1.12-124.27.2.el7uek.x86_64      m
    """,
    # UEK4, release not known
    "ORA-22347191": """
        4.1.12-124.24.3.el7uek.x86_64      u
        4.14.35-1902.3.1.el7uek.x86_64     u
        6.1.192                            u
    """,
    # UEK2 2.6.39-400.302.1, UEK4 4.1.12-112.16.7
    "ORA-28539910": """
        2.6.39-400.302.1.el6uek.x86_64     p
        2.6.39-400.301.2.el6uek.x86_64     m
        2.6.39-400.302.2.el5uek.x86_64     p
        4.1.12-112.16.7.el6uek.x86_64      p
        4.1.12-112.16.4.el6uek.x86_64      m
        3.8.13-118.20.1.el6uek.x86_64      u
    """,
    # since 4.8; 4.19.320 5.4.282 5.10.224 5.15.165 6.1.103 6.6.44 6.10.3, mainline 6.11
    "UP-aee2424246f9": """
        4.4.302                            n
        4.7.10                             n
        4.8.0                              m
        4.14.336                           m
        4.19.319                           m
        4.19.320                           p
        5.4.281                            m
        5.4.282                            p
        5.10.224                           p
        5.10.99                            m
        5.15.164                           m
        5.15.200                           p
        6.1.102                            m
        6.1.103                            p
        6.1.192                            p
        6.5.13                             m
        6.6.43                             m
        6.6.44                             p
        6.9.12                             m
        6.10.2                             m
        6.10.3                             p
        6.11.0                             p
        6.11.0-rc2                         u
        6.12.0                             p
        6.14.0                             p
        7.1.0                              p
        6.1.0-56-amd64                     u
        6.12.117+deb12-amd64               p
        6.1.79-99.164.amzn2023.x86_64      m
        6.1.109-118.189.amzn2023.x86_64    p
        6.10.9-200.fc40.x86_64             p
        5.14.5-1.el7.elrepo.x86_64         m
        5.15.0-91-generic                  u
        6.11.0-19-generic                  p
        6.8.12-4-pve                       u
        6.11.0-1-pve                       p
        4.18.0-553.16.1.el8_10.x86_64      u
        6.12.0-55.9.1.el10_0.x86_64        p
        5.3.18-150300.59.106-default       u
        6.4.0-150600.23.22-default         u
        6.9.7-1-default                    m
        5.15.0-100.96.32.el8uek.x86_64     u
        6.12.0-1.23.3.2.el9uek.x86_64      p
        4.1.12-124.24.3.el7uek.x86_64      u
        4.19.90-25.44.v2101.ky10.aarch64   u
    """,
    # since 4.19.320 5.10.224 5.15.165 5.4.282 6.1.103 6.10.3 6.6.44, mainline 6.11; fixed in 4.19.323 5.4.285
    # 5.10.227 5.15.168 6.1.113 6.6.54 6.10.13 6.11.2, mainline 6.12
    "UP-86dfdd828890": """
        4.14.336                           n
        4.19.319                           n
        4.19.320                           m
        4.19.322                           m
        4.19.323                           p
        5.4.281                            n
        5.4.284                            m
        6.1.102                            n
        6.1.103                            m
        6.1.112                            m
        6.1.113                            p
        6.7.12                             n
        6.10.2                             n
        6.10.5                             m
        6.10.13                            p
        6.11.0                             m
        6.11.2                             p
        6.12.0                             p
        6.12.0-rc1                         u
        6.1.0-25-amd64 #1_SMP_Debian_6.1.106-3   m
        6.1.0-28-amd64 #1_SMP_Debian_6.1.119-1   p
        6.1.0-20-amd64 #1_SMP_Debian_6.1.85-1    n
        6.1.0-28-amd64                     u
    """,
    # since 6.11; 6.12.75 6.18.14 6.19.4, mainline 7.0
    "UP-7874eeacfa42": """
        6.1.192                            n
        6.10.14                            n
        6.11.5                             m
        6.12.74                            m
        6.12.75                            p
        6.12.117+deb12-amd64               p
        6.13.0                             m
        6.18.13                            m
        6.18.14                            p
        6.19.4                             p
        7.0.0                              p
        6.1.0-56-amd64                     n
        5.14.0-427.13.1.el9_4.x86_64       u
        6.12.0-55.9.1.el10_0.x86_64        u
        6.8.0-45-generic                   n
    """,
    # since 5.19; 5.19.9, mainline 6.0
    "UP-ead54ced6321": """
        5.18.19                            n
        5.19.0                             m
        5.19.8                             m
        5.19.9                             p
        6.0.0                              p
        5.14.0-130.el9.x86_64              u
        5.15.0-100.96.32.el8uek.x86_64     u
    """,
    # a regression of stable updates: since 6.12.13 and 6.13.2; no fixed release listed
    "UP-3d8c6f26893d": """
        6.11.11                            n
        6.12.12                            n
        6.12.13                            u
        6.13.1                             n
        6.14.0                             u
    """,
    # stable rows only: 6.1.189 6.12.111
    "UP-T-net-rds-don-t-sleep-inside-rds-ib-conn-path-shutdown": """
        6.1.188                            m
        6.1.189                            p
        6.1.192                            p
        6.1.0-56-amd64 #1_SMP_PREEMPT_DYNAMIC_Debian_6.1.192-2_(2026-10-01)  p
        6.12.110                           m
        6.12.117+deb12-amd64               p
        6.6.150                            u
        5.10.250                           u
        6.18.40                            u
        7.3.0                              u
    """,
    # 5.8.10, mainline 5.9
    "UP-T-nvme-rdma-serialize-controller-teardown-sequences": """
        5.8.9                              m
        5.8.10                             p
        5.9.0                              p
        6.1.192                            p
        5.4.200                            u
        5.4.17-2136.321.4.el8uek.x86_64    u
        5.15.0-4.70.5.el8uek.x86_64        p
        5.15.0-91-generic                  p
    """,
    # since 2.6.18; mainline 4.8
    "UP-59c68ac31e15": """
        2.6.17.14                          n
        2.6.18                             m
        2.6.32.9                           m
        3.10.108                           m
        4.7.10                             m
        4.8.0                              p
        4.1.12-124.24.3.el7uek.x86_64      u
        4.14.35-1902.3.1.el7uek.x86_64     p
        3.10.0-1160.el7.x86_64             u
        4.18.0-553.16.1.el8_10.x86_64      p
    """,
    # nothing fixes it anywhere
    "OBS-iwcm-connect-wait": """
        6.1.192                            m
        4.14.35-1902.300.11.el7uek.x86_64  m
        5.14.0-130.el9.x86_64              m
    """,
}


def rows() -> list[tuple[str, str, str, str]]:
    found = []
    for fix, table in TABLE.items():
        for line in table.strip().splitlines():
            release, *version, want = line.split()
            found.append((fix, release, " ".join(version).replace("_", " "), want))
    return found


def test_the_table_is_long_enough():
    assert len({(row[1], row[2]) for row in rows()}) >= 150
    assert len(rows()) >= 210


@pytest.mark.parametrize(("fix", "release", "version", "want"), rows())
def test_table(known: Knowledge, fix: str, release: str, version: str, want: str):
    found, why = status(known.fixes[fix], KernelEvidence(parse_kernel(release, version)))
    letter = "n" if why.startswith("not affected") else found[0]
    assert letter == want, why
    assert why


def make(**rows: object) -> Fix:
    return Fix("X-1", "t", "rds", "e", "title", "likely", ["s"], **rows)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tree", "fixed", "release", "version", "want"),
    [
        ("RHEL8", "4.18.0-553.16.1", "4.18.0-553.16.1.el8_10.x86_64", "", "present"),
        ("RHEL8", "4.18.0-553.16.1", "4.18.0-553.el8_10.x86_64", "", "missing"),
        ("RHEL8", "4.18.0-553.16.1", "4.18.0-80.el8.x86_64", "", "missing"),
        ("RHEL8", "4.18.0-553.16.1", "5.14.0-427.el9_4.x86_64", "", "unknown"),
        ("RHEL9", "5.14.0-427.13.1", "5.14.0-503.el9_5.x86_64", "", "present"),
        ("Debian", "6.1.76-1", "6.1.0-18-amd64", "#1 SMP Debian 6.1.76-1 (2024-02-01)", "present"),
        ("Debian", "6.1.76-1", "6.1.0-17-amd64", "#1 SMP Debian 6.1.69-1 (2023-12-30)", "missing"),
        ("Debian", "6.1.76-1", "6.1.0-0.deb11.17-amd64", "Debian 6.1.76-1~bpo11+1", "missing"),
        ("Debian", "6.1.76-1", "6.1.0-18-amd64", "", "unknown"),
        ("Ubuntu", "5.15.0-91.101", "5.15.0-91-generic", "", "present"),
        ("Ubuntu", "5.15.0-91.101", "5.15.0-100-generic", "", "present"),
        ("Ubuntu", "5.15.0-91.101", "5.15.0-89-generic", "", "missing"),
        ("SLES15.3", "5.3.18-150300.59.106", "5.3.18-150300.59.93-default", "", "missing"),
        ("SLES15.3", "5.3.18-150300.59.106", "5.3.18-150300.59.124-default", "", "present"),
    ],
)
def test_rows_of_distributions(tree: str, fixed: str, release: str, version: str, want: str):
    fix = make(fixed_in=[FixedIn(tree, fixed)])
    assert status(fix, KernelEvidence(parse_kernel(release, version))).status == want


UEK4_OLD = "4.1.12-124.18.6.el6uek.x86_64"
UEK4_NEW = "4.1.12-124.24.3.el6uek.x86_64"
FLAGS = "member:struct rds_ib_connection.i_flags"


@pytest.mark.parametrize(
    ("release", "marks", "want"),
    [
        (UEK4_OLD, {FLAGS: True}, "present"),  # a backport: the mark beats the number
        (UEK4_NEW, {FLAGS: False}, "missing"),
        (UEK4_OLD, {"enumerator:RDS_IB_CQ_ERR": True}, "present"),
        (UEK4_NEW, {"enumerator:RDS_IB_CQ_ERR": False}, "present"),  # a macro leaves no trace
        ("5.4.17-2136.321.4.el8uek.x86_64", {FLAGS: True}, "present"),
        ("5.4.17-2136.321.4.el8uek.x86_64", {FLAGS: False}, "missing"),
        ("6.1.192", {FLAGS: False}, "missing"),
        (
            "6.12.117",
            {FLAGS: True},
            "missing",
        ),  # a member of that name in mainline would be something else
    ],
)
def test_marks_of_story_a(known: Knowledge, release: str, marks: dict[str, bool], want: str):
    evidence = KernelEvidence(parse_kernel(release), marks)
    assert status(known.fixes["ORA-28733324"], evidence).status == want


RECLAIM = "wq_flag:iw_cm_wq:WQ_MEM_RECLAIM"
NO_LIST = "no_member:struct iwcm_id_private.work_list"


@pytest.mark.parametrize(
    ("fix", "release", "mark", "seen", "want"),
    [
        ("UP-86dfdd828890", "4.18.0-553.el8_10.x86_64", RECLAIM, True, "present"),
        ("UP-86dfdd828890", "5.14.0-427.el9_4.x86_64", RECLAIM, False, "missing"),
        ("UP-86dfdd828890", "6.1.50", RECLAIM, False, "present"),  # older than the fault
        (
            "UP-86dfdd828890",
            "4.1.12-124.24.3.el7uek",
            RECLAIM,
            True,
            "unknown",
        ),  # set for another reason
        ("UP-aee2424246f9", "5.14.0-427.el9_4.x86_64", RECLAIM, True, "present"),
        ("UP-aee2424246f9", "5.14.0-427.el9_4.x86_64", RECLAIM, False, "unknown"),
        ("UP-7874eeacfa42", "6.12.0-55.9.1.el10_0.x86_64", NO_LIST, True, "present"),
        ("UP-7874eeacfa42", "6.12.0-55.9.1.el10_0.x86_64", NO_LIST, False, "missing"),
        ("UP-7874eeacfa42", "6.1.192", NO_LIST, False, "present"),
    ],
)
def test_marks_of_the_iwarp_cm(
    known: Knowledge, fix: str, release: str, mark: str, seen: bool, want: str
):
    evidence = KernelEvidence(parse_kernel(release), {mark: seen})
    assert status(known.fixes[fix], evidence).status == want


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("RDS/IB: event 0 (CQ_ERR) data 00000000c1f2aa31", "present"),
        ("RDS/IB: event 0 (IB_EVENT_CQ_ERR) data ffff881f2a1d4000", "present"),
        ("RDS/IB: event 3 (QP_ACCESS_ERR) data ffff881f2a1d4000", "missing"),
        ("event 0 (CQ error) data ffff881f2a1d4000", "missing"),
    ],
)
def test_a_line_that_only_fixed_kernels_print(known: Knowledge, line: str, want: str):
    evidence = KernelEvidence(parse_kernel(UEK4_OLD), {}, {"rds.cq_error_event": [line]})
    assert status(known.fixes["ORA-28733324"], evidence).status == want


def test_a_log_mark_is_looked_for_in_its_kinds_only():
    fix = make(log_marks=[LogMark("only this", ["a.b"])], fixed_in=[FixedIn("mainline", "6.9")])
    kernel = parse_kernel("6.8.0")
    assert status(fix, KernelEvidence(kernel, {}, {"c.d": ["only this"]})).status != "present"
    assert status(fix, KernelEvidence(kernel, {}, {"a.b": ["only this"]})).status == "present"


def test_without_a_release_a_line_still_tells(known: Knowledge):
    evidence = KernelEvidence(
        parse_kernel(""), {}, {"rds.cq_error_event": ["RDS/IB: event 0 (CQ_ERR) data 1"]}
    )
    assert status(known.fixes["ORA-28733324"], evidence).status == "present"


def test_a_mark_that_means_missing():
    fix = make(marks=[Mark("symbol:mod:old_way", means="missing", why="taken out")])
    kernel = parse_kernel("6.8.0")
    assert status(fix, KernelEvidence(kernel, {"symbol:mod:old_way": True})).status == "missing"
    assert status(fix, KernelEvidence(kernel, {"symbol:mod:old_way": False})).status == "present"


@pytest.mark.parametrize(
    ("fix", "release", "words"),
    [
        ("ORA-28733324", UEK4_OLD, ["4.1.12-124.24.3", "4.1.12-124.18.6"]),
        ("ORA-28733324", "6.1.192", ["mainline has no such change", "6.12.117"]),
        ("ORA-28733324", "", ["release is not known"]),
        ("ORA-28425811", "4.14.35-1844.2.2.el7uek", ["29200902", "4.14.35-1844.2.3"]),
        ("UP-aee2424246f9", "5.14.0-427.el9", ["starts from 5.14", "vendor"]),
        ("UP-86dfdd828890", "6.1.50", ["not affected", "6.1.103"]),
        ("ORA-28947481", "6.1.192", ["UEK4", "changelog", "28947481"]),
    ],
)
def test_the_reason_says_what_decided_or_would(
    known: Knowledge, fix: str, release: str, words: list[str]
):
    why = status(known.fixes[fix], KernelEvidence(parse_kernel(release))).why
    assert [word for word in words if word not in why] == []


def test_marks_wanted_are_those_of_all_fixes(known: Knowledge):
    wanted = marks_wanted(known.fixes.values())
    assert {FLAGS, RECLAIM, NO_LIST, "enumerator:RDS_IB_CQ_ERR"} <= set(wanted)
    assert wanted == sorted(set(wanted))
