"""What messages are known: fields of all forms, formats of all drivers, and silence for all others."""

import random
import re
import sys
from pathlib import Path

import pytest

from rdmadiag.data import data_dir
from rdmadiag.logs.compiled import read_compiled
from rdmadiag.logs.compiler import compile_rules
from rdmadiag.logs.fields import convert, counter_difference
from rdmadiag.logs.traces import Traces

sys.path.insert(0, str(Path(__file__).parent))

from boring import boring_lines
from logtext import record

COMPILED = read_compiled(data_dir("rules")) or compile_rules(data_dir("rules"))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int", "-12", -12),
        ("int", "x", None),
        ("hex", "0x1F", 31),
        ("hex", "0004a7", 1191),
        ("hexstr", "0000ff", "0xff"),
        ("hexstr", "00 01 2a", "0x12a"),
        ("ip", "10.0.0.7", "10.0.0.7"),
        ("ip", "::ffff:10.0.0.7", "10.0.0.7"),
        ("ip", "0:0:0:0:0:ffff:a00:7", "10.0.0.7"),
        ("ip", "fe80:0::0:7", "fe80::7"),
        ("ip", "fe80::1%ib0", "fe80::1%ib0"),
        ("ip", "10.0.0.700", "10.0.0.700"),
        ("errno", "-110", -110),
        ("errno", "110", -110),
        ("errno", "ETIMEDOUT", -110),
        ("errno", "-ECONNRESET", -104),
        ("errno", "ENOTHING", None),
        ("float", "1.5", 1.5),
        ("device", "0000:3B:00.1", "0000:3b:00.1"),
        ("lower", "Active", "active"),
        ("str", "As Is", "As Is"),
        ("bool", None, False),
        ("bool", "", True),
        ("int", None, None),
        ("int", "9" * 5000, None),
    ],
)
def test_values(kind, text, value):
    assert convert(kind, text) == value


def test_counters_wrap():
    assert counter_difference(5, 4294967291) == 10
    assert counter_difference(None, 3) is None


def test_glued_records_give_all_they_say(vocabulary):
    message = (
        "mlx4_core 0000:81:00.0: CQ overrun on CQN 0000a3 Sep 18 21:27:27 node9 kernel: [1.5] "
        "RDS/IB: connection <10.20.4.11,10.20.4.7,3> dropped due to 'qp event'"
    )
    assert {m.rule.event for m in vocabulary.match(message)} == {
        "hca.cq_error",
        "rds.connection_dropped",
    }


def test_blanks_do_not_matter(vocabulary):
    [found] = vocabulary.match("nvme\tnvme4:   Failed   reconnect attempt  3")
    assert (found.rule.event, found.fields["attempt"]) == ("nvme.reconnect_failed", 3)


@pytest.mark.parametrize(
    ("message", "subsystem", "device", "known"),
    [
        ("mlx5_core 0000:3b:00.1: firmware version: 20.31.1014", "mlx5", "0000:3b:00.1", True),
        ("mlx5_core 0000:3b:00.1: something never seen before", "mlx5", "0000:3b:00.1", False),
        ("infiniband mlx5_7: a new message", "mlx5", "mlx5_7", False),
        ("infiniband rocep59s0: a new message", "ib_core", "rocep59s0", False),
        ("infiniband irdma3: bad init_state = 3", "irdma", "irdma3", True),
        ("<mlx4_ib> mlx4_ib_add: counter index 2 for port 1 allocated 1", "mlx4", None, True),
        ("rdma_rxe: loaded", "rxe", None, True),
        ("iw_cxgb4: c4iw_connect - cannot alloc ep.", "cxgb4", None, True),
        ("svcrdma: a new message", "svcrdma", None, False),
        ("hfi1 0000:af:00.0: hfi1_0: set_link_state: current INIT", "hfi1", "0000:af:00.0", False),
        ("ib0: skb could not be linearized", "ipoib", "ib0", True),
        ("ib_srpt: Received CM TimeWait exit for ch 0x1-77.", "srpt", None, True),
    ],
)
def test_what_has_no_rule_is_recognised(vocabulary, message, subsystem, device, known):
    [found] = vocabulary.match(message)
    assert found.rule.event == "rdma.message"
    assert (found.fields["subsystem"], found.fields["device"]) == (subsystem, device)
    assert (found.fields["format"] is not None) == known


def printed(text):
    """Return what a printf format might print."""
    text = re.sub(r"%p(?:I6c?|I4|i4|i6)", "fe80::9", text)
    text = re.sub(r"%pI?S[a-z]*", "10.1.2.3:4420", text)
    text = re.sub(r"%-?[#0-9.*+ ]*(?:hh|h|ll|l|z|j)?[diu]", "42", text)
    text = re.sub(r"%[#0-9.*]*(?:hh|h|ll|l|z)?[xX]", "2a", text)
    text = re.sub(r"%\*?p[A-Za-z0-9]*", "00000000f00dcafe", text)
    return re.sub(r"%[-0-9.*]*[sc]", "name", text).replace("%%", "%")


PREFIXES = {
    "mlx4_core": "mlx4_core 0000:81:00.0: ",
    "mlx4_ib": "<mlx4_ib> mlx4_ib_x: ",
    "mlx5_core": "mlx5_core 0000:3b:00.1: some_function:77:(pid 5): ",
    "mlx5_ib": "infiniband mlx5_2: some_function:77:(pid 5): ",
    "bnxt_re": "infiniband bnxt_re2: ",
    "siw": "siw: ",
    "rdma_rxe": "rdma_rxe: ",
    "iw_cxgb4": "iw_cxgb4: ",
    "irdma": "infiniband irdma2: ",
    "ib_ipoib": "ib3: ",
    "ib_iser": "iser: iser_function: ",
    "ib_isert": "isert: isert_function: ",
    "ib_srp": "scsi host9: ib_srp: ",
    "ib_srpt": "ib_srpt: ",
    "rds": "RDS/IB: ",
    "nvme_rdma": "nvme nvme4: ",
    "nvmet_rdma": "nvmet_rdma: ",
    "smc": "smc: ",
    "svcrdma": "svcrdma: ",
    "xprtrdma": "rpcrdma: ",
    "ib_core": "infiniband mlx5_2: ",
}
SUBSYSTEMS = {d.name: d.subsystem for d in COMPILED.drivers}


@pytest.mark.parametrize("file", sorted({f.file for f in COMPILED.formats}))
def test_every_format_is_recognised(vocabulary, file):
    for text in (f for f in COMPILED.formats if f.file == file):
        prefix = PREFIXES[text.driver]
        message = printed(text.format)
        message = message if message.startswith(prefix.strip()) else prefix + message
        found = vocabulary.match(message)
        assert found, message
        assert any(x in message.encode() for x in vocabulary.literals), message


def test_formats_are_recognised_as_themselves(vocabulary):
    right = 0
    for text in COMPILED.formats:
        [*found] = vocabulary.match(PREFIXES[text.driver] + printed(text.format))
        right += any(
            m.fields.get("format") == text.format or m.rule.event != "rdma.message" for m in found
        )
    assert right / len(COMPILED.formats) > 0.97


BORING = boring_lines(random.Random(11), 20_000)


def test_ordinary_logs_are_silent(vocabulary):
    lines = boring_lines(random.Random(12), 200_000)
    assert [(line, m.rule.event) for line in lines for m in vocabulary.match(line)] == []


def test_ordinary_logs_hold_few_literals(vocabulary):
    """What the corpus holds of them on purpose are local NVMe disks, a user's fault and a word of Java's logs."""
    planted = (b"nvme nvme", b"general protection fault", b"INFO: task")
    literals = [x for x in vocabulary.literals if x not in planted]
    text = "\n".join(BORING).encode()
    assert [x for x in literals if x in text] == []


def test_ordinary_logs_hold_no_traces():
    reader = Traces("x")
    for number, line in enumerate(BORING, 1):
        reader.feed(record(line, number))
    assert reader.finish() == []


def test_literals_and_companions_belong_together(vocabulary):
    assert len(vocabulary.literals) == len(set(vocabulary.literals)) == len(vocabulary.companions)
    assert min(map(len, vocabulary.literals)) >= 3


def test_a_line_of_any_length_takes_bounded_time(vocabulary):
    [found] = vocabulary.match("RDS/IB: connection <" + "1" * 10_000_000)
    assert found.rule.event == "rdma.message"
    assert vocabulary.timeouts == 0


def test_start_up_does_not_read_yaml():
    """Loading from the compiled form imports no YAML reader."""
    import subprocess

    code = (
        "import sys\nfrom pathlib import Path\nfrom rdmadiag.logs.compiled import read_compiled\n"
        f"read_compiled(Path({str(data_dir('rules'))!r}))\nassert 'yaml' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
