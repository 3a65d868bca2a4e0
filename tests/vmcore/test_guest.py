"""A running guest through QEMU's monitor, and sockets that are none."""

import json
import socket
import time

import pytest

from rdmadiag.commands.inspect import inspect
from rdmadiag.errors import UserError
from rdmadiag.gather import Gatherer
from rdmadiag.vmcore import guest
from rdmadiag.vmcore.capsule import extract as cut
from rdmadiag.vmcore.dump import open_dump

from .fake_monitor import EVENT, GREETING, Monitor, listening
from .samples import path_of

OK = b'{"return": {}}\n'
STUCK = path_of("rds-stuck-recv")


def rows(collected, kind):
    return sorted(
        json.dumps(f.fields, sort_keys=True, default=str) for f in collected.facts if f.kind == kind
    )


def test_a_guest_gives_the_facts_of_its_dump(tmp_path):
    wanted = Gatherer().gather([str(STUCK)])
    with listening(tmp_path / "qmp", Monitor(STUCK)) as path:
        found = Gatherer().gather([str(path)])
    for kind in ("rds.ib_connection", "task", "kernel.hung_task", "rdma.cm_id"):
        assert rows(found, kind) == rows(wanted, kind)
    assert rows(found, "rds.ib_connection")
    [info] = found.inputs
    assert (info.kind, info.types) == ("live", "btf")
    [remark] = [p for p in info.problems if "running guest" in p.what]
    assert "changes while it is read" in remark.what
    assert remark.remark


def test_inspect_and_extract_from_a_guest(tmp_path, monkeypatch):
    capsule = tmp_path / "capsule"
    # All that a capsule keeps, a kilobyte a question, would take a minute.
    monkeypatch.setattr("rdmadiag.vmcore.capsule.read_for_later", lambda dump: None)
    rings = Gatherer(kinds=["rds.ib_connection"])
    with listening(tmp_path / "one", Monitor(STUCK)) as path:
        table, _ = inspect(str(path), "rings", "csv", 80)
    with listening(tmp_path / "two", Monitor(STUCK)) as path:
        cut(path, capsule, rings.read_dump)
    assert table == inspect(str(STUCK), "rings", "csv", 80)[0]
    assert table == inspect(str(capsule), "rings", "csv", 80)[0]
    assert [p.remark for p in open_dump(capsule).problems if "running guest" in p.what] == [True]


def test_only_memory_is_read_never_a_device(tmp_path):
    with listening(tmp_path / "qmp", Monitor(STUCK)) as path:
        one = guest.Guest(path)
        assert len(one.read(0x1000000, 16, 0, True)) == 16
        for address, count in ((0xFEC00000, 4), (1 << 45, 8), (0, 1 << 40)):
            with pytest.raises(guest.FaultError, match="no memory there"):
                one.read(address, count, 0, True)


def test_a_guest_that_did_not_tell_its_vmcoreinfo(tmp_path):
    with (
        listening(tmp_path / "qmp", Monitor(STUCK, told=False)) as path,
        pytest.raises(UserError, match="-device vmcoreinfo"),
    ):
        open_dump(path)


def closes(client):
    client.shutdown(socket.SHUT_RDWR)


def is_mute(_client):
    time.sleep(600)


def speaks_http(client):
    client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    time.sleep(600)


def greets_in_deep_json(client):
    client.sendall(b"[" * 60000 + b"\n")
    time.sleep(600)


def writes_megabytes(client):
    while True:
        client.sendall(b"x" * (1 << 20))


def greets_and(then):
    def talk(client):
        client.sendall(GREETING)
        client.recv(1 << 16)
        then(client)

    return talk


def trickles(client):
    while True:
        client.sendall(b" ")
        time.sleep(0.2)


def floods_with_events(client):
    while True:
        client.sendall(EVENT)


def refuses(client):
    client.sendall(
        b'{"error": {"class": "GenericError", "desc": "' + b"no\\u001b" * 9999 + b'"}}\n'
    )
    time.sleep(600)


def knows_no_target(client):
    client.sendall(OK)
    client.recv(1 << 16)
    client.sendall(b'{"return": []}\n')
    time.sleep(600)


@pytest.mark.parametrize("then", [is_mute, trickles, floods_with_events, closes])
def test_a_monitor_that_gives_no_answer_any_more_is_asked_no_more(tmp_path, monkeypatch, then):
    monkeypatch.setattr(guest, "ANSWER_SECONDS", 1)
    began = time.monotonic()
    with listening(tmp_path / "qmp", Monitor(STUCK, answered=300, then=then)) as path:
        found = Gatherer().gather([str(path)])
    assert time.monotonic() - began < 20
    assert not any(f.kind == "rds.ib_connection" for f in found.facts)
    assert found.inputs[0].problems[1:]


def test_a_read_that_only_trickles_in_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(guest, "ANSWER_SECONDS", 1)
    with listening(tmp_path / "qmp", Monitor(STUCK, answered=1, then=trickles)) as path:
        one = guest.Guest(path)
        assert len(one.read(0x1000000, 16, 0, True)) == 16
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(guest.FaultError, match="gives no answer"):
                one.read(0x1000000, 16, 0, True)
            assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    ("talk", "said"),
    [
        (closes, "is closed"),
        (is_mute, "no QEMU monitor has greeted"),
        (trickles, "no QEMU monitor has greeted"),
        (speaks_http, "no QMP greeting"),
        (greets_in_deep_json, "no QMP greeting"),
        (writes_megabytes, "no QMP greeting"),
        (greets_and(closes), "answers wrongly: QMP connection closed"),
        (greets_and(is_mute), "the monitor gives no answer"),
        (greets_and(speaks_http), "answers wrongly: could not parse"),
        (greets_and(writes_megabytes), "the monitor (gives no answer|answers wrongly)"),
        (greets_and(trickles), "the monitor gives no answer"),
        (greets_and(floods_with_events), "the monitor gives no answer"),
        (greets_and(refuses), "answers wrongly: QMP error: GenericError"),
        (greets_and(knows_no_target), "answers wrongly"),
    ],
)
def test_what_is_no_monitor_ends_in_a_sentence(tmp_path, monkeypatch, talk, said):
    monkeypatch.setattr(guest, "GREETING_SECONDS", 1)
    monkeypatch.setattr(guest, "SETUP_SECONDS", 3)
    monkeypatch.setattr(guest, "ANSWER_SECONDS", 1)
    began = time.monotonic()
    with listening(tmp_path / "qmp", talk) as path:
        with pytest.raises(UserError, match=said) as caught:
            open_dump(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert len(str(caught.value)) < 600
    assert time.monotonic() - began < 10


def test_a_socket_that_nobody_listens_at(tmp_path):
    path = tmp_path / "qmp"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        with pytest.raises(UserError, match="refused"):
            open_dump(path)


def test_a_busy_monitor_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(guest, "GREETING_SECONDS", 1)
    with (
        listening(tmp_path / "qmp", Monitor(STUCK)) as path,
        socket.socket(socket.AF_UNIX) as other,
    ):
        other.connect(str(path))
        other.recv(1 << 16, socket.MSG_PEEK)
        with pytest.raises(UserError, match="another client"):
            open_dump(path)


def test_a_socket_in_a_directory_is_not_opened(tmp_path):
    (tmp_path / "messages").write_text("Jan  1 00:00:00 host kernel: all is well\n")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "qmp"))
        found = Gatherer().gather([str(tmp_path)])
    assert [info.kind for info in found.inputs] == ["log"]


def test_a_capsule_of_the_running_kernel_is_refused(tmp_path):
    with pytest.raises(UserError, match="not of the running system"):
        cut("/proc/kcore", tmp_path / "capsule", lambda dump: None)
