"""Records that take several lines, or are one of the lines of a row, say what they would say as lines of a log."""

import csv
import html
import io
import json

import pytest

EVENTS = [
    "mlx4_core 0000:46:00.0: CQ access violation on CQN 000419 syndrome=0x2 vendor_error_syndrome=0x0",
    "RDS/IB: connection <192.168.36.43,192.168.36.1,0> dropped due to 'qp event'",
    "nvme nvme1: Reconnecting in 10 seconds...",
]
HUNG = """\
INFO: task kworker/u98:3:6017 blocked for more than 120 seconds.
      Tainted: G           OE   4.14.35-1902.300.11.el7uek.x86_64 #2
"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.
kworker/u98:3   D    0 6017      2 0x80000080
Workqueue: nvme-wq nvme_rdma_reconnect_ctrl_work [nvme_rdma]
Call Trace:
 __schedule+0x2bc/0x895
 schedule+0x36/0x7c
 rdma_destroy_id+0x224/0x300 [rdma_cm]
 process_one_work+0x169/0x3a6
 worker_thread+0x4d/0x3e5
 ret_from_fork+0x24/0x49"""
BOOT = "fedcba9876543210fedcba9876543210"
FIRST = 1_723_604_400
GROUPS = [*([m] for m in EVENTS), HUNG.split("\n")] * 2
"""What some collectors keep together: a stack is one event."""
RECORDS = [(n, m) for n, group in enumerate(GROUPS) for m in group]


def journal_verbose(number, message):
    micros = (FIRST + number) * 1_000_000
    return (
        f"Wed 2024-08-14 05:00:{number:02}.000000 CEST [s=0123456789abcdef0123456789abcdef;i={number:x};b={BOOT}"
        f";m={number * 1_000_000:x};t={micros:x};x=abcdef0123]\n"
        "    _TRANSPORT=kernel\n    PRIORITY=4\n    SYSLOG_IDENTIFIER=kernel\n    _HOSTNAME=cel07.example.com\n"
        f"    MESSAGE={message}\n    _SOURCE_MONOTONIC_TIMESTAMP={number * 1_000_000}\n"
    )


def journal(number, message):
    return {
        "__REALTIME_TIMESTAMP": f"{(FIRST + number) * 1_000_000}",
        "_TRANSPORT": "kernel",
        "_HOSTNAME": "cel07",
        "_SOURCE_MONOTONIC_TIMESTAMP": f"{number * 1_000_000}",
        "MESSAGE": message,
    }


def journal_export(number, message):
    fields = "".join(f"{k}={v}\n" for k, v in journal(number, message).items())
    return f"__CURSOR=s={number}\n{fields}\n"


def row(number, messages):
    cells = io.StringIO()
    time = f"2024-08-14T03:00:{number:02}.000+0000"
    csv.writer(cells, lineterminator="\n").writerow([time, "cel07", "\n".join(messages)])
    return cells.getvalue()


def document(number, messages):
    time = f"2024-08-14T03:00:{number:02}.000Z"
    return json.dumps({"@timestamp": time, "host": "cel07", "message": "\n".join(messages)}) + "\n"


FORMATS = {
    "verbose": ("", [journal_verbose(*r) for r in RECORDS]),
    "export": ("", [journal_export(*r) for r in RECORDS]),
    "pretty": ("", [json.dumps(journal(*r), indent=1) + "\n" for r in RECORDS]),
    "lines": ("", [json.dumps(journal(*r)) + "\n" for r in RECORDS]),
    "rows": ("_time,host,_raw\n", [row(n, [m]) for n, m in RECORDS]),
    "stacks in rows": ("_time,host,_raw\n", [row(*g) for g in enumerate(GROUPS)]),
    "stacks in JSON": ("", [document(*g) for g in enumerate(GROUPS)]),
}
WAYS = {
    "by line": {"whole": 1 << 30},
    "sparse": {"whole": 0},
    "blocks": {"whole": 0, "block": 8000},
}


def essence(log):
    return sorted((f.kind, f.time.wall, repr(f.fields)) for f in log.facts)


@pytest.fixture
def wanted(tmp_path, diagnose):
    path = tmp_path / "dmesg"
    path.write_text(
        "".join(f"2024-08-14T03:00:{n:02}+00:00 cel07 kernel: {m}\n" for n, m in RECORDS)
    )
    return essence(diagnose(path))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", [1, -1], ids=["oldest first", "newest first"])
@pytest.mark.parametrize("name", FORMATS)
def test_the_same_facts(tmp_path, diagnose, wanted, name, order, way):
    head, entries = FORMATS[name]
    path = tmp_path / "log"
    path.write_text(head + "".join(entries[::order]))
    log = diagnose(path, **WAYS[way])
    assert essence(log) == wanted
    assert {f.host for f in log.facts} == {"cel07"}


def test_big_ones_too(tmp_path, diagnose, wanted):
    for name in ("verbose", "stacks in rows", "stacks in JSON"):
        head, entries = FORMATS[name]
        filler = {
            "verbose": journal_verbose(50, "usb 1-1: new device"),
            "stacks in rows": row(50, ["usb 1-1: new device"]),
            "stacks in JSON": document(50, ["usb 1-1: new device"]),
        }[name]
        path = tmp_path / "log"
        path.write_text(head + "".join(entries) + filler * (3_000_000 // len(filler)))
        assert essence(diagnose(path)) == wanted


def test_lines_of_a_stack_in_a_row_are_told(read):
    log = read("_time,host,_raw\n" + row(1, ["nvme nvme1: x"]) + row(0, HUNG.split("\n")))
    assert [m.lstrip() for m in log.messages[:2]] == [x.lstrip() for x in HUNG.split("\n")[:2]]
    assert [f.where.line for f in log.facts] == [*range(3, 15), 2]


def test_values_of_several_lines_in_verbose_entries(read):
    log = read(
        journal_verbose(1, "one\n            two").replace("CEST", "UTC")
        + "    _CMDLINE=MESSAGE=x\n"
        + journal_verbose(2, "three")
    )
    assert log.messages == ["one", "two", "three"]
    assert [f.time.wall for f in log.facts] == [FIRST + 1, FIRST + 1, FIRST + 2]
    assert [f.time.uptime for f in log.facts] == [1, 1, 2]
    assert [f.where.line for f in log.facts] == [1, 1, 10]


def test_escapes_of_a_web_page_are_undone_as_a_whole(tmp_path, diagnose):
    lines = [f"Aug 14 03:00:{n:02} cel07 kernel: {m}" for n, m in RECORDS]
    path = tmp_path / "log"
    path.write_text("\n".join(lines) + "\n")
    plain = essence(diagnose(path))
    once = html.escape("\n".join(lines) + "\n")
    changed = {
        "once": once,
        "twice": html.escape(once),
        "breaks": once.replace("\n", "<br>\n"),
        "no line ends": once.replace("\n", "<br/>"),
        "page": f"<html><body><pre>\n{once}</pre></body></html>\n",
    }
    for name, text in changed.items():
        path.write_text(text)
        for size in (0, 1 << 30):
            assert essence(diagnose(path, whole=size)) == plain, name


def test_ampersands_of_programs_stay(read):
    log = read('[    1.000000] app: a && b & c &amp; "d" <1&2>\n' * 3)
    assert log.messages == ['app: a && b & c &amp; "d" <1&2>'] * 3
