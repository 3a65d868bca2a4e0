"""The words that all renderers share, and what is drawn."""

import msgspec
import pytest

from rdmadiag.commands.diagnose import Request, make_report
from rdmadiag.report import view
from rdmadiag.report.headline import headline
from rdmadiag.report.model import Check, Evidence, ProblemRow
from rdmadiag.report.picture import Ring, picture
from tests.report.samples import (
    finding_a,
    finding_b,
    fix_a,
    healthy,
    incomplete,
    rds_connection,
    ring,
    several,
    story_a,
)
from tests.vmcore.samples import path_of


def test_headline_names_the_worst():
    head = headline(several())
    assert head.tone == "critical"
    assert head.text == finding_a().title
    assert head.notes == [
        "6 findings in all: 2 critical, 4 warning.",
        "1 check of 11 could not run.",
        "2 problems in reading the input.",
    ]


@pytest.mark.parametrize(
    ("verdict", "opening"), [("probable", "Probably: "), ("possible", "Possibly: ")]
)
def test_headline_is_as_sure_as_the_verdict(verdict, opening):
    report = msgspec.structs.replace(story_a(), findings=[finding_a(verdict=verdict)])
    assert headline(report).text.startswith(opening)


def test_headline_without_findings():
    assert headline(healthy()).tone == "clean"
    assert headline(incomplete()).tone == "incomplete"
    assert "no all-clear" in headline(incomplete()).text


@pytest.mark.parametrize(
    ("looked", "tone", "text"),
    [(False, "incomplete", "Nothing was checked"), (True, "clean", "No known RDMA fault")],
)
def test_headline_of_a_dump_without_what_a_check_is_about(looked, tone, text):
    inputs = [msgspec.structs.replace(healthy().inputs[0], kind="vmcore")]
    checks = [Check("x", "not-applicable", "nothing of it in the inputs", looked=looked)]
    report = msgspec.structs.replace(healthy(), inputs=inputs, checks=checks)
    assert headline(report).tone == tone
    assert text in headline(report).text


@pytest.mark.parametrize(
    ("lines", "text", "note"),
    [
        (
            ["systemd[1]: Started Daily Cleanup.", "kernel: eth0: link becomes ready"],
            "No message of RDMA was found in the log.",
            "2 records were read, from 2026-03-01 10:00:00Z to 2026-03-01 10:00:01Z: no message of RDMA. "
            "This says nothing of what was not logged.",
        ),
        (
            ["kernel: rdma_rxe: loaded"],
            "No fault that was looked for was found in the log.",
            "1 record was read, from 2026-03-01 10:00:00Z to 2026-03-01 10:00:00Z: 1 message of RDMA, "
            "none of which a check that was made is about. This says nothing of what was not logged.",
        ),
    ],
)
def test_headline_of_a_log_without_what_a_check_is_about(tmp_path, lines, text, note):
    log = tmp_path / "messages"
    rows = [f"2026-03-01T10:00:0{n}+00:00 node1 {line}\n" for n, line in enumerate(lines)]
    log.write_text("".join(rows))
    head = headline(make_report(Request([str(log)])))
    assert (head.tone, head.text, head.notes[0]) == ("incomplete", text, note)


OUTSIDE = "The log lies outside of the time that was asked for, by its first and last record."


@pytest.mark.parametrize(
    ("since", "until", "text", "asked"),
    [
        (None, "2026-03-01T09", OUTSIDE, "until 2026-03-01 09:00:00Z"),
        ("2026-03-02", None, OUTSIDE, "since 2026-03-02 00:00:00Z"),
        (
            "2026-03-01T10:30",
            "2026-03-01T11:30",
            "No message of RDMA was found in the time that was asked for.",
            "since 2026-03-01 10:30:00Z and until 2026-03-01 11:30:00Z",
        ),
    ],
)
def test_headline_of_a_log_of_which_the_times_asked_for_leave_nothing(
    tmp_path, since, until, text, asked
):
    fault = "kernel: mlx4_core 0000:46:00.0: CQ access violation on CQN 000419"
    log = tmp_path / "messages"
    log.write_text("".join(f"2026-03-01T{h}:00:00+00:00 node1 {fault}\n" for h in (10, 12)))
    head = headline(make_report(Request([str(log)], since=since, until=until)))
    assert (head.tone, head.text) == ("incomplete", text)
    assert head.notes == [
        "2 records were read, from 2026-03-01 10:00:00Z to 2026-03-01 12:00:00Z: "
        "no message of RDMA in the time that was asked for. This says nothing of what was not logged.",
        f"Of the log only records {asked} were asked for.",
    ]


def test_headline_of_findings_says_what_of_the_log_was_asked_for(tmp_path):
    log = tmp_path / "messages"
    log.write_text(
        "2026-03-01T10:00:00+00:00 node1 kernel: mlx4_core 0000:46:00.0: CQ access violation on CQN 000419\n"
    )
    report = make_report(Request([str(log)], since="2026-03-01"))
    assert report.findings
    assert "Of the log only records since 2026-03-01 00:00:00Z were asked for." in (
        headline(report).notes
    )


def test_headline_of_checks_that_were_chosen_says_nothing_of_others(tmp_path):
    log = tmp_path / "messages"
    log.write_text("Mar  1 10:00:00 node1 kernel: mlx4_core 0000:46:00.0: CQ error on CQN 0x419\n")
    only = ["srp-target-gone"]
    head = headline(make_report(Request([str(log)], only=only)))
    assert head.text == "No fault that was looked for was found in the log."
    assert "1 message of RDMA, none of which a check that was made is about" in head.notes[0]
    dump = str(path_of("rds-stuck-recv"))
    head = headline(make_report(Request([dump, str(log)], only=only)))
    assert head.text.startswith("Nothing was checked")


def test_headline_with_known_findings_only():
    report = msgspec.structs.replace(story_a(), findings=[finding_a(known=True)], checks=[])
    assert headline(report).tone == "clean"
    assert "baseline" in headline(report).text
    assert headline(report).notes[0] == "1 finding known from the baseline."


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.000032, "32 µs"),
        (0.25, "250 ms"),
        (5, "5 s"),
        (5.25, "5.2 s"),
        (68.9, "68.9 s"),
        (200, "3 min 20 s"),
        (3600, "1 h"),
        (3599.6, "1 h"),
        (3623, "1 h"),
        (3652, "1 h 1 min"),
        (86399, "1 d"),
        (90000, "1 d 1 h"),
        (36914.2, "10 h 15 min"),
        (187_205, "2 d 4 h"),
        (-5, "-5 s"),
        (0, "0 µs"),
    ],
)
def test_duration(seconds, text):
    assert view.duration(seconds) == text


@pytest.mark.parametrize(
    ("time", "at"),
    [
        ("1970-01-01T00:00:01+00:00", ("wall", 1.0)),
        ("1970-01-01T02:00:01.5+02:00", ("wall", 1.5)),
        (12.5, ("uptime", 12.5)),
        (None, None),
        ("yesterday", None),
        ("<b>", None),
        (float("nan"), None),
        (float("inf"), None),
    ],
)
def test_moment(time, at):
    assert view.moment(time) == at


def row(time, line=1):
    return Evidence("c", "k", "t", time, {}, {"input": "i", "line": line})


def test_chain_is_in_order_and_says_how_much_later():
    times = [None, 7.0, "2026-01-01T00:00:05+00:00", "2026-01-01T00:00:02+00:00", "junk"]
    steps = view.chain(finding_a(evidence=[row(t) for t in times]))
    assert [s.evidence.time for s in steps] == [times[3], times[2], 7.0, None, "junk"]
    assert [s.after for s in steps] == ["", "+3 s", "", "", ""]


def test_sides():
    assert [s.side for s in view.chain(finding_a())] == ["log"] * 3 + ["state"] * 3


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({"input": "messages", "line": 7, "offset": 99}, "messages:7"),
        ({"input": "messages", "offset": 99}, "messages, byte 99"),
        ({"input": "vmcore"}, "vmcore"),
        ({}, "?"),
        (
            {"input": "vmcore", "type": "struct x", "address": "0xff", "member": "m"},
            "vmcore: struct x 0xff .m",
        ),
    ],
)
def test_where(where, text):
    assert view.where_text(where) == text


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ({"laddr": "a", "faddr": "b", "tos": 3}, "a → b · tos 3"),
        ({"controller": "nvme3", "traddr": "t"}, "nvme3 · traddr t"),
        ({"device": "mlx4_0", "cqn": 5}, "mlx4_0 · cqn 5"),
        ({}, ""),
    ],
)
def test_subject(subject, text):
    assert view.subject_text(subject) == text


def test_a_queue_whose_number_is_not_known_is_not_drawn():
    (row,) = (e for e in finding_a().evidence if e.kind == "hca.cq_error")
    unnamed = msgspec.structs.replace(row, fields=row.fields | {"cqn": None})
    finding = msgspec.structs.replace(finding_a(), evidence=[unnamed])
    assert picture(finding).queues == []


def test_picture_of_the_stuck_connection():
    drawn = picture(finding_a())
    assert (drawn.here, drawn.there, drawn.state, drawn.up) == (
        "198.51.100.43",
        "198.51.100.1",
        "DISCONNECTING",
        False,
    )
    assert drawn.device == ["mlx4_0", "QP 1049 ERR"]
    assert drawn.queues[0] == ("CQ in error", "0x00041a", True)
    assert drawn.rings == [Ring("send", 256, 114, 114, 0), Ring("recv", 1024, 2, 127, 899)]
    assert [link.title.split(" (")[0] for link in drawn.waiters] == [
        "899 receive completions",
        "kworker/u224:1",
        "rds_shutdown_worker 0xffff88c1f2aa0190",
    ]


def test_picture_of_the_blocked_controller():
    drawn = picture(finding_b(0))
    assert (drawn.here, drawn.there, drawn.device) == ("nvme0", "203.0.113.2", ["siw0"])
    assert [s.state for s in drawn.slots] == ["stuck", "idle", "idle", "idle", "idle"]
    assert [link.title for link in drawn.waiters] == [
        "the pending connection attempt",
        "kworker/u8:0 (PID 40)",
        "nvme (PID 812)",
    ]
    assert drawn.bound.limit == 4.7


@pytest.mark.parametrize(
    "bad",
    [
        ring(0, 0, 0, 0, 0),
        ring(128, 130, 0, 0, 5),
        ring(128, 0, -1, 0, 5),
        ring(128, 0, 0, 0, 129),
        ring(1 << 30, 0, 0, 0, 1),
        {"nr": 128},
        {**ring(128, 0, 0, 0, 5), "nr": True},
        "ring",
        None,
    ],
)
def test_a_ring_that_lies_is_not_drawn(bad):
    finding = finding_a()
    evidence = msgspec.structs.replace(finding.evidence[3], fields=rds_connection(recv_ring=bad))
    drawn = picture(msgspec.structs.replace(finding, evidence=[evidence]))
    assert [r.name for r in drawn.rings] == ["send"]


def test_the_connection_that_is_waited_for_is_drawn():
    finding = finding_a(subject={"task": 9})
    blocker = finding.evidence[3]
    victim = rds_connection(
        laddr="198.51.100.50", state="ERROR", shutdown_task=None, behind_task=62577
    )
    rows = [msgspec.structs.replace(blocker, fields=victim), blocker, finding.evidence[4]]
    drawn = picture(msgspec.structs.replace(finding, evidence=rows))
    assert drawn.here == "198.51.100.43"
    assert drawn.waiters[-1].title == "RDS 198.51.100.50 → 198.51.100.1 (tos 0)"
    about = {"laddr": "198.51.100.50", "faddr": "198.51.100.1", "tos": 0}
    drawn = picture(msgspec.structs.replace(finding, evidence=rows, subject=about))
    assert drawn.here == "198.51.100.50"


@pytest.mark.parametrize(
    ("paths", "short"),
    [
        (["/a/b/vmcore", "/a/b/messages"], ["vmcore", "messages"]),
        (["/a/n1/messages", "/a/n2/messages"], ["n1/messages", "n2/messages"]),
        (["x/messages", "messages"], ["x/messages", "messages"]),
        (["-", "/"], ["-", "/"]),
        (["/x/s.tar!var/log/m"], ["s.tar!var/log/m"]),
        (["/x/s.tar!v/m", "/y/s.tar!v/m", "s.tar"], ["x/s.tar!v/m", "y/s.tar!v/m", "s.tar"]),
    ],
)
def test_short_paths(paths, short):
    row = story_a().inputs[1]
    inputs = [msgspec.structs.replace(row, path=path) for path in paths]
    report = msgspec.structs.replace(story_a(), inputs=inputs, findings=[])
    names = view.short_paths(report)
    assert [names[path] for path in paths] == short


def test_remarks_are_no_problems():
    row = story_a().inputs[0]
    rows = [ProblemRow("cut short"), ProblemRow("no year", remark=True)]
    report = msgspec.structs.replace(
        healthy(), inputs=[msgspec.structs.replace(row, problems=rows)]
    )
    assert headline(report).notes == [
        "1 problem in reading the input.",
        "1 remark on the input.",
    ]


@pytest.mark.parametrize(
    ("why", "shown"),
    [
        ("explained by a, b", "explained by F1, F2-F5"),
        ("explained by a, no-such", "explained by a, no-such"),
        ("not found: a", "not found: a"),
    ],
)
def test_a_reason_names_findings_by_their_labels(why, shown):
    assert view.reason(Check("x", "ruled-out", why), {"a": "F1", "b": "F2-F5"}) == shown


def test_checks_that_a_finding_explains_are_apart():
    rows = [
        Check("a", "fired", "explained by"),
        Check("b", "ruled-out", "explained by a"),
        Check("c", "ruled-out", "other findings explain all of them"),
        Check("d", "ruled-out", "no such message"),
    ]
    groups = view.by_outcome(msgspec.structs.replace(healthy(), checks=rows))
    assert {name: [c.id for c in checks] for name, checks in groups.items()} == {
        "fired": ["a"],
        "explained": ["b", "c"],
        "ruled-out": ["d"],
    }


def test_nothing_to_draw():
    assert not picture(finding_a(evidence=[], host=""))


def test_a_fix_is_called_what_others_call_it():
    fix = fix_a()
    assert view.references(fix) == ["Orabug 28733324"]
    upstream = msgspec.structs.replace(fix, cve="CVE-2021-1", commit="0e2909c6bec9")
    assert view.references(upstream) == ["Orabug 28733324", "CVE-2021-1", "commit 0e2909c6bec9"]
    assert view.references(msgspec.structs.replace(fix, id="UP-T-1", orabug="")) == ["UP-T-1"]


def test_equal_evidence_is_one_row_with_its_count(tmp_path):
    lines = [
        f"2026-03-0{day}T1{day}:00:0{second}.12{second}000+00:00 host1 kernel: [{day}00{second}.12{second}000] mlx5_core 0000:17:00.1: "
        f"wait_func:1187:(pid {second}{day}): {name} timeout. Will cause a leak of a command resource\n"
        for name in ("2ERR_QP(0x507)", "QUERY_VPORT(0x750)")
        for day in range(1, 4)
        for second in range(5)
    ]
    log = tmp_path / "messages"
    log.write_text("".join(sorted(lines)))
    (finding,) = make_report(Request([str(log)])).findings
    assert [(row.fields["name"], row.count) for row in finding.evidence] == [
        ("2ERR_QP", 15),
        ("QUERY_VPORT", 15),
    ]


def test_evidence_that_is_not_shown_is_counted(tmp_path):
    lines = [
        f"2026-03-01T10:00:{second:02}+00:00 host1 kernel: mlx5_core 0000:17:00.1: wait_func:1187:(pid 7): "
        f"COMMAND_{chr(65 + second % 20)}(0x5{second % 20:02}) timeout. Will cause a leak of a command resource\n"
        for second in range(40)
    ]
    log = tmp_path / "messages"
    log.write_text("".join(lines))
    (finding,) = make_report(Request([str(log)])).findings
    assert [row.count for row in finding.evidence] == [2] * 12
    assert finding.evidence[-1].note.endswith(" (16 more are not shown)")
    assert "not shown" not in finding.evidence[-2].note
