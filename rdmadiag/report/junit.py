"""
The report as JUnit XML, for a queue that reads test results.

A finding is a failed test (an ``info`` one passes and is told), a check that could not run is an error:
it must never look like a pass. A check that does not apply, and a finding of the baseline, are skipped.
"""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, tostring

from rdmadiag.report import view
from rdmadiag.report.escape import clean
from rdmadiag.report.headline import headline
from rdmadiag.report.model import Check, Finding, Report
from rdmadiag.report.order import ordered


def render(report: Report) -> str:
    """Return *report* as one ``<testsuites>`` document."""
    report = clean(report)
    root = Element("testsuites", name="rdmadiag")
    suite = SubElement(root, "testsuite", _attributes(report))
    suite.append(_properties(report))
    cases = list(_cases(report))
    suite.extend(cases)
    SubElement(suite, "system-out").text = _summary(report)
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("tests", str(len(cases)))
    for name in ("tests", "failures", "errors", "time"):
        root.set(name, suite.get(name, "0"))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _attributes(report: Report) -> dict[str, str]:
    hosts = [i.host for i in report.inputs if i.host]
    return {
        "name": "rdmadiag",
        "time": f"{max(report.seconds, 0):.3f}",
        "timestamp": report.started[:19],
        "hostname": hosts[0] if hosts else "unknown",
    }


def _properties(report: Report) -> Element:
    properties = Element("properties")
    tool = report.tool
    rows = [("tool", f"{tool.name} {tool.version}"), ("rules", tool.rules_version)]
    rows += [("input", f"{i.path} ({i.kind}) {i.kernel_release}".strip()) for i in report.inputs]
    for name, value in rows:
        SubElement(properties, "property", name=name, value=value)
    return properties


def _cases(report: Report) -> Iterator[Element]:
    """Return a test for each check, or one for each of its findings."""
    findings: dict[str, list[Finding]] = {}
    for finding in ordered(report.findings):
        findings.setdefault(finding.id, []).append(finding)
    ids = dict.fromkeys([*findings, *(c.id for c in report.checks)])
    checks = {c.id: c for c in report.checks}
    for name in ids:
        if name in findings:
            yield from map(_fired, findings[name])
        else:
            yield _other(checks[name])


def _fired(finding: Finding) -> Element:
    about = " · ".join(p for p in (finding.host, view.subject_text(finding.subject)) if p)
    case = _case(f"{finding.id} ({about})" if about else finding.id, finding.subsystem)
    if finding.known:
        SubElement(case, "skipped", message=f"known from the baseline: {finding.title}")
    elif finding.severity == "info":
        SubElement(case, "system-out").text = _story(finding)
    else:
        kind = f"{finding.severity} {finding.verdict}"
        SubElement(case, "failure", message=finding.title, type=kind).text = _story(finding)
    return case


def _other(check: Check) -> Element:
    case = _case(check.id, "checks")
    if check.outcome == "could-not-run":
        SubElement(case, "error", message=check.reason, type=check.outcome)
    elif check.outcome == "not-applicable":
        SubElement(case, "skipped", message=check.reason)
    else:
        SubElement(case, "system-out").text = f"{check.outcome}: {check.reason}"
    return case


def _case(name: str, group: str) -> Element:
    return Element("testcase", name=name, classname=f"rdmadiag.{group or 'checks'}", time="0")


def _story(finding: Finding) -> str:
    lines = [finding.summary, ""]
    for step in view.chain(finding):
        row = step.evidence
        lines += [f"{view.where_text(row.where)}  {view.time_text(row.time)}", f"  {row.text}"]
    lines += [f"fix {fix.id}: {fix.status}, {fix.why}" for fix in finding.fixes]
    return "\n".join([*lines, f"fingerprint {finding.fingerprint}"])


def _summary(report: Report) -> str:
    head = headline(report)
    problems = [f"{i.path}: {p.what} {p.where}".rstrip() for i in report.inputs for p in i.problems]
    return "\n".join([head.text, *head.notes, *problems])
