"""Redaction: nothing of the originals is left, structure is, and the same name is always the same."""

import re
import stat
from ipaddress import IPv4Address, ip_address

import msgspec
import pytest

from rdmadiag.errors import UserError
from rdmadiag.report.keyfile import read_key, write_key
from rdmadiag.report.model import InputRow, ProblemRow, TimelineRow
from rdmadiag.report.pseudonyms import Pseudonyms
from rdmadiag.report.redact import Redactor, redact
from rdmadiag.report.render import FORMATS, render
from tests.report.samples import UEK4, several, story_a

KEY = bytes(range(32))

ORIGINALS = [
    "cell07",
    "dbnode2",
    "db03",
    "198.51.100",
    "203.0.113",
    "com.example",
    "storage.disk",
    "acme",
    "alice",
    "bobby",
    "carol",
    "00:02:c9:10:12:34",
    "0002c9030010aabb",
    "0002:c903:0010:aabb",
    "2c9030010aabb",
    "1234XTF5678",
    "fd00:12:34",
    "2001:db8",
    "123e4567-e89b-12d3-a456-426614174000",
    "build7",
    "10.20.30",
    "peer9",
]
LINES = [
    "cell07 kernel: node_guid 0002:c903:0010:aabb port_guid 0x0002c9030010aabb sys 0x2c9030010aabb",
    "cell07.corp.acme.com kernel: eth0 00:02:c9:10:12:34 gid fe80:0000:0000:0000:0002:c903:0010:aabb",
    "CELL07 systemd: session opened for user alice by (uid=0), Serial Number: 1234XTF5678",
    "connection <::ffff:198.51.100.43,::ffff:198.51.100.1,0> traddr=fd00:12:34::1 [2001:db8::7]:4420",
    "sshd: Accepted publickey for bobby from 10.20.30.40 port 22, carol@peer9.acme.com /home/carol/x",
    "Linux version 4.1.12 (mockbuild@build7.acme.com) uuid 123e4567-e89b-12d3-a456-426614174000",
    "ib0: hw 80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:10:aa:bb renamed enx0002c9101234",
    "nvme0: NQN nqn.2014-08.com.example:storage.disk0, addr 10.20.30.41:4420",
]


def report_with_everything():
    report = several()
    path = "/home/alice/SR-3-99/acme/cell07/messages"
    inputs = [
        InputRow(path, "log", "cell07", "", 1, 1, 0, "", [ProblemRow("cut short", f"{path}:9")]),
        InputRow(
            "acme-dump.tar.xz!dbnode2/var/log/messages", "log", "dbnode2", "", 1, 1, 0, "", []
        ),
        *report.inputs,
    ]
    lines = [TimelineRow(None, "cell07", f"{path}: {line}") for line in LINES]
    tables = {
        **report.tables,
        "kernel": [{"nodename": "cell07", "release": UEK4, "serial": "1234XTF5678"}],
    }
    return msgspec.structs.replace(
        report, inputs=inputs, timeline=[*report.timeline, *lines], tables=tables
    )


@pytest.mark.parametrize("format", FORMATS)
def test_no_original_survives(format):
    report = report_with_everything()
    before, after = render(report, format), render(redact(report, KEY), format)
    # Fixes and kernels are public knowledge.
    assert UEK4 in after
    for original in ORIGINALS:
        assert original.lower() not in after.lower(), original
    if format == "json":
        for original in ORIGINALS:
            assert original.lower() in before.lower(), original


def test_what_the_report_is_for_stays():
    text = render(redact(report_with_everything(), KEY), "json")
    for word in (
        "0xffff88c1f2dee000",
        "rds_ib_conn_shutdown+0x3bd/0x4e9 [rds_rdma]",
        "0000:3b:00.0",
        "mlx4_0",
        "CQN 00041a",
        "kworker/u224:1",
        "28733324",
        "4.1.12-124.24.3",
        "https://linux.oracle.com/errata/",
        "2026-09-30T21:04:11.117530+00:00",
        "nvme-rdma-blocked-by-iwcm-connect-wait",
        '"redacted": true',
    ):
        assert word in text, word


def test_same_name_same_pseudonym_everywhere():
    report = redact(report_with_everything(), KEY)
    host = report.inputs[0].host
    assert host.startswith("host-")
    assert report.findings[0].host == host
    assert f" {host} kernel:" in report.findings[0].evidence[0].text
    assert report.tables["kernel"][0]["nodename"] == host
    finding = report.findings[0]
    assert finding.subject["laddr"] in finding.title
    assert finding.subject["laddr"] in finding.evidence[1].text
    assert finding.subject["laddr"] == finding.evidence[3].fields["laddr"]
    assert report.inputs[0].path in report.inputs[0].problems[0].where
    marked = {row.finding for row in report.timeline} - {""}
    assert marked <= {f.fingerprint for f in report.findings}
    assert len(marked) == 6
    assert report.findings[0].fingerprint != several().findings[0].fingerprint


def test_key_decides():
    report = report_with_everything()
    assert redact(report, KEY) == redact(report, KEY)
    assert redact(report, KEY) != redact(report, KEY[::-1])
    first, second = redact(report), redact(report)
    assert first.inputs[0].host != second.inputs[0].host


def test_a_random_key_gives_no_pseudonym_that_is_a_name():
    report = story_a()
    rows = [{"laddr": f"192.168.10.{n}", "faddr": f"192.168.11.{n}"} for n in range(1, 60)]
    report = msgspec.structs.replace(report, tables={"rds.ib_connection": rows})
    given = {a for row in rows for a in row.values()}
    for _ in range(5):
        changed = {a for row in redact(report).tables["rds.ib_connection"] for a in row.values()}
        assert changed.isdisjoint(given)
        assert len(changed) == len(given)


def common_bits(a, b):
    a, b = ip_address(a), ip_address(b)
    return a.max_prefixlen - (int(a) ^ int(b)).bit_length()


@pytest.mark.parametrize(
    "addresses",
    [
        [
            "10.1.2.3",
            "10.1.2.4",
            "10.1.3.4",
            "10.9.0.1",
            "192.168.10.1",
            "172.16.4.4",
            "8.8.8.8",
            "8.8.4.4",
            "198.51.100.43",
            "198.51.100.1",
            "203.0.113.2",
            "169.254.1.1",
            "100.64.9.9",
            "11.0.0.1",
            "126.1.1.1",
        ],
        [
            "2001:db8::1",
            "2001:db8::2",
            "2001:db8:1::1",
            "fd00:1::1",
            "fd00:2::1",
            "3fff::1",
            "2a02:1::9",
        ],
    ],
)
def test_addresses_keep_their_structure(addresses):
    names = Pseudonyms(KEY)
    change = names.ipv6 if ":" in addresses[0] else names.ipv4
    changed = [change(a) for a in addresses]
    for a, new_a in zip(addresses, changed, strict=True):
        assert a != new_a
        assert (
            ip_address(a).is_private == ip_address(new_a).is_private
            or "." not in a
            or a[:3] in ("198", "203")
        )
        for b, new_b in zip(addresses, changed, strict=True):
            assert common_bits(a, b) == common_bits(new_a, new_b)


def test_mapped_addresses_agree_with_plain_ones():
    names = Pseudonyms(KEY)
    assert names.ipv6("::ffff:10.1.2.3") == "::ffff:" + names.ipv4("10.1.2.3")
    high, low = (int(part, 16) for part in names.ipv6("::ffff:a01:203")[7:].split(":"))
    assert IPv4Address(high << 16 | low) == IPv4Address(names.ipv4("10.1.2.3"))
    assert names.ipv6("64:ff9b::10.1.2.3") == "64:ff9b::" + names.ipv4("10.1.2.3")


def test_guid_is_the_same_in_every_spelling():
    names = Pseudonyms(KEY)
    plain = names.guid("0002c9030010aabb")
    assert names.guid("0x2c9030010aabb") == "0x" + plain
    assert names.guid("0002:c903:0010:aabb").replace(":", "") == plain
    assert names.hex_bytes("00:02:c9:03:00:10:aa:bb", ":").replace(":", "") == plain
    assert names.ipv6("fe80:0000:0000:0000:0002:c903:0010:aabb").replace(":", "").endswith(plain)
    assert (
        names.hex_bytes("80:00:02:08:fe:80" + ":00" * 6 + ":00:02:c9:03:00:10:aa:bb", ":")
        .replace(":", "")
        .endswith(plain)
    )


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1 0.0.0.0 255.255.255.0 224.0.0.1 ::1 :: ff02::1",
        "0000:3b:00.0 12:34:56 2026-10-01T08:15:02 [381264.117530]",
        f"kernel {UEK4} fixed in 4.14.35-1844.2.1",
        "0xffff88c1f2dee000 0x00007ffd0a1b2c3d 0000000000000001 ff11000123456789",
        "CPU: 4 PID: 62577 Comm: kworker/u224:1 a user space address, user mode",
        "serial8250: ttyS0 at I/O 0x3f8, Serial: 8250/16550 driver",
        "nqn.2014-08.org.nvmexpress.discovery",
        "see https://lore.kernel.org/r/x and git.kernel.org",
        "std::vector drivers/net/ethernet/x.c nvme_rdma.ko rds_ib_conn_shutdown.cold",
        "session opened for user root",
        "commit 0123456789ab Code: 48 89 e5 5d c3",
    ],
)
def test_what_names_nobody_stays(text):
    redactor = Redactor(KEY)
    redactor.report(story_a())
    assert redactor.text(text) == text


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("traddr:fd00::1", "fd00::1"),
        ("rdma_cm:10:10.0.0.9", "10.0.0.9"),
        ("ip10.0.0.9x", "10.0.0.9x"),
        ("port:1:10.0.0.7", "10.0.0.7"),
        ("10.0.0.1-10.0.0.9", "10.0.0.9"),
        ("net 10.1.2.0/24", "10.1.2.0"),
        ("9.0.0.10.in-addr.arpa", "9.0.0.10"),
        ("hwaddr:00:02:c9:10:12:34", "00:02:c9"),
        ("00-02-C9-10-12-34", "C9-10"),
        ("user=dave", "dave"),
        ('acct="erin"', "erin"),
        ("uid=1000(frank)", "frank"),
        ("for invalid user gina from", "gina"),
        ("sudo:   henry : TTY=", "henry"),
        ("iqn.2001-04.com.acme:store", "acme"),
        ("db1.acme.internal", "acme"),
        ("S/N: AB-1234567", "1234567"),
        ("cell07-ib0", "cell07"),
        ("x_cell07", "cell07"),
        ("bond0.cell07.acme.com", "cell07"),
    ],
)
def test_what_names_somebody_goes(text, gone):
    redactor = Redactor(KEY)
    redactor.report(story_a())
    if gone == "10.0.0.9x":
        assert redactor.text(text) == text  # no address: a letter follows
    else:
        assert gone not in redactor.text(text)


def test_network_stays_a_network():
    redactor = Redactor(KEY)
    network = redactor.text("10.1.2.0/24")
    assert network.endswith(".0/24")
    assert redactor.text("10.1.2.77").rsplit(".", 1)[0] == network.rsplit(".", 1)[0]


def test_more_words():
    redactor = Redactor(KEY, words=["Project Falcon"])
    redactor.report(story_a())
    assert re.fullmatch(r"of word-\w+ it is", redactor.text("of Project Falcon it is"))


def test_key_file(tmp_path):
    path = tmp_path / "key"
    redactor = Redactor(KEY)
    redactor.report(story_a())
    write_key(path, KEY, redactor.names.table)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_key(path) == KEY
    names = msgspec.json.decode(path.read_bytes())["names"]
    assert "cell07" in names.values()
    with pytest.raises(UserError, match="exists"):
        write_key(path, KEY, {})


@pytest.mark.parametrize(
    "text", ["", "{}", '{"rdmadiag_key": 1, "key": "zz"}', '{"rdmadiag_key": 1, "key": "00"}']
)
def test_bad_key_file(tmp_path, text):
    path = tmp_path / "key"
    path.write_text(text)
    with pytest.raises(UserError):
        read_key(path)
    with pytest.raises(UserError, match="No such file"):
        read_key(tmp_path / "none")
