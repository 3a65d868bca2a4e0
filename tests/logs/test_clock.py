"""Times: years that are not written, boots, and the kernel's clock tied to the wall clock."""

from datetime import UTC, datetime

import pytest

KERNEL = "kernel: nvme nvme0: x"


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def years(log):
    return [datetime.fromtimestamp(f.time.wall, UTC).strftime("%Y-%m-%d") for f in log.facts]


def test_year_of_the_files_date(read):
    log = read(f"Sep 29 22:32:33 a {KERNEL}\n", mtime=at("2018-10-03"))
    assert years(log) == ["2018-09-29"]
    assert "2018 was assumed" in log.problems


def test_date_later_in_the_year_than_the_file_is_of_the_year_before(read):
    assert years(read(f"Dec 29 22:32:33 a {KERNEL}\n", mtime=at("2019-01-03"))) == ["2018-12-29"]


def test_a_day_of_slack_for_time_zones(read):
    assert years(read(f"Jan  3 08:00:00 a {KERNEL}\n", mtime=at("2019-01-02T22:00"))) == [
        "2019-01-03"
    ]


def test_roll_over(read):
    text = f"Dec 31 23:59:59 a {KERNEL}\nJan  1 00:00:01 a {KERNEL}\nMar  1 00:00:01 a {KERNEL}\n"
    assert years(read(text, mtime=at("2019-05-01"))) == ["2018-12-31", "2019-01-01", "2019-03-01"]


def test_several_years_end_with_the_file(read):
    days = ["Mar  1", "Aug  1", "Dec 30", "Apr  2", "Sep  1", "Jan 15", "Jun  1"]
    log = read("".join(f"{d} 10:00:00 a {KERNEL}\n" for d in days), mtime=at("2020-06-02"))
    assert years(log) == [
        *("2018-03-01", "2018-08-01", "2018-12-30", "2019-04-02"),
        *("2019-09-01", "2020-01-15", "2020-06-01"),
    ]


def test_29_february_is_of_a_leap_year(read):
    text = f"Feb 28 10:00:00 a {KERNEL}\nFeb 29 10:00:00 a {KERNEL}\nMar  1 10:00:00 a {KERNEL}\n"
    log = read(text, mtime=at("2023-05-01"))
    assert years(log) == ["2020-02-28", "2020-02-29", "2020-03-01"]


def test_records_out_of_order_at_new_year(read):
    text = f"Jan  1 00:00:01 a {KERNEL}\nDec 31 23:59:59 b {KERNEL}\nJan  1 00:00:02 a {KERNEL}\n"
    assert years(read(text, mtime=at("2019-05-01"))) == ["2019-01-01", "2018-12-31", "2019-01-01"]


def test_a_complete_date_tells_the_years_around_it(read):
    text = f"Nov  3 10:00:00 a {KERNEL}\n2016-11-04T10:00:00+00:00 a {KERNEL}\nNov  5 10:00:00 a {KERNEL}\n"
    log = read(text, mtime=at("2023-05-01"))
    assert years(log) == ["2016-11-03", "2016-11-04", "2016-11-05"]
    assert "assumed" not in log.problems


def test_the_kernels_clock_driver_tells_the_year(read):
    text = (
        f"Sep 24 11:34:00 a kernel: [    0.000000] Linux version 4.1.12\n"
        "Sep 24 11:34:02 a kernel: [    2.000000] rtc_cmos rtc_cmos: setting system clock to "
        "2016-09-24 11:34:00 UTC (1474716840)\n"
        f"Sep 25 11:34:02 a {KERNEL}\n"
    )
    assert years(read(text, mtime=at("2023-05-01")))[-1] == "2016-09-25"


def test_dmesg_is_tied_to_the_wall_clock_by_the_clock_driver(read):
    log = read(
        "[    0.000000] Linux version 6.1.0\n"
        "[    2.000000] rtc_cmos 00:01: setting system clock to 2024-03-01T10:00:00 UTC (1709287200)\n"
        "[  100.500000] nvme nvme0: x\n"
    )
    assert [f.time.wall for f in log.facts] == [1709287198.0, 1709287200.0, 1709287298.5]


def test_uptime_only_lines_get_the_wall_clock_of_their_boot(read):
    log = read(
        "[  100.000000] before\n"
        "2024-03-01T10:00:00+00:00 kernel: [  200.000000] both\n"
        "[  300.000000] after\n"
    )
    start = at("2024-03-01T10:00:00") - 200
    assert [f.time.wall for f in log.facts] == [start + 100, start + 200, start + 300]


def test_late_stamps_of_early_messages_do_not_move_the_tie(read):
    log = read(
        "2024-03-01T10:00:20+00:00 a kernel: [    0.000000] Linux version 6.1.0\n"
        "2024-03-01T10:00:20+00:00 a kernel: [   15.000000] early\n"
        "2024-03-01T10:01:40+00:00 a kernel: [  100.000000] later\n"
        "hv kernel: [  200.000000] other host\n"
        "a kernel: [  200.000000] without date\n"
    )
    assert log.facts[-1].time.wall == at("2024-03-01T10:00:00") + 200
    assert log.facts[-2].time.wall is None


def test_uptime_that_goes_back_is_a_new_boot(read):
    log = read("".join(f"[{u:5d}.000000] x\n" for u in (100, 500, 20, 30, 29, 300, 5)))
    assert [f.time.boot for f in log.facts] == [0, 0, 1, 1, 1, 1, 2]


def test_cpus_that_print_past_each_other_are_no_boot(read):
    log = read("[  100.500000] x\n[  100.400000] x\n[   99.900000] x\n")
    assert {f.time.boot for f in log.facts} == {0}


def test_boot_that_is_seen_only_in_the_two_clocks(read):
    text = "2024-03-01T10:00:00+00:00 a kernel: [ 5000.000000] x\n2024-03-01T20:00:00+00:00 a kernel: [ 9000.000000] x\n"
    assert [f.time.boot for f in read(text).facts] == [0, 1]


def test_wall_clock_that_is_set_soon_after_the_boot_is_no_boot(read):
    text = "2024-03-01T10:00:00+00:00 a kernel: [   20.000000] x\n2024-03-01T18:05:00+00:00 a kernel: [  320.000000] x\n"
    assert [f.time.boot for f in read(text).facts] == [0, 0]


def test_first_message_of_a_kernel_without_uptime_is_a_boot(read):
    text = (
        f"Mar  1 10:00:00 a {KERNEL}\nMar  1 11:00:00 a kernel: Linux version 4.1.12-124 (x) #2\n"
        f"Mar  1 11:00:00 a {KERNEL}\n"
    )
    log = read(text)
    assert [f.time.boot for f in log.facts] == [0, 1, 1]
    assert log.info.kernel_release == "4.1.12-124"


def test_first_message_of_a_kernel_is_counted_once(read):
    log = read(
        "[ 9000.000000] x\n[    0.000000] Initializing cgroup subsys cpuset\n"
        "[    0.000000] Linux version 4.1.12\n[    0.100000] x\n"
    )
    assert [f.time.boot for f in log.facts] == [0, 1, 1, 1]


def test_journalctls_boot_lines(read):
    log = read(
        f"Mar 01 10:00:00 a {KERNEL}\n-- Boot 0123456789abcdef --\nMar 01 11:00:00 a {KERNEL}\n"
    )
    assert [f.time.boot for f in log.facts] == [0, 1]


def test_boots_are_counted_host_by_host(read):
    log = read(
        "".join(
            f"2024-03-01T10:00:0{n}+00:00 {h} kernel: [{u:5d}.000000] x\n"
            for n, (h, u) in enumerate(
                [("a", 9000), ("b", 100), ("a", 9001), ("b", 101), ("a", 9002)]
            )
        )
    )
    assert [(f.host, f.time.boot) for f in log.facts] == [(h, 0) for h in "ababa"]


def test_dmesg_e_is_a_running_sum(read):
    log = read(
        "[May 7 20:30] one\n[  +0.500000] two\n[ +90.000000] three\n[May 7 20:32] four\n[  +1.000000] five\n",
        mtime=at("2019-05-08"),
    )
    start = at("2019-05-07T20:30")
    assert [f.time.wall - start for f in log.facts] == [0.0, 0.5, 90.5, 120.0, 121.0]


def test_dmesg_t_has_the_year(read):
    log = read("[Tue Nov  9 14:28:51 2021] x\n")
    assert log.facts[0].time.wall == at("2021-11-09T14:28:51")
    assert log.facts[0].time.uptime is None


def test_since_prefers_the_kernels_clock(read):
    log = read(
        "Sep 29 22:32:33 a kernel: [471472.784371] x\nSep 29 22:32:33 a kernel: [471472.784403] y\n"
    )
    first, second = (f.time for f in log.facts)
    assert second.since(first) == pytest.approx(32e-6, abs=1e-9)


@pytest.mark.parametrize(
    "lines",
    [
        ["Sep 29 22:32:3{n} a kernel: m{n}"],
        ["[  10{n}.000000] m{n}"],
        ["2024-03-01T10:00:0{n}+00:00 a kernel: m{n}"],
        ['"2018-09-29T22:32:3{n}.000+0000",a,"Sep 29 22:32:3{n} a kernel: m{n}"'],
    ],
)
def test_newest_first_is_turned(read, lines):
    texts = [lines[0].format(n=n) for n in range(8)]
    log = read("\n".join(reversed(texts)) + "\n")
    assert log.messages == [f"m{n}" for n in range(8)]
    assert [f.where.line for f in log.facts] == list(range(8, 0, -1))
    orders = [f.time.order for f in log.facts]
    assert orders == sorted(orders)


def test_newest_first_keeps_the_lines_of_a_record_together(read):
    records = [
        f"[  10{n}.000000] INFO: task kworker/u12:0:11291 blocked for more than 12{n}\nseconds.\n"
        for n in range(5)
    ]
    log = read("".join(reversed(records)))
    assert [m[-12:] for m in log.messages] == [f"12{n} seconds." for n in range(5)]


def test_trace_that_is_upside_down_in_one_second(read):
    text = (
        "Sep 29 22:32:33 a kernel:  schedule+0x36/0x80\n"
        "Sep 29 22:32:33 a kernel:  __schedule+0x232/0x700\n"
        "Sep 29 22:32:33 a kernel: Call Trace:\n"
        "Sep 29 22:32:33 a kernel: INFO: task x:5 blocked for more than 120 seconds.\n"
    )
    assert read(text).messages[0].startswith("INFO: task")


def test_two_hosts_with_the_later_day_first_are_not_newest_first(read):
    text = "".join(
        f"{day} 21:04:53 {host} kernel: m{n}\n"
        for n, (day, host) in enumerate([("Mar 30", "a")] * 3 + [("Mar 23", "b")] * 3)
    )
    assert read(text).messages == [f"m{n}" for n in range(6)]


def test_two_boots_are_not_newest_first(read):
    log = read("".join(f"[{u:5d}.000000] x{u}\n" for u in (100, 200, 10, 20)))
    assert log.messages == ["x100", "x200", "x10", "x20"]


def test_large_newest_first_file_is_turned_in_pieces(read, monkeypatch):
    from rdmadiag.logs import turned

    monkeypatch.setattr(turned, "PIECE", 3000)
    texts = [
        f"Sep 29 {n // 3600:02}:{n // 60 % 60:02}:{n % 60:02} a kernel: nvme m{n}"
        for n in range(900)
    ]
    log = read("\n".join(reversed(texts)) + "\n", block=2000, whole=0)
    assert log.messages == [f"nvme m{n}" for n in range(900)]
    assert [f.where.line for f in log.facts] == list(range(900, 0, -1))
    assert log.info.records == 900


def test_span_of_each_host(read):
    log = read(
        "2024-03-01T10:00:00Z a kernel: x\n2024-03-01T11:00:00Z b kernel: x\n2024-03-01T12:00:00Z a kernel: x\n"
    )
    spans = {f.host: f.fields for f in log.collected.facts if f.kind == "log.span"}
    assert spans["a"]["last"] == "2024-03-01T12:00:00+00:00"
    assert spans["b"]["first"] == spans["b"]["last"] == "2024-03-01T11:00:00+00:00"
    assert log.info.host == ""
    assert (log.info.start.wall, log.info.end.wall) == (
        at("2024-03-01T10:00"),
        at("2024-03-01T12:00"),
    )
