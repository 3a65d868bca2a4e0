"""The HTML page: it stands alone, lets nothing in, and stays light."""

import base64
import hashlib
import json
import re
import time
from html.parser import HTMLParser

import msgspec
import pytest

from rdmadiag.report import html
from rdmadiag.report.model import TimelineRow
from tests.report.samples import SAMPLES, finding_a, finding_b, story_a, task

VOID = {"meta", "input", "br", "use", "rect", "circle", "path"}


class Page(HTMLParser):
    """Collects the elements of a page, and checks that they nest."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.texts, self.ids = [], [], {}, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


@pytest.mark.parametrize("sample", SAMPLES)
def test_is_well_formed_and_alone(sample):
    page = Page(html.render(SAMPLES[sample]()))
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    for tag, attributes in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert "src" not in attributes
        assert tag not in ("link", "iframe", "object", "embed", "img", "base", "form")
        link = attributes.get("href") or ""
        assert tag in ("a", "use") or not link
        assert link == "" or link.startswith(("#", "https://"))
        if link.startswith("#") and len(link) > 1:
            assert link[1:] in page.ids


def test_policy_names_style_and_script_by_hash():
    text = html.render(story_a())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        source = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy


def data_of(text):
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1]
    )


def cells(data, table, name):
    column = next(c for c in table["columns"] if c["name"] == name)
    return column.get("raw") or [None if n < 0 else data["strings"][n] for n in column["text"]]


def test_data_holds_every_row():
    report = story_a()
    data = data_of(html.render(report))
    assert cells(data, data["events"], "text") == [row.text for row in report.timeline]
    assert cells(data, data["events"], "finding").count("F1") == 3
    connections = data["tables"][0]
    assert connections["name"] == "rds.ib_connection"
    assert cells(data, connections, "recv_ring.in_flight") == [899, 669]
    assert cells(data, connections, "faddr") == ["198.51.100.1", "198.51.100.2"]
    assert cells(data, connections, "drop_reason") == ["qp event", None]
    (plot,) = data["plots"]
    assert plot["hosts"] == ["cell07"]
    assert len(plot["at"]) == len(report.timeline)
    assert min(plot["at"] + [span[1] for span in plot["spans"]]) == 0


def test_two_clocks_are_two_plots():
    data = data_of(html.render(SAMPLES["several"]()))
    assert [(p["clock"], p["hosts"]) for p in data["plots"]] == [
        ("wall", ["cell07", "dbnode2"]),
        ("uptime", ["db03"]),
    ]


def big(events):
    report = story_a()
    rows = [
        TimelineRow(
            f"2026-09-{1 + n // 1440 % 28:02d}T{n // 60 % 24:02d}:{n % 60:02d}:07.{n:06d}+00:00",
            f"cell{n % 16:02d}",
            f"Sep {1 + n // 1440 % 28:2d} {n // 60 % 24:02d}:{n % 60:02d}:07 cell{n % 16:02d} kernel: [{n * 60}.{n:06d}] RDS/IB: connection <198.51.100.{n % 250},203.0.113.{n % 199},{n % 4}> dropped due to 'peer reset {n}'",
        )
        for n in range(events)
    ]
    tasks = [task(n, f"kworker/{n % 64}:{n}", ["schedule+0x5a/0xc7"] * 9) for n in range(events)]
    return msgspec.structs.replace(report, timeline=rows, tables={"task": tasks})


def test_ten_thousand_events_stay_under_three_megabytes():
    events = msgspec.structs.replace(big(10_000), tables={})
    start = time.monotonic()
    text = html.render(events)
    assert time.monotonic() - start < 10
    assert len(text.encode()) < 3_000_000
    assert len(data_of(text)["events"]["columns"][0]["text"]) == 10_000
    # A whole table of tasks beside them still fits twice that.
    assert len(html.render(big(10_000)).encode()) < 6_000_000


def test_many_findings_are_listed_in_short():
    many = [finding_a(fingerprint=f"{n:016x}", host=f"cell{n}") for n in range(html.FULL + 5)]
    text = html.render(msgspec.structs.replace(story_a(), findings=many))
    page = Page(text)
    assert "5 more findings, in short" in "".join(page.texts["h3"])
    assert sum(a.get("class", "").startswith("card finding") for _, a in page.elements) == html.FULL
    assert f"F{html.FULL + 5}" in page.ids


def test_first_of_a_kind_is_open():
    report = msgspec.structs.replace(story_a(), findings=[finding_b(0), finding_b(1), finding_a()])
    opened = [
        "open" in a
        for _, a in Page(html.render(report)).elements
        if a.get("class", "").startswith("card finding")
    ]
    assert opened == [True, True, False]  # nvme0, the connection, nvme1


def test_templates_can_be_overridden(tmp_path):
    (tmp_path / "inputs.html.j2").write_text("<p>{{ report.tool.name }} of ACME</p>")
    (tmp_path / "report.css").write_text("body { color: navy }")
    text = html.render(story_a(), tmp_path)
    assert "<p>rdmadiag of ACME</p>" in text
    assert "<style>body { color: navy }</style>" in text
    assert 'id="checks"' in text


def test_only_web_links_can_be_clicked():
    finding = finding_a()
    fix = finding.fixes[0]
    for url in (
        "javascript:alert(1)",
        "data:text/html,x",
        "//host/x",
        "http://[",
        "vbscript:x",
        "file:///etc",
    ):
        bad = msgspec.structs.replace(fix, url=url)
        report = msgspec.structs.replace(
            story_a(), findings=[msgspec.structs.replace(finding, fixes=[bad])]
        )
        links = [a["href"] for t, a in Page(html.render(report)).elements if t == "a"]
        assert all(link.startswith("#") for link in links)


def test_drawing_says_what_it_shows():
    page = Page(html.render(story_a()))
    words = [a["aria-label"] for t, a in page.elements if t == "svg" and "aria-label" in a]
    assert any("receive ring: 899 of 1024 entries in flight" in w for w in words)
    assert any("state DISCONNECTING" in w and "CQ in error 0x00041a" in w for w in words)
