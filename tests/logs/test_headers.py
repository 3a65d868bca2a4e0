"""Every kind of record header gives the right host, time, level, caller and message."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from rdmadiag.logs.grammar import Hints, parse
from rdmadiag.logs.stamps import Stamp


def wall(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


MESSAGE = "mlx4_core 0000:46:00.0: CQ error on CQN 000419"


@pytest.mark.parametrize(
    ("line", "stamp", "host", "ident"),
    [
        (
            f"Sep 29 22:32:33 cel07 kernel: [471472.784371] {MESSAGE}",
            Stamp(date=(9, 29, 81153.0), uptime=471472.784371),
            "cel07",
            "kernel",
        ),
        (f"Jan 1 11:58:02 db01 kernel: {MESSAGE}", Stamp(date=(1, 1, 43082.0)), "db01", "kernel"),
        (f"Aug  3 22:47:24 db01 kernel: {MESSAGE}", Stamp(date=(8, 3, 82044.0)), "db01", "kernel"),
        (
            f"Aug  3 22:47:24.250 db01 kernel: {MESSAGE}",
            Stamp(date=(8, 3, 82044.25)),
            "db01",
            "kernel",
        ),
        (
            f"Aug  3 2019 22:47:24 db01 kernel: {MESSAGE}",
            Stamp(wall=wall("2019-08-03T22:47:24")),
            "db01",
            "kernel",
        ),
        (
            f"Aug  3 22:47:24 db01.example.com kernel: {MESSAGE}",
            Stamp(date=(8, 3, 82044.0)),
            "db01",
            "kernel",
        ),
        (f"Aug  3 22:47:24 DB01 kernel: {MESSAGE}", Stamp(date=(8, 3, 82044.0)), "db01", "kernel"),
        (
            f"Aug  3 22:47:24 10.0.0.7 kernel: {MESSAGE}",
            Stamp(date=(8, 3, 82044.0)),
            "10.0.0.7",
            "kernel",
        ),
        (
            f"Aug  3 22:47:24 db01 kern.warn kernel: {MESSAGE}",
            Stamp(date=(8, 3, 82044.0)),
            "db01",
            "kernel",
        ),
        (f"Aug  3 22:47:24 kernel: {MESSAGE}", Stamp(date=(8, 3, 82044.0)), "", "kernel"),
        (
            f"2025-06-01T10:01:11.568304+00:00 k8s-2 kernel: [30452.346875] {MESSAGE}",
            Stamp(wall=wall("2025-06-01T10:01:11.568304"), uptime=30452.346875),
            "k8s-2",
            "kernel",
        ),
        (
            f"2024-06-04T09:23:11+0200 tnode7 kernel: {MESSAGE}",
            Stamp(wall=wall("2024-06-04T07:23:11")),
            "tnode7",
            "kernel",
        ),
        (
            f"2024-06-04 09:23:11 UTC tnode7 kernel: {MESSAGE}",
            Stamp(wall=wall("2024-06-04T09:23:11")),
            "tnode7",
            "kernel",
        ),
        (
            f"Tue 2024-06-04 09:23:11 CEST tnode7 kernel: {MESSAGE}",
            Stamp(wall=wall("2024-06-04T09:23:11")),
            "tnode7",
            "kernel",
        ),
        (
            f"1717485791.123456 tnode7 kernel: {MESSAGE}",
            Stamp(wall=1717485791.123456),
            "tnode7",
            "kernel",
        ),
        (
            f"<4>1 2018-11-20T03:14:09.118822Z dbn02 kernel - - - {MESSAGE}",
            Stamp(wall=wall("2018-11-20T03:14:09.118822")),
            "dbn02",
            "kernel",
        ),
        (f"[ 3881.829658] tnode7 kernel: {MESSAGE}", Stamp(uptime=3881.829658), "tnode7", "kernel"),
        (f"[359142.397077] {MESSAGE}", Stamp(uptime=359142.397077), "", ""),
        (f"[10424.756954] {MESSAGE}", Stamp(uptime=10424.756954), "", ""),
        (f"[ 685.757357] {MESSAGE}", Stamp(uptime=685.757357), "", ""),
        (f"[    0.000000 <    0.000000>] {MESSAGE}", Stamp(uptime=0.0), "", ""),
        (f"[Tue Nov  9 14:28:51 2021] {MESSAGE}", Stamp(wall=wall("2021-11-09T14:28:51")), "", ""),
        (
            f"2021-11-09T14:28:51,250000+01:00 {MESSAGE}",
            Stamp(wall=wall("2021-11-09T13:28:51.25")),
            "",
            "",
        ),
        (
            f"2021-11-09 14:28:51,250 db01 kernel: {MESSAGE}",
            Stamp(wall=wall("2021-11-09T14:28:51.25")),
            "db01",
            "kernel",
        ),
        (f"[May 7 20:30] {MESSAGE}", Stamp(date=(5, 7, 73800.0)), "", ""),
        (f"[Jun26 19:24] {MESSAGE}", Stamp(date=(6, 26, 69840.0)), "", ""),
        (
            f"[Tue Nov  9 14:28:51 2021] hv56 kernel: {MESSAGE}",
            Stamp(wall=wall("2021-11-09 14:28:51")),
            "hv56",
            "kernel",
        ),
        (f"[  +0.000003] {MESSAGE}", Stamp(delta=0.000003), "", ""),
        (f"kern  :warn  : [  281.197120] {MESSAGE}", Stamp(uptime=281.19712), "", ""),
        (f"<4>[  281.197120] {MESSAGE}", Stamp(uptime=281.19712), "", ""),
        (f"4,1203,281197120,-;{MESSAGE}", Stamp(uptime=281.19712), "", ""),
        (f"kernel: {MESSAGE}", Stamp(), "", "kernel"),
        (f"kernel:{MESSAGE}", Stamp(), "", "kernel"),
        (f"hv56 kernel: [88463.804076] {MESSAGE}", Stamp(uptime=88463.804076), "hv56", "kernel"),
        (f"> > >> [  +0.001211] {MESSAGE}", Stamp(delta=0.001211), "", ""),
        (f"    [   12.001211] {MESSAGE}", Stamp(uptime=12.001211), "", ""),
        (f"^C[   12.001211] {MESSAGE}", Stamp(uptime=12.001211), "", ""),
    ],
)
def test_header(line, stamp, host, ident):
    parsed = parse(line, Hints())
    assert parsed is not None
    assert (parsed.message, parsed.host, parsed.ident) == (MESSAGE, host, ident)
    assert replace(parsed.stamp, zoneless=False) == stamp


@pytest.mark.parametrize(
    ("line", "level", "caller", "message"),
    [
        ("<4>[  281.197120] x", 4, "", "x"),
        ("[  281.197120] <3>x", 3, "", "x"),
        ("kern  :crit  : [  281.197120] x", 2, "", "x"),
        ("4,1203,281197120,-,caller=T57;x", 4, "T57", "x"),
        ("30,1203,281197120,-;x", 6, "", "x"),
        ("4,1203,281197120,-;a\\x0ab", 4, "", "a\nb"),
        ("[77521.175770][T147091]  f+0x8e5/0x1b60 [m]", None, "T147091", " f+0x8e5/0x1b60 [m]"),
        ("[  157.401342][    C0] x", None, "C0", "x"),
        ("[77521.148329][T147091]", None, "T147091", ""),
        (
            "[   12.084036] <mlx4_ib> create_pv_sqp: no QP",
            None,
            "",
            "<mlx4_ib> create_pv_sqp: no QP",
        ),
        (
            "[   12.084036] <192.168.36.43,192.168.36.1,0> x",
            None,
            "",
            "<192.168.36.43,192.168.36.1,0> x",
        ),
        ("[82156.538753]  syscopyarea sysfillrect", None, "", " syscopyarea sysfillrect"),
        ("<28>Sep 29 22:32:33 db kernel: x", 4, "", "x"),
    ],
)
def test_level_caller_and_text(line, level, caller, message):
    parsed = parse(line, Hints())
    assert parsed is not None
    assert (parsed.level, parsed.caller, parsed.message) == (level, caller, message)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "<192.168.36.43,192.168.36.1,0> dropped",
        "mlx4_core 0000:03:00.0: command SET_PORT (0xc) failed",
        "[<0>] blk_execute_rq+0x69/0xa0",
        "[<ffffffffa0379db0>] rdma_resolve_route+0x3c0/0x8d0 [rdma_cm]",
        " #3 [ffff8813663bbc80] rds_ib_conn_shutdown at ffffffffa041f7d1 [rds_rdma]",
        "Feb 30 22:32:33 db kernel: no such day",
        "Sep 29 25:32:33 db kernel: no such hour",
        "2024-13-04T09:23:11 db kernel: no such month",
        "[..]",
        "Call Trace:",
    ],
)
def test_no_header(line):
    assert parse(line, Hints()) is None


def test_kernel_message_that_begins_like_a_tag_keeps_it():
    parsed = parse("Nov  3 12:24:37 rack10 BUG: unable to handle", Hints({"rack10"}, tagless=True))
    assert parsed is not None
    assert (parsed.host, parsed.message) == ("rack10", "BUG: unable to handle")


def test_word_that_is_no_known_host_belongs_to_the_message():
    parsed = parse("Nov  3 12:24:37 NULL pointer dereference", Hints({"rack10"}, tagless=True))
    assert parsed is not None
    assert (parsed.host, parsed.message) == ("", "NULL pointer dereference")


def test_application_that_logs_dates_is_no_relay():
    line = "Nov  3 12:24:37 db01 app[12]: 2024-06-04 09:23:11 ERROR db: failed"
    parsed = parse(line, Hints())
    assert parsed is not None
    assert (parsed.host, parsed.ident) == ("db01", "app[12]")
    assert parsed.message == "2024-06-04 09:23:11 ERROR db: failed"


def test_relayed_kernel_record_is_the_kernels():
    line = "Nov  3 12:24:37 relay logger: Nov  3 12:24:36 db01 kernel: [ 12.345678] nvme nvme0: x"
    parsed = parse(line, Hints())
    assert parsed is not None
    assert (parsed.host, parsed.ident, parsed.message) == ("db01", "kernel", "nvme nvme0: x")
    assert parsed.stamp.uptime == 12.345678
