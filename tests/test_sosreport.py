"""What lies beside the log in a sosreport says which kernel it is."""

import pytest

from rdmadiag.commands.diagnose import Request, make_report

LOG = """\
Sep 29 22:32:33 cel7 kernel: [471472.784371] mlx4_core 0000:46:00.0: CQ access violation on CQN 000419
Sep 29 22:32:33 cel7 kernel: [471472.784403] RDS/IB: connection <10.8.0.43,10.8.0.1,0> dropped due to 'qp event'
Sep 29 22:58:17 cel7 systemd[1]: Started Session 7 of user root.
"""


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (
            "sos_commands/kernel/uname_-a",
            "Linux cel7 {} #2 SMP Tue Sep 4 11:40:03 PDT 2018 x86_64 GNU/Linux\n",
        ),
        (
            "proc/version",
            "Linux version {} (mockbuild@x) (gcc 4.9) #2 SMP Tue Sep 4 11:40:03 PDT 2018\n",
        ),
    ],
)
@pytest.mark.parametrize(
    ("release", "status"),
    [("4.1.12-124.18.6.el6uek.x86_64", "missing"), ("4.1.12-124.24.3.el6uek.x86_64", "present")],
)
def test_fix_status_by_the_release_beside_the_log(tmp_path, place, text, release, status):
    for name, content in (("var/log/messages", LOG), (place, text.format(release))):
        path = tmp_path / "sosreport-cel7" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    report = make_report(Request([str(tmp_path / "sosreport-cel7")]))
    fixes = {fix.id: fix.status for finding in report.findings for fix in finding.fixes}
    if status == "missing":
        assert fixes["ORA-28733324"] == "missing"
    else:  # a kernel with the fix is not claimed to have the fault
        assert "ORA-28733324" not in fixes or fixes["ORA-28733324"] == "present"
