"""A fatal error of an adapter is less grave when the log shows that the adapter came back."""

from pathlib import Path

import pytest

from rdmadiag.commands.diagnose import Request, make_report
from rdmadiag.report.model import Finding

MLX5 = "mlx5_core 0000:af:00.0: "
HEALTH = f"{MLX5}poll_health:825:(pid 0): device's health compromised - reached miss count"
STARTS = f"{MLX5}health_recover_work:372:(pid 311): starting health recovery flow"
RECOVERED = f"{MLX5}mlx5_health_try_recover:338:(pid 311): health recovery succeeded"
MLX4 = "mlx4_core 0000:05:00.0: "
INTERNAL = f"{MLX4}Internal error detected:"
RESET = f"{MLX4}device was reset successfully"
BNXT = "bnxt_en 0000:5e:00.0 eth4: "
FIRMWARE = f"{BNXT}Detected firmware fatal condition, initiating reset"


def found(folder: Path, *messages: str, boot_before_last: bool = False) -> Finding:
    times = [100.0 + 10 * number for number in range(len(messages))]
    rows = [f"[{time:12.6f}] {message}\n" for time, message in zip(times, messages, strict=True)]
    if boot_before_last:
        rows.insert(-1, "[    0.000000] Linux version 6.1.0-99-test (a@b) #1 SMP\n")
        rows[-1] = f"[    9.000000] {messages[-1]}\n"
    log = folder / "dmesg"
    log.write_text("".join(rows))
    findings = make_report(Request([str(log)])).findings
    (finding,) = [one for one in findings if one.id == "hca-fatal-error"]
    return finding


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ((HEALTH, STARTS, RECOVERED), "it was recovered after 20.0 s"),
        (
            (HEALTH, STARTS, "mlx5_core 0000:af:00.0 ens1: Link up"),
            "its link came up again 20.0 s later",
        ),
        ((INTERNAL, RESET), "it was reset successfully 10.0 s later"),
        ((INTERNAL, RESET, f"{MLX4}mlx4_restart_one was ended, ret=0"), "recovered after 20.0 s"),
        (
            (f"{MLX5}mlx5_pci_err_detected was called", f"{MLX5}AER: device recovery successful"),
            "it was recovered after 10.0 s",
        ),
    ],
)
def test_an_adapter_that_came_back(tmp_path: Path, messages: tuple[str, ...], said: str) -> None:
    finding = found(tmp_path, *messages)
    assert (finding.severity, finding.verdict) == ("warning", "confirmed")
    assert finding.title == "The HCA had a fatal error and came back"
    assert said in finding.summary


@pytest.mark.parametrize(
    "messages",
    [
        (HEALTH, STARTS),
        (RECOVERED, HEALTH),
        (HEALTH, RECOVERED, HEALTH),
        (HEALTH, f"{MLX5}mlx5_health_try_recover:340:(pid 5): health recovery failed"),
        (HEALTH, "mlx5_core 0000:b1:00.0 ens9: Link up"),
        (INTERNAL, f"{MLX4}device is going to be reset"),
        (INTERNAL, RESET, f"{MLX4}mlx4_restart_one was ended, ret=-5"),
        (FIRMWARE, f"{BNXT}Firmware reset aborted, rc = -16"),
    ],
)
def test_an_adapter_that_did_not(tmp_path: Path, messages: tuple[str, ...]) -> None:
    finding = found(tmp_path, *messages)
    assert finding.severity == "critical"
    assert finding.title == "The HCA or its driver reports a fatal error"


def test_an_adapter_that_only_a_reboot_brought_back(tmp_path: Path) -> None:
    link = "mlx5_core 0000:af:00.0 ens1: Link up"
    assert found(tmp_path, HEALTH, link, boot_before_last=True).severity == "critical"
