"""What mails, tickets, consoles and exports do to a log is undone."""

import base64
import json

import pytest

HEAD = "Sep 29 22:32:33 cel07 kernel: "
CQ = "mlx4_core 0000:46:00.0: CQ access violation on CQN 000419 syndrome=0x2 vendor_error_syndrome=0x0"


def test_wrapped_at_words(read):
    text = (
        "[ 1772.647659] mlx5_core 0000:00:06.0: cq_err_event_notifier:492:(pid\n"
        "0): CQ error on CQN 0x43e, syndrome 0x1\n"
        "[ 1772.647666] mlx5_core 0000:00:06.0 ens6np0: mlx5e_cq_error_event:\n"
        "cqn=0x00043e event=0x04\n"
    )
    log = read(text)
    assert log.messages == [
        "mlx5_core 0000:00:06.0: cq_err_event_notifier:492:(pid 0): CQ error on CQN 0x43e, syndrome 0x1",
        "mlx5_core 0000:00:06.0 ens6np0: mlx5e_cq_error_event: cqn=0x00043e event=0x04",
    ]
    assert [f.where.line for f in log.facts] == [1, 3]
    assert log.facts[0].text == "\n".join(text.split("\n")[:2])
    assert (log.info.records, log.info.unparsed) == (2, 0)


def test_wrapped_hung_task_header(read):
    log = read(
        "[ 1230.161871] INFO: task kworker/u12:0:11291 blocked for more than 122\nseconds.\n"
        "[ 1230.162147]       Not tainted 5.3.0-rc5+ #19\n"
    )
    assert log.messages[0].endswith("blocked for more than 122 seconds.")
    assert len(log.messages) == 2


def test_wrapped_at_80_columns_inside_words(read):
    whole = [f"[  {n}12.345678] {CQ} and so on, and so on" for n in range(3)]
    cut = [line[i : i + 80] for line in whole for i in range(0, len(line), 80)]
    log = read("\n".join(cut) + "\n")
    assert log.messages == [w.partition("] ")[2] for w in whole]


def test_short_lines_after_a_wrapped_one_are_their_own(read):
    log = read(
        "Aug  3 22:47:24 localhost kernel: nvme nvme2: Could not set queue count\n(881)\nstack:\n"
        "[<0>] blk_execute_rq+0x69/0xa0\n"
    )
    assert log.messages == [
        "nvme nvme2: Could not set queue count (881)",
        "stack:",
        "[<0>] blk_execute_rq+0x69/0xa0",
    ]


def test_prompts_and_elisions_end_a_record(read):
    log = read(f"crash64> log | tail -3\n[471472.784371] {CQ}\ncrash64> bt 62577\n...\n")
    assert log.messages[1] == CQ
    assert log.messages[2] == "crash64> bt 62577"


def test_bare_text_broken_by_hand(read):
    log = read(
        "     mlx5_core 0000:01:00.0: cmd_work_handler:877:(pid 3880418): failed to\n"
        "\t  allocate command entry\n"
        "     INFO: task kworker/13:2:4055883 blocked for more than 120 seconds.\n"
        "           Not tainted 4.19.90-25.44 #1\n"
        '     "echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables\n'
        "\t  this message.\n"
        "     kworker/13:2    D    0 4055883      2 0x00000228\n"
    )
    assert log.messages[0].endswith("(pid 3880418): failed to allocate command entry")
    assert log.messages[3].endswith("disables this message.")
    assert len(log.messages) == 5


def test_lines_of_a_boot_console_stay_apart(read):
    lines = [
        "mlx4_core: Mellanox ConnectX core driver v1.1 (Jan 23 2014)",
        "mlx4_core: Initializing 0000:03:00.0",
        "mlx4_core 0000:03:00.0: PCI INT A -> GSI 30 (level, low) -> IRQ 30 and something",
        "mlx4_core 0000:03:00.0: command SET_PORT (0xc) failed: in_param=0x6098b5000, in_mod=0x1",
        "mlx4_core 0000:03:00.0: command SET_PORT (0xc) failed: in_param=0x6098b5000, in_mod=0x2",
    ]
    assert read("\n".join(lines)).messages == lines


def test_console_padding_inside_a_word(read):
    log = read("mlx4_core 0000:03:00.0: command failed: in_m" + " " * 118 + "od=0x1\n")
    assert log.messages == ["mlx4_core 0000:03:00.0: command failed: in_mod=0x1"]


def test_reflowed_text_is_parted_at_the_heads(read):
    log = read(
        "Sep 18 21:27:26 hv56 kernel: [88463.804076] ib0: transmit timeout: latency 20428\n"
        "msecs Sep 18 21:27:27 hv56\n"
        "kernel: [88463.807609] Modules linked in: ib_ipoib Sep 18 21:27:28 hv56 kernel: [88464.000001] x\n"
    )
    assert log.messages == [
        "ib0: transmit timeout: latency 20428 msecs",
        "Modules linked in: ib_ipoib",
        "x",
    ]
    assert [f.time.uptime for f in log.facts] == [88463.804076, 88463.807609, 88464.000001]
    assert {f.host for f in log.facts} == {"hv56"}


def test_dmesg_records_on_one_line(read):
    log = read(
        "[   10.000001] first thing [   10.000002] second thing [   10.000003] third [4] thing\n"
    )
    assert log.messages == ["first thing", "second thing", "third [4] thing"]


def test_bracketed_number_in_a_message_is_no_head(read):
    log = read("[   10.000001] eth0: took [    2.500000] s\n")
    assert log.messages == ["eth0: took [    2.500000] s"]


def test_quoted_printable(read):
    log = read(
        "[   10.000001] ib0: queue stopped 1, tx_head 5, tx_tail 4, global_tx_head 0, glob=\n"
        "al_tx_tail 0\n"
        "[   11.000001] mlx4_core 0000:46:00.0: CQ error syndrome=3D0x2 vendor=20code =\n"
        "and more\n"
        "[   12.000001] a=0A[   13.000001] b\n"
    )
    assert log.messages == [
        "ib0: queue stopped 1, tx_head 5, tx_tail 4, global_tx_head 0, global_tx_tail 0",
        "mlx4_core 0000:46:00.0: CQ error syndrome=0x2 vendor code and more",
        "a",
        "b",
    ]


def test_equals_signs_alone_are_no_quoted_printable(read):
    log = read("[   10.000001] a=20 b=0xAB c=\n[   10.000002] d=0x1 e=1\n")
    assert log.messages == ["a=20 b=0xAB c=", "d=0x1 e=1"]


@pytest.mark.parametrize("mark", ["> ", "> > >> ", ">", "    ", "\t"])
def test_quote_marks_and_indentation(read, mark):
    log = read(f"{mark}[   10.000001] one\n{mark}[   10.000002]  two\n")
    assert log.messages == ["one", " two"]


def test_crlf_and_stray_cr(read):
    log = read(
        f"{HEAD}[471472.784371] one\r\n{HEAD}[471472.784372] tw\ro\r\n"
        f"{HEAD}[471472.784373] three\r{HEAD}[471472.784374] four\r\r\n"
    )
    assert log.messages == ["one", "two", "three", "four"]


def test_escape_sequences_of_a_terminal(read):
    log = read(f"\x1b[32m[  12.345678] \x1b[0m\x1b[33mmlx4_core\x1b[0m: {CQ}\n")
    assert log.messages == [f"mlx4_core: {CQ}"]
    assert "\x1b[33m" in log.facts[0].text


def test_entities_of_a_web_page(read):
    log = read(
        f"{HEAD}&lt;10.0.0.1,10.0.0.2&gt; &#39;a&amp;b&#39; &quot;c&quot; &#27;[2J &bogus;\n"
    )
    assert log.messages == ["<10.0.0.1,10.0.0.2> 'a&b' \"c\" &#27;[2J &bogus;"]


def test_nul_blocks_of_a_power_cut(read):
    log = read(f"{HEAD}one\n".encode() + b"\0" * 5000 + f"{HEAD}two\nrest".encode() + b"\0" * 100)
    assert log.messages[:2] == ["one", "two"]


def test_invalid_utf8_becomes_escapes(read):
    log = read(HEAD.encode() + b"caf\xe9 \xff\n")
    assert log.messages == ["caf\\xe9 \\xff"]


def test_utf16_with_byte_order_mark(read):
    log = read(f"{HEAD}one\r\n{HEAD}two\r\n".encode("utf-16"))
    assert log.messages == ["one", "two"]


def test_continuation_without_host_after_a_printk_in_two_steps(read):
    log = read(
        "Nov  3 12:24:37 rack10 BUG: unable to handle kernel \n"
        "Nov  3 12:24:37 NULL pointer dereference\n"
        "Nov  3 12:24:37 rack10  [<ffffffffa069d628>] iscsi_iser_task_init+0x28/0x70 [ib_iser]\n"
        "Nov  3 12:24:37 rack10  [<ffffffff81082a6e>] kthread+0xce/0xe0\n"
    )
    assert log.messages[0] == "BUG: unable to handle kernel NULL pointer dereference"
    assert log.messages[1].lstrip().startswith("[<ffffffffa069d628>]")
    assert {f.host for f in log.facts} == {"rack10"}


def test_broadcast_to_terminals(read):
    log = read(
        "\nMessage from syslogd@db07 at Oct 24 15:34:02 ...\n"
        " kernel:watchdog: BUG: soft lockup - CPU#29 stuck for 22s! [mysqld:14352]\n\n"
    )
    assert log.messages == ["watchdog: BUG: soft lockup - CPU#29 stuck for 22s! [mysqld:14352]"]
    assert log.facts[0].host == "db07"
    assert log.facts[0].time.wall is not None


def test_message_repeated(read):
    log = read(f"{HEAD}message repeated 5 times: [ nvme nvme0: x]\n")
    assert log.messages == ["nvme nvme0: x"]
    assert log.facts[0].fields["repeated"] == 5


def test_last_message_repeated(read):
    log = read(
        f"{HEAD}nvme nvme0: x\nSep 29 22:32:40 cel07 last message repeated 3 times\n"
        "Sep 29 22:32:41 other last message repeated 9 times\n"
    )
    assert log.messages == ["nvme nvme0: x", "nvme nvme0: x"]
    assert log.facts[1].fields["repeated"] == 3
    assert log.facts[1].where.line == 2


def test_suppressed_messages_are_told(read):
    log = read(
        f"{HEAD}[    1.000001] nvme_ns_head_make_request: 6 callbacks suppressed\n"
        f"{HEAD}[    1.000002] printk: 12 messages suppressed.\n"
        "Sep 29 22:32:40 cel07 systemd-journald[5]: Suppressed 214 messages from kernel\n"
    )
    assert "226 by kernel" in log.problems
    assert "6 by nvme_ns_head_make_request" in log.problems
    assert {c.status for c in log.collected.coverage} == {"partial"}


def test_rate_limit_of_one_function_is_no_gap_for_all(read):
    log = read(f"{HEAD}[    1.000001] nvme_ns_head_make_request: 6 callbacks suppressed\n")
    assert {c.status for c in log.collected.coverage} == {"complete"}


def test_csv_export(read):
    rows = [
        '"_time",host,source,sourcetype,"_raw"',
        '"2018-09-29T20:32:33.000+0000",cel07,"/var/log/messages",syslog,"'
        "Sep 29 22:32:33 cel07 kernel: [471472.784371] mlx4_core: CQ error vendor_error_",
        'syndrome=0x0, a ""quoted"" word"',
        f'"2018-09-29T20:32:33.000+0000",cel07,"/var/log/messages",syslog,"{HEAD}[471472.784403] two"',
    ]
    log = read("\r\n".join(rows) + "\r\n")
    assert log.messages == ['mlx4_core: CQ error vendor_error_syndrome=0x0, a "quoted" word', "two"]
    assert [f.time.wall for f in log.facts] == [1538253153.0] * 2
    assert [f.where.line for f in log.facts] == [2, 4]
    assert (log.info.records, log.info.unparsed) == (2, 0)


def test_csv_without_column_names(read):
    log = read(f'2018-09-29 20:32:33,cel07,"{HEAD}[471472.784403] two, three"\n' * 3)
    assert log.messages == ["two, three"] * 3
    assert log.facts[0].host == "cel07"


def test_csv_with_capital_column_names_and_a_date_that_is_not_read(read):
    log = read('"Time","Host","Message"\n"yesterday, 22:32:33","cel07","one, two"\n')
    assert log.messages == ["one, two"]
    assert (log.facts[0].host, log.facts[0].time.wall) == ("cel07", None)


@pytest.mark.parametrize(
    "head", ["2018-09-29T22:32:33.784371+00:00 cel07 kernel: ", "2018-09-29T22:32:33,784371+00:00 "]
)
def test_quotes_and_commas_do_not_make_a_csv_of_a_dated_log(head, read):
    log = read(
        f'{head}app: name="x", unit="y"\n{head}RDS/IB: connection <10.1.1.1,10.1.1.2,0>\n' * 2
    )
    assert log.messages[1] == "RDS/IB: connection <10.1.1.1,10.1.1.2,0>"
    assert log.messages[0].endswith('name="x", unit="y"')


def test_journal_json(read):
    entries = [
        {
            "__REALTIME_TIMESTAMP": "1538089953784371",
            "_TRANSPORT": "kernel",
            "PRIORITY": "4",
            "_HOSTNAME": "cel07.example.com",
            "_SOURCE_MONOTONIC_TIMESTAMP": "471472784371",
            "_BOOT_ID": "aa",
            "MESSAGE": "one",
        },
        {
            "__REALTIME_TIMESTAMP": "1538089954784371",
            "_TRANSPORT": "kernel",
            "_HOSTNAME": "cel07",
            "_BOOT_ID": "bb",
            "MESSAGE": list("tw\xff".encode("latin-1")),
        },
        {
            "__REALTIME_TIMESTAMP": "1538089955784371",
            "SYSLOG_IDENTIFIER": "sshd",
            "_HOSTNAME": "cel07",
            "_BOOT_ID": "aa",
            "MESSAGE": "three",
        },
    ]
    log = read("".join(json.dumps(e) + "\n" for e in entries))
    assert log.messages == ["one", "tw\\xff", "three"]
    assert [f.time.boot for f in log.facts] == [0, 1, 0]
    first = log.facts[0]
    assert (first.host, first.time.wall, first.time.uptime) == (
        "cel07",
        1538089953.784371,
        471472.784371,
    )


def test_pretty_json(read):
    entries = [{"__REALTIME_TIMESTAMP": "1538089953784371", "_HOSTNAME": "a", "MESSAGE": "one"}] * 2
    log = read("\n".join(json.dumps(e, indent="\t") for e in entries))
    assert log.messages == ["one", "one"]


def test_dmesg_json(read):
    data = {
        "dmesg": [{"pri": 6, "time": 0.5, "msg": "one"}, {"pri": 3, "time": 12.25, "msg": "two"}]
    }
    text = json.dumps(data, indent=3).replace("},\n      {", "},{")
    log = read(text)
    assert log.messages == ["one", "two"]
    assert [f.time.uptime for f in log.facts] == [0.5, 12.25]


@pytest.mark.parametrize("line", ["data: %s\n\n", "\x1e%s\n"])
def test_framed_json(read, line):
    entry = json.dumps({"__REALTIME_TIMESTAMP": "1538089953784371", "MESSAGE": "one"})
    assert read((line % entry) * 2).messages == ["one", "one"]


def test_other_json_lines(read):
    entry = {
        "@timestamp": "2024-06-04T09:23:11.5Z",
        "host": {"name": "db01"},
        "message": "nvme nvme0: x",
    }
    relay = {
        "result": {"_raw": f"{HEAD}two", "_time": "2018-09-29T22:32:33.000+00:00", "host": "cel07"}
    }
    log = read(json.dumps(entry) + "\n" + json.dumps(relay) + "\n")
    assert log.messages == ["nvme nvme0: x", "two"]
    assert [f.time.wall for f in log.facts] == [1717492991.5, 1538260353.0]
    assert [f.host for f in log.facts] == ["db01", "cel07"]


def export_entry(message, number):
    fields = {
        "__CURSOR": f"s={number}",
        "__REALTIME_TIMESTAMP": "1538089953784371",
        "_HOSTNAME": "cel07",
        "_TRANSPORT": "kernel",
        "_SOURCE_MONOTONIC_TIMESTAMP": "471472784371",
    }
    text = b"".join(f"{k}={v}\n".encode() for k, v in fields.items())
    if b"\n" in message:
        return text + b"MESSAGE\n" + len(message).to_bytes(8, "little") + message + b"\n\n"
    return text + b"MESSAGE=" + message + b"\n\n"


def test_journal_export(read):
    log = read(export_entry(b"one", 1) + export_entry(b"two\nlines", 2) + export_entry(b"three", 3))
    assert log.messages == ["one", "two", "lines", "three"]
    assert log.facts[0].host == log.facts[2].host == "cel07"
    assert log.info.records == 4
    assert log.facts[0].time.uptime == 471472.784371


def test_solaris_is_told_apart(read):
    log = read("Mar 30 21:04:53 tgt1 genunix: [ID 204426 kern.warning] WARNING: mcxnex0: CQE ERR\n")
    assert log.messages == ["WARNING: mcxnex0: CQE ERR"]
    assert "Solaris" in log.problems


def test_lines_that_are_nothing_are_counted(tmp_path, diagnose):
    path = tmp_path / "log"
    path.write_text(
        f"{HEAD}one\nsomething else entirely\n\n...\n--\n[..]\n{HEAD}two\n\tindented rest\n"
    )
    log = diagnose(path)
    assert (log.info.records, log.info.unparsed) == (2, 1)


def test_base64_is_no_log(tmp_path, diagnose):
    path = tmp_path / "log"
    text = base64.encodebytes(bytes(range(256)) * 20)
    path.write_bytes(text)
    log = diagnose(path)
    assert log.info.records == 0
    assert log.info.unparsed == text.count(b"\n")


@pytest.mark.parametrize(
    ("head", "heard"), [("kernel: ", True), ("", True), ("logwatch[411]: ", False)]
)
def test_what_a_program_cites_is_not_said_by_the_kernel(read, head, heard):
    assert bool(read(f"Sep 29 22:32:33 cel07 {head}some words of a kernel\n").messages) == heard


@pytest.mark.parametrize(
    "put_before", ["4411:", "messages.1:", "var/log/messages-20180930-", "a:7:"]
)
def test_what_grep_puts_before_a_record(read, put_before):
    log = read(f"{put_before}Sep 29 22:32:33 cel07 kernel: [4.784371] CQ error one\n" * 3)
    assert set(log.messages) == {"CQ error one"}
    assert (log.facts[0].host, log.facts[0].time.uptime) == ("cel07", 4.784371)


def test_line_numbers_before_kernel_stamps(read):
    log = read("7:[    4.784371] CQ error one\n9-[    5.784371] CQ error two\n")
    assert [(m, f.time.uptime) for m, f in zip(log.messages, log.facts, strict=True)] == [
        ("CQ error one", 4.784371),
        ("CQ error two", 5.784371),
    ]


def test_hosts_put_before_their_kernels_lines_stay_apart(read):
    log = read("cel07: [    4.784371] CQ error one\ncel09: [    4.784372] CQ error two\n" * 2)
    assert [f.host for f in log.facts[:2]] == ["cel07", "cel09"]
