"""The command line: exit statuses, one clear sentence for each fault, nothing where it does not belong."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import rdmadiag.__main__
from rdmadiag import __version__
from rdmadiag.cli import app
from rdmadiag.commands.output import emit
from rdmadiag.help import HELP
from rdmadiag.report.columns import TABLES

ROOT = Path(__file__).parents[2]
STUCK = ROOT / "sample_dumps" / "rds-stuck-recv" / "vmcore"
LINE = b"Sep 29 22:32:33 n1 kernel: [471.784371] mlx4_core 0000:46:00.0: CQ access violation on CQN 000419\n"
HEALTHY = ROOT / "sample_dumps" / "rds-healthy" / "vmcore"


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Have an interrupt end what is begun: what a shell runs in the background inherits that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def run(
    *args: str, stdin: bytes | None = None, **keys: object
) -> "subprocess.CompletedProcess[bytes]":
    """Run the program as a user does, without a terminal."""
    command = [sys.executable, "-m", "rdmadiag", *args]
    return subprocess.run(
        command, input=stdin or b"", capture_output=True, cwd=ROOT, timeout=120, **keys
    )


def refuses(result: "subprocess.CompletedProcess[bytes]", *words: str) -> None:
    """Check that nothing but one sentence with *words* was said, and that the status says usage or input."""
    error = result.stderr.decode()
    assert result.returncode == 2, error
    assert result.stdout == b""
    assert error.count("\n") == 1
    assert "Traceback" not in error
    assert all(word in error for word in words), error


def test_version() -> None:
    assert run("--version").stdout == f"rdmadiag {__version__}\n".encode()


def test_help_is_what_the_parser_would_say() -> None:
    said = CliRunner().invoke(app, ["--help"], prog_name="rdmadiag", env={"COLUMNS": "80"}).output
    assert run("--help").stdout.decode() == HELP == said
    assert (run("-h").stdout, run("-h").returncode) == (HELP.encode(), 0)


def test_help_loads_neither_the_parser_nor_rules() -> None:
    code = "import sys, rdmadiag.__main__ as m; sys.argv = ['rdmadiag', '--help']; m._run(); assert not {'typer', 'drgn', 'msgspec', 'rich', 'yaml'} & sys.modules.keys()"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60).returncode == 0


@pytest.mark.parametrize("args", ["--help", "--version", "diagnose --help"])
@pytest.mark.parametrize("out", [">/dev/full", ">&-"])
def test_help_that_cannot_be_written(args: str, out: str) -> None:
    command = f"{sys.executable} -m rdmadiag {args} {out}"
    result = subprocess.run(["/bin/sh", "-c", command], capture_output=True, cwd=ROOT, timeout=60)
    refuses(result, "standard output: cannot be written")


@pytest.mark.parametrize("kib", [60_000, 200_000, 245_000, 270_000])
def test_too_little_memory_is_said(kib: int) -> None:
    command = f"ulimit -v {kib}; {sys.executable} -m rdmadiag diagnose {STUCK.parent}"
    result = subprocess.run(["/bin/sh", "-c", command], capture_output=True, cwd=ROOT, timeout=60)
    if result.returncode == 1:  # it was enough: then nothing is missing
        assert b"could-not-run" not in result.stdout
        assert kib > 200_000
    else:
        refuses(result, "memory", f"ulimit -v allows {kib // 1024} MiB")


def test_no_arguments_show_the_help() -> None:
    result = run()
    assert (result.returncode, b"diagnose" in result.stdout) == (2, True)


@pytest.mark.parametrize(
    "command", ["diagnose", "inspect", "extract", "report", "compare", "explain", "rules", "fix"]
)
def test_each_command_has_help(command: str) -> None:
    result = run(command, "--help")
    assert (result.returncode, b"Usage" in result.stdout, result.stderr) == (0, True, b"")


def test_the_help_of_inspect_lists_all_tables() -> None:
    # The parser breaks names at their hyphens.
    said = b"".join(run("inspect", "--help").stdout.split()).decode()
    assert f"table{','.join(TABLES)}orlog." in said
    assert {"cqs", "rds-cpus"} <= TABLES.keys()


def test_the_help_of_shell_says_the_names_at_hand() -> None:
    said = b" ".join(run("shell", "--help").stdout.split()).decode()
    for name in ("prog (drgn's", "dump (the opened dump)", "report (the findings"):
        assert name in said


def test_a_finding_makes_the_status_1_unless_told_otherwise() -> None:
    assert run("diagnose", str(STUCK)).returncode == 1
    assert run("diagnose", "--fail-on", "never", str(STUCK)).returncode == 0
    assert run("diagnose", str(HEALTHY)).returncode == 0


def test_only_and_ignore() -> None:
    assert run("diagnose", "--only", "hca-fatal-error", str(STUCK)).returncode == 0
    refuses(run("diagnose", "--only", "no-such", str(STUCK)), "no-such", "rules list")


def test_nothing_is_said_on_standard_error_when_all_is_well() -> None:
    result = run("diagnose", str(STUCK))
    assert result.stderr == b""
    assert b"\x1b" not in result.stdout


def test_usage_faults() -> None:
    refuses(run("diagnose", "--nonsense"), "--nonsense")
    refuses(run("diagnose"), "inputs")
    refuses(run("diagnose", "/no/such/file"), "/no/such/file", "no such file")
    refuses(run("inspect", str(STUCK), "nonsense"), "nonsense", "rings")
    refuses(run("diagnose", "--since", "yesterday", str(STUCK)), "yesterday")
    backwards = ("--since", "2026-11-10", "--until", "2026-11-09")
    refuses(run("diagnose", *backwards, str(STUCK)), "2026-11-10 is later than --until 2026-11-09")
    refuses(run("diagnose", "--tz", "Mars/Olympus", str(STUCK)), "Mars/Olympus", "no time zone")
    refuses(run("explain", "no-such-thing"), "no-such-thing")
    refuses(run("diagnose", "--rules", "/no/such", str(STUCK)), "/no/such")


@pytest.mark.parametrize(
    ("since", "found"), [("2018-09-30T04:02", True), ("2018-09-30T04:03", False)]
)
def test_log_and_since_are_of_the_zone(since: str, found: bool) -> None:
    line = b"[Sat Sep 29 22:32:33 2018] mlx4_core 0000:46:00.0: CQ access violation on CQN 000419\n"
    at = ["--tz", "-05:30", "--since", f"{since}Z", "--until", "2018-09-29T22:33"]
    report = json.loads(run("diagnose", "--format", "json", *at, "-", stdin=line).stdout)
    assert any("those of -05:30" in p["what"] for p in report["inputs"][0]["problems"])
    assert bool(report["findings"]) == found


def test_inputs_that_cannot_be_read_at_all(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    refuses(run("diagnose", str(empty)), "empty")
    junk = tmp_path / "vmcore"
    junk.write_bytes(b"KDUMP   " + bytes(range(256)) * 64)
    refuses(run("diagnose", str(junk)), "vmcore")


def test_a_file_whose_name_is_an_option(tmp_path: Path) -> None:
    name = tmp_path / "-x"
    name.write_text("Jan  1 00:00:00 node1 kernel: hello\n")
    command = [sys.executable, "-m", "rdmadiag", "diagnose", "--", "-x"]
    result = subprocess.run(command, capture_output=True, cwd=tmp_path, timeout=60)
    assert result.returncode == 0, result.stderr


def test_control_characters_of_a_file_name_do_not_reach_the_terminal() -> None:
    result = run("diagnose", "/no/\x1b[31msuch")
    assert b"\x1b" not in result.stderr


def test_standard_input() -> None:
    result = run("diagnose", "-", stdin=LINE)
    assert (result.returncode, b"hca-cq-error" in result.stdout) == (1, True)


def test_output_goes_to_the_file_whole(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    out.write_text("old")
    result = run("diagnose", "--format", "json", "-o", str(out), str(STUCK))
    assert (result.returncode, result.stdout) == (1, b"")
    assert out.read_text().startswith("{")
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]
    refuses(run("diagnose", "-o", str(tmp_path / "no" / "file"), str(STUCK)), "cannot be written")


def test_an_input_is_never_the_output(tmp_path: Path) -> None:
    log = tmp_path / "messages"
    log.write_bytes(LINE)
    link, other = tmp_path / "link", tmp_path / "other"
    link.symlink_to(log)
    other.hardlink_to(log)
    for out in (log, link, other):
        refuses(run("diagnose", str(log), "-o", str(out)), "would be lost")
        refuses(run("inspect", str(log), "log", "-o", str(out)), "would be lost")
        refuses(run("report", str(log), "-o", str(out)), "would be lost")
        refuses(run("compare", "no", str(log), "-o", str(out)), "would be lost")
    key = str(tmp_path / "key")
    refuses(run("diagnose", str(log), "--redact-save-key", key, "-o", key), "would be lost")
    assert log.read_bytes() == LINE
    assert not Path(key).exists()


def test_output_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(LINE)
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to("target")
    assert run("diagnose", str(tmp_path / "log"), "-o", str(link)).returncode == 1
    assert link.is_symlink()
    assert b"CQN 000419" in target.read_bytes()


@pytest.mark.parametrize("out", ["/dev/full", ".", "", "x" * 300, "x" * 250, "/proc/1/x"])
def test_output_that_cannot_be_written(tmp_path: Path, out: str) -> None:
    refuses(run("diagnose", "-", "-o", out, stdin=LINE))


@pytest.mark.parametrize(
    ("streams", "words"),
    [
        ("<&-", "-: byte 0|cannot be read"),
        (">&-", "standard output: cannot be written"),
        (">/dev/full", "standard output: cannot be written"),
    ],
)
def test_standard_files_that_are_closed_or_full(streams: str, words: str) -> None:
    command = f"printf '%s' \"$1\" | {{ {sys.executable} -m rdmadiag diagnose - {streams}; }}"
    result = subprocess.run(
        ["/bin/sh", "-c", command, "sh", LINE], capture_output=True, cwd=ROOT, timeout=60
    )
    refuses(result, *words.split("|")[1:])


@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full"])
def test_the_status_tells_without_standard_error(streams: str) -> None:
    command = f"{sys.executable} -m rdmadiag diagnose /no/such {streams}"
    assert subprocess.run(["/bin/sh", "-c", command], cwd=ROOT, timeout=60).returncode == 2


def test_a_signal_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Path, target: Path) -> None:
        assert [p.name[:3] for p in tmp_path.iterdir()] == [".x."]
        signal.raise_signal(signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    rdmadiag.__main__._end_in_order()
    monkeypatch.setattr(Path, "replace", interrupted)
    try:
        with pytest.raises(SystemExit) as end:
            emit("text", tmp_path / "x")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert end.value.code == 143
    assert not list(tmp_path.iterdir())


def test_a_reader_that_goes_away_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "rdmadiag", "diagnose", str(STUCK)]
    with os.fdopen(writer, "wb") as out:
        result = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, cwd=ROOT, timeout=60)
    assert (result.returncode, result.stderr) == (141, b"")


def test_an_interrupt_ends_it_quietly() -> None:
    command = [sys.executable, "-m", "rdmadiag", "diagnose", "-"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (130, b"")


def test_an_internal_error_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> int:
        raise RuntimeError("a fault\x1b[2J")

    monkeypatch.setattr(rdmadiag.__main__, "_run", broken)
    with pytest.raises(SystemExit) as end:
        rdmadiag.__main__.main()
    error = capsys.readouterr().err
    assert end.value.code == 3
    assert "internal error: RuntimeError: a fault\\x1b[2J" in error
    assert error.count("\n") == 1


def test_an_error_that_a_signal_led_to_is_none_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrapped() -> int:
        try:
            signal.raise_signal(signal.SIGTERM)
        except SystemExit as end:
            raise RuntimeError("as Python's import of a class does") from end
        return 0

    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    monkeypatch.setattr(rdmadiag.__main__, "_run", wrapped)

    try:
        with pytest.raises(SystemExit) as end:
            rdmadiag.__main__.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (end.value.code, capsys.readouterr().err) == (143, "")


@pytest.fixture(scope="module")
def long_logs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return two logs of 20 GB each, in little room: it takes a minute to read them."""
    folder = tmp_path_factory.mktemp("long")
    part = gzip.compress(b"Sep 29 22:00:00 n1 kernel: usb 1-1: new device\n" * 400_000)
    (folder / "a.gz").write_bytes(part * 1000)
    (folder / "b.gz").hardlink_to(folder / "a.gz")
    return [str(folder / "a.gz"), str(folder / "b.gz")]


def reading(logs: list[str]) -> "subprocess.Popen[bytes]":
    """Begin to read *logs* in a process each; return when they are there."""
    command = [sys.executable, "-m", "rdmadiag", "diagnose", "--jobs", "2", *logs]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, start_new_session=True
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while len(children.read_text().split()) < 2:
        time.sleep(0.05)
    time.sleep(0.3)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("tell", [os.kill, os.killpg])
def test_a_signal_ends_all_processes_at_once(
    long_logs: list[str], number: int, tell: Callable[[int, int], None]
) -> None:
    with reading(long_logs) as process:
        tell(process.pid, number)
        output, error = process.communicate(timeout=15)  # its children have these open, too
    assert (process.returncode, output, error) == (128 + number, b"", b"")


def test_processes_end_with_the_one_that_began_them(long_logs: list[str]) -> None:
    with reading(long_logs) as process:
        process.kill()
        process.communicate(timeout=15)


def test_rules_are_clean() -> None:
    for command in ("check", "test"):
        result = run("rules", command)
        assert (result.returncode, b"no fault" in result.stdout) == (0, True), (
            result.stdout.decode()
        )


def test_a_device_is_no_input() -> None:
    refuses(run("diagnose", "/dev/zero"), "/dev/zero", "device")


def test_a_key_file_that_never_ends_is_refused() -> None:
    refuses(run("diagnose", "--redact-key", "/dev/zero", str(STUCK)), "/dev/zero", "no key file")


def test_what_stands_far_out_in_a_long_line_is_said_to_be_unread(tmp_path: Path) -> None:
    log = tmp_path / "messages"
    ordinary = b"Sep 29 22:00:00 n1 kernel: usb 1-1: new device\n" * 8000
    hidden = b"mlx4_core 0000:46:00.0: CQ access violation on CQN 000419"
    log.write_bytes(
        ordinary + b"Sep 29 22:00:00 n1 kernel: " + b"x" * 100_000 + hidden + b"\n" + ordinary
    )
    result = run("diagnose", "--format", "json", str(log))
    report = json.loads(result.stdout)
    outcomes = {c["id"]: c["outcome"] for c in report["checks"]}
    assert any("long" in p["what"] for p in report["inputs"][0]["problems"]), report["inputs"]
    assert outcomes["hca-cq-error"] == "could-not-run"


def test_a_dump_that_cannot_be_opened_beside_a_log_is_not_passed_over(tmp_path: Path) -> None:
    junk = tmp_path / "vmcore"
    junk.write_bytes(b"KDUMP   " + bytes(range(256)) * 64)
    log = tmp_path / "messages"
    log.write_bytes(b"Sep 29 22:00:00 n1 kernel: usb 1-1: new device\n" * 10)
    report = json.loads(run("diagnose", "--format", "json", str(junk), str(log)).stdout)
    outcomes = {c["id"]: c["outcome"] for c in report["checks"]}
    assert outcomes["hca-cq-error"] == outcomes["rds-shutdown-stuck"] == "could-not-run"


def test_one_input_that_is_missing_does_not_cost_the_others(tmp_path: Path) -> None:
    log = tmp_path / "messages"
    log.write_bytes(LINE)
    for bad, why in (("/no/such", "no such file"), ("/dev/zero", "device")):
        result = run("diagnose", "--format", "json", str(log), bad)
        report = json.loads(result.stdout)
        assert (result.returncode, result.stderr.count(b"\n")) == (2, 1)
        assert bad in result.stderr.decode()
        assert why in result.stderr.decode()
        assert [f["id"] for f in report["findings"]] == ["hca-cq-error"]
        assert why in str([i["problems"] for i in report["inputs"] if i["path"] == bad])
        lost = [c for c in report["checks"] if c["outcome"] == "could-not-run"]
        assert lost
        assert all(bad in c["reason"] for c in lost)
    refuses(run("fix", "check", str(log), "/no/such"), "/no/such", "no such file")


def test_a_table_of_a_log_needs_a_dump(tmp_path: Path) -> None:
    log = tmp_path / "messages"
    log.write_bytes(LINE)
    refuses(run("inspect", str(log), "rings"), "needs a dump", "'log'")
    assert run("inspect", str(log), "log").stdout == LINE


def test_evidence_is_not_broken_off_a_terminal_and_columns_count() -> None:
    narrow, wide = (
        run("diagnose", str(STUCK), env={**os.environ, "COLUMNS": columns}).stdout.decode()
        for columns in ("60", "200")
    )
    line = next(line for line in wide.splitlines() if "CQ access violation" in line)
    assert line in narrow.splitlines()
    assert len(line) > 60
    assert max(map(len, wide.splitlines())) > 150
    prose = [row for row in narrow.splitlines() if not row.startswith("    ")]
    assert max(map(len, prose)) == 60


@pytest.mark.parametrize("compressed", [False, True])
def test_a_pipe_named_as_a_file_is_read_once(compressed: bool) -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as file:
        file.write(gzip.compress(LINE) if compressed else LINE)
    result = run("diagnose", f"/dev/fd/{reader}", str(HEALTHY), pass_fds=(reader,))
    os.close(reader)
    assert (result.returncode, result.stderr) == (1, b"")
    assert b"hca-cq-error" in result.stdout


def test_a_dump_does_not_come_through_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    command = f"cat {STUCK} >pipe & exec {sys.executable} -m rdmadiag diagnose pipe"
    result = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, cwd=tmp_path, timeout=60
    )
    refuses(result, "pipe", "save it as one first")


def test_standard_files_that_do_not_wait(tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    assert run("diagnose", "--format", "json", "-o", str(saved), str(STUCK)).returncode == 1
    whole = run("report", str(saved)).stdout
    assert len(whole) > 1 << 16  # more than a pipe holds
    inlet, into = os.pipe()
    out, outlet = os.pipe()
    os.set_blocking(inlet, False)
    os.set_blocking(outlet, False)
    command = [sys.executable, "-m", "rdmadiag", "report", "-"]
    with subprocess.Popen(command, stdin=inlet, stdout=outlet, cwd=ROOT) as process:
        os.close(inlet)
        os.close(outlet)
        time.sleep(1)
        with os.fdopen(into, "wb") as file:
            file.write(saved.read_bytes())
        time.sleep(1)
        with os.fdopen(out, "rb") as read:
            assert read.read() == whole
    assert process.returncode == 0


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("args", ["explain 28733324", "diagnose --help"])
def test_output_that_is_written_in_part_is_said(tmp_path: Path, args: str, unbuffered: str) -> None:
    command = f"ulimit -f 1; exec {sys.executable} -m rdmadiag {args} >{tmp_path / 'out'}"
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        ["/bin/bash", "-c", command], capture_output=True, cwd=ROOT, env=env, timeout=60
    )
    refuses(result, "standard output: cannot be written")


def test_too_few_files_that_can_be_open_are_said(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(LINE)
    command = f"ulimit -n 8; exec {sys.executable} -m rdmadiag diagnose --jobs 2 a b"
    result = subprocess.run(
        ["/bin/bash", "-c", command],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    refuses(result, "ulimit -n allows 8")


def test_an_empty_name_is_a_file_that_is_missing(tmp_path: Path) -> None:
    log = tmp_path / "messages"
    log.write_bytes(LINE)
    result = run("diagnose", str(log), "")
    assert (result.returncode, result.stderr) == (2, b"rdmadiag: : there is no such file\n")


def test_what_is_read_of_a_folder_is_never_the_output(tmp_path: Path) -> None:
    log = tmp_path / "messages"
    log.write_bytes(LINE)
    refuses(run("diagnose", str(tmp_path), "-o", str(log)), "messages", "would be lost")
    assert log.read_bytes() == LINE
    for _ in range(2):  # what is not read there may be replaced
        out = tmp_path / "report.html"
        assert run("diagnose", str(tmp_path), "--format", "html", "-o", str(out)).returncode == 1
    baseline = tmp_path / "old.json"
    run("diagnose", str(log), "--format", "json", "-o", str(baseline))
    said = ("--baseline", str(baseline), "-o", str(baseline))
    refuses(run("diagnose", str(log), *said), "old.json", "would be lost")
    refuses(run("report", str(baseline), *said), "old.json", "would be lost")


def test_a_capsule_takes_the_place_of_plain_files_only(tmp_path: Path) -> None:
    out, pipe = tmp_path / "out", tmp_path / "pipe"
    out.mkdir()
    os.mkfifo(pipe)
    refuses(run("extract", str(STUCK), "-o", str(out)), "out", "folder")
    refuses(run("extract", str(STUCK), "-o", str(pipe)), "pipe", "no plain file")
    refuses(run("extract", str(STUCK), "-o", "/dev/null"), "/dev/null", "no plain file")
    refuses(run("extract", str(STUCK), "-o", "x" * 300), "File name too long")
    refuses(run("extract", str(STUCK), "-o", str(STUCK)), "would be lost")
    assert (pipe.is_fifo(), Path("/dev/null").is_char_device()) == (True, True)
    link = tmp_path / "link"
    link.symlink_to("target")
    assert run("extract", str(STUCK), "-o", str(link)).returncode == 0
    assert link.is_symlink()
    assert run("diagnose", str(tmp_path / "target")).returncode == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "out", "pipe", "target"]


def test_half_a_key_is_not_left(tmp_path: Path) -> None:
    log = tmp_path / "messages"
    log.write_bytes(LINE)
    key = tmp_path / "key"
    command = f"ulimit -f 0; exec {sys.executable} -m rdmadiag diagnose --redact-save-key {key} {log} | cat"
    result = subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", command], capture_output=True, cwd=ROOT, timeout=60
    )
    refuses(result, "key", "File too large")
    assert not key.exists()


@pytest.mark.parametrize(
    "args",
    [
        "diagnose {}",
        "diagnose --rules {} {dump}",
        "diagnose --debuginfo {} {dump}",
        "extract {} -o x",
        "inspect {} tasks",
        "shell {} -c 1",
        "shell {dump} {}",
        "report {}",
        "compare {} none.json",
        "rules check {}",
        "fix check {}",
    ],
)
def test_a_name_that_no_file_can_have(args: str) -> None:
    """What asks for files by their names raises errors for some: where the folder is closed, too."""
    refuses(run(*args.format("x" * 300, dump=STUCK).split()), "File name too long")


def test_a_link_to_itself_beside_a_log(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "messages").write_bytes(LINE)
    result = run("diagnose", str(tmp_path / "loop"), str(tmp_path / "messages"))
    assert (result.returncode, b"hca-cq-error" in result.stdout) == (2, True)
    assert b"Too many levels of symbolic links" in result.stderr
