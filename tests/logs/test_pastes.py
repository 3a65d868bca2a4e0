"""Pasted stacks and messages without heads are logs, too; what is not in a log is not made up."""

import pytest

STACKS = {
    "gdb": "#{n}  {f}+0x2c1/0x950\n",
    "drgn": "#{n}  {f} (net/rds/ib_cm.c:1100:3)\n",
    "crash": " #{n} [ffffb1a2c3d4e5f0] {f} at ffffffff81a2b3c4\n",
    "proc": "[<0>] {f}+0x2e4/0x560\n",
}
FUNCTIONS = (
    "schedule",
    "rds_ib_conn_path_shutdown",
    "rds_conn_shutdown",
    "process_one_work",
    "kthread",
)
DROP = "RDS/IB: connection <10.0.0.1,10.0.0.2,0> dropped due to 'DISCONNECTED event'"


@pytest.mark.parametrize("style", STACKS)
def test_nothing_but_a_stack(tmp_path, diagnose, style):
    path = tmp_path / "bt"
    path.write_text("".join(STACKS[style].format(n=n, f=f) for n, f in enumerate(FUNCTIONS)))
    log = diagnose(path)
    assert [(f.kind, f.fields["functions"]) for f in log.facts] == [("task", list(FUNCTIONS))]
    assert (log.info.records, log.info.unparsed) == (len(FUNCTIONS), 0)


def test_messages_without_heads_are_records_if_they_are_known(tmp_path, diagnose):
    path = tmp_path / "cat"
    path.write_text(f"{DROP}\nhello there\n")
    log = diagnose(path)
    assert [f.kind for f in log.facts] == ["rds.connection_dropped"]
    assert (log.info.records, log.info.unparsed) == (1, 1)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("Sep 29 22:32:33 db01 kernel: ", True),
        ("2018-09-29T22:32:33 db01 kernel: ", True),
        ("[Sat Sep 29 22:32:33 2018] ", True),
        ("2018-09-29T22:32:33+02:00 db01 kernel: ", False),
        ("2018-09-29T22:32:33Z db01 kernel: ", False),
        ("[   12.345678] ", False),
    ],
)
def test_times_without_a_zone_are_said_to_be_taken_for_utc(tmp_path, diagnose, head, said):
    path = tmp_path / "x"
    path.write_text(f"{head}{DROP}\n")
    problems = diagnose(path).info.problems
    assert [p.remark for p in problems if "without a zone" in p.what] == [True] * said


def test_checks_of_accesses_are_not_what_two_reports_have_in_common(tmp_path, diagnose):
    path = tmp_path / "x"
    frames = ("dump_stack", "kasan_report", "__asan_load8", "rds_send_drop_to", "rds_release")
    text = "BUG: KASAN: use-after-free in rds_send_drop_to+0x1/0x2\nCall Trace:\n"
    path.write_text(text + "".join(f" {f}+0x1/0x2 [rds]\n" for f in frames))
    (fact,) = diagnose(path).facts
    assert fact.fields["signature"] == "rds_send_drop_to < rds_release"
