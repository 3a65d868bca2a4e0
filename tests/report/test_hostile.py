"""Markup, quotes, control and bidirectional characters stay text in every format."""

import json
import re
import unicodedata
from xml.etree import ElementTree

import msgspec
import pytest
from markdown_it import MarkdownIt

from rdmadiag.data import data_dir
from rdmadiag.errors import UserError
from rdmadiag.report import compare, compared, markdown
from rdmadiag.report.escape import encodable, visible
from rdmadiag.report.load import load
from rdmadiag.report.render import FORMATS, render
from rdmadiag.report.rewrite import rewrite
from tests.report.samples import SAMPLES
from tests.report.test_html import Page

PAYLOADS = [
    "<img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "'--></style></script></title><svg onload=alert(1)>",
    "]]><x/>&amp;&lt;b&gt;&#60;i&#62;",
    "{{ 7 * 7 }}{% raw %}",
    "\x1b[31mred\x1b]0;title\x07\r\x08\x00\x7f\x9b2J",
    "\u202egnp.exe\u2066\u2069\u200b\u200f\ufeff\u061c",
    "a\nCRITICAL  forged line\n# heading\n- item",
    "`code` ``` [x](javascript:alert(1)) ![y](http://evil/z) **b** _i_ | a | <http://evil> @team &copy;",
    "https://evil.example/?q=\"'><",
    "\ud800\udcff\ufffe\U000e0041",
    "=HYPERLINK(1)",
]
FIXED = {"severity", "verdict", "outcome", "status", "kind"}
SAMPLE = SAMPLES["several"]()


def hostile(payload, sample=SAMPLE):
    """Put the payload behind every string of a report that is not one of a few fixed words."""

    def change(path, text):
        keep = path[-1] in FIXED or path[-1] in (
            "time",
            "start",
            "end",
            "first_seen",
            "last_seen",
            "started",
        )
        return text if keep else text + payload

    return rewrite(sample, change)


def forbidden(text):
    """Return the characters of *text* that a display would obey instead of show."""
    kinds = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    return {c for c in text if unicodedata.category(c) in kinds and c != "\n"}


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("format", [f for f in FORMATS if f != "json"])
def test_nothing_is_obeyed(payload, format):
    text = render(hostile(payload), format)
    assert forbidden(text) == set()
    text.encode()


@pytest.mark.parametrize("payload", PAYLOADS)
def test_html_has_no_more_elements(payload):
    plain, bad = Page(render(SAMPLE, "html")), Page(render(hostile(payload), "html"))

    def shape(page):
        # The payload itself may make addresses look like links that are none, so those are left out.
        return [(t, sorted(a)) for t, a in page.elements if t != "title" and t != "a"]

    def parts(page):
        return [
            row
            for row in shape(page)
            if row[0] in ("script", "style", "img", "meta", "iframe", "svg")
        ]

    assert bad.open == []
    assert {t for t, _ in bad.elements} <= {t for t, _ in plain.elements} | {"title"}
    assert [p for p in parts(bad) if p[0] != "svg"] == [p for p in parts(plain) if p[0] != "svg"]
    allowed = {name for _, a in plain.elements for name in a}
    assert {name for _, a in bad.elements for name in a} <= allowed
    for tag, attributes in bad.elements:
        if tag == "a":
            assert attributes["href"].startswith(("#", "https://"))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_html_shows_the_payload_as_text(payload):
    page = Page(render(hostile(payload), "html"))
    shown = "".join(text for texts in page.texts.values() for text in texts)
    data, code = page.texts["script"]
    assert not set("<>&") & set(data)
    assert code == (data_dir("templates") / "report.js").read_text(encoding="utf-8")
    wanted = visible(payload)
    assert wanted.replace("\n", "\\n") in shown.replace("\n", "\\n") or wanted in shown


@pytest.mark.parametrize("payload", PAYLOADS)
def test_json_is_exact(payload, tmp_path):
    report = hostile(payload)
    path = tmp_path / "report.json"
    path.write_text(render(report, "json"), encoding="utf-8")
    assert load(path) == rewrite(report, lambda _, text: encodable(text))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_text_forges_no_line(payload):
    lines = render(hostile(payload), "text").split("\n")
    assert not any(line.startswith("CRITICAL  forged") for line in lines)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_markdown_has_no_markup_of_the_payload(payload):
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")

    def shape(text):
        tokens = parser.parse(text)
        inner = [child for token in tokens for child in token.children or []]
        return {token.type for token in [*tokens, *inner]}, sum(
            t.type == "heading_open" for t in tokens
        )

    bad, plain = shape(render(hostile(payload), "markdown")), shape(render(SAMPLE, "markdown"))
    assert bad[0] - plain[0] <= {"softbreak", "hardbreak", "text_special"}
    assert bad[1] == plain[1]
    assert not bad[0] & {"html_block", "html_inline", "link_open", "image", "table_open"}
    assert "@" not in markdown.escape(payload)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_junit_has_no_more_elements(payload):
    def tags(text):
        return [element.tag for element in ElementTree.fromstring(text).iter()]

    assert tags(render(hostile(payload), "junit")) == tags(render(SAMPLE, "junit"))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_sarif_messages_have_no_links(payload):
    log = json.loads(render(hostile(payload), "sarif"))

    def messages(value):
        if isinstance(value, dict):
            if isinstance(value.get("message"), dict):
                yield value["message"]["text"]
            for item in value.values():
                yield from messages(item)
        elif isinstance(value, list):
            for item in value:
                yield from messages(item)

    assert all(not re.search(r"(?<!\\)\[[^\]\n]*\]\(", text) for text in messages(log))
    for artifact in log["runs"][0]["artifacts"]:
        assert re.fullmatch(r"[A-Za-z0-9%._~/-]*", artifact["location"]["uri"])


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("format", ["text", "markdown"])
def test_comparison_obeys_nothing(payload, format):
    result = compare.compare(SAMPLE, hostile(payload))
    text = compared.render(result, format)
    assert forbidden(text) == set()
    assert result.new
    json.loads(compared.render(result, "json"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[0m", "\\x1b[0m"),
        ("a\u202eb", "a\\u202eb"),
        ("\U000e0041", "\\U000e0041"),
        ("caf\u00e9 \u4e2d", "caf\u00e9 \u4e2d"),
        ("\udcff", "\\xff"),
        ("\ud800", "\\ud800"),
        ("a\nb\tc\r", "a\\nb    c\\x0d"),
    ],
)
def test_visible(text, shown):
    assert visible(text) == shown
    assert visible("a\nb", lines=True) == "a\nb"


@pytest.mark.parametrize("format", [f for f in FORMATS if f != "json"])
def test_names_of_fields_are_not_obeyed_either(format):
    evil = "\x1b[2J\u202e<script>"
    finding = SAMPLE.findings[0]
    rows = [msgspec.structs.replace(e, fields={evil: {evil: 1}}) for e in finding.evidence]
    finding = msgspec.structs.replace(finding, subject={evil: 1}, evidence=rows)
    report = msgspec.structs.replace(
        SAMPLE, findings=[finding], facts={evil: 1}, tables={evil: [{evil: 1}]}
    )
    text = render(report, format)
    assert forbidden(text) == set()
    if format == "html":
        assert "<script>" not in text.replace("<script>", "", 1).partition("</main>")[0]


def nested(levels):
    value = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("change", "words"), [({"fields": nested(300)}, "nested"), ({"bytes": 10**400}, "64 bits")]
)
def test_a_report_beyond_reason_is_refused(change, words, tmp_path):
    rows = json.loads(render(SAMPLE, "json"))
    (rows["findings"][0]["evidence"] if "fields" in change else rows["inputs"])[0].update(change)
    path = tmp_path / "r.json"
    path.write_text(json.dumps(rows))
    with pytest.raises(UserError, match=words):
        load(path)
