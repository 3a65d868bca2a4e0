"""Any text at all: what is put in comes out as text."""

import json
from ipaddress import IPv4Address, IPv6Address
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rdmadiag.report import html, junit, markdown, sarif
from rdmadiag.report.escape import clean, visible
from rdmadiag.report.picture import Ring
from rdmadiag.report.pseudonyms import Pseudonyms
from rdmadiag.report.sketch import BAR, _cells
from tests.report.samples import story_a
from tests.report.test_hostile import forbidden, hostile
from tests.report.test_html import Page

TEXT = st.text(st.characters(codec=None), max_size=60)
MARKUP = st.text("<>&\"'`*_[]()!#|\\-+=~{}@:;/ .1a\n", max_size=60)


@given(TEXT | MARKUP)
def test_visible_is_visible(text):
    assert forbidden(visible(text, lines=True)) == set()
    assert "\n" not in visible(text)


@given(MARKUP)
def test_markdown_shows_the_text(text):
    text = " ".join(text.split())
    (paragraph,) = MarkdownIt("commonmark").parse(f"x{markdown.escape(text)}x")[1:2]
    assert "".join(t.content for t in paragraph.children) == f"x{text}x"
    assert {t.type for t in paragraph.children} <= {"text", "text_special"}


@given(MARKUP)
def test_markdown_starts_no_block(text):
    tokens = MarkdownIt("commonmark", {"html": True}).parse(markdown.escape(text.strip()))
    assert {t.type for t in tokens} <= {"paragraph_open", "paragraph_close", "inline", "code_block"}


@given(MARKUP)
def test_markdown_code_is_the_text(text):
    text = " ".join(text.split()) or "x"
    (paragraph,) = MarkdownIt("commonmark").parse(f"a {markdown.code(text)} b")[1:2]
    assert [t.content for t in paragraph.children] == ["a ", text, " b"]


@settings(max_examples=25, deadline=None)
@given(TEXT | MARKUP)
def test_every_format_survives(text):
    report = hostile(text, story_a())
    page = Page(html.render(report))
    assert page.open == []
    assert page.texts["title"][0].endswith(clean(report).findings[0].title)
    ElementTree.fromstring(junit.render(report))
    json.loads(sarif.render(report))


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_ipv4_keeps_prefixes_and_is_a_permutation(a, b):
    names = Pseudonyms(b"key")
    x, y = (int(IPv4Address(names.ipv4(str(IPv4Address(n))))) for n in (a, b))
    assert (x ^ y).bit_length() == (a ^ b).bit_length()
    assert IPv4Address(x).is_multicast == IPv4Address(a).is_multicast
    assert IPv4Address(x).is_loopback == IPv4Address(a).is_loopback


@given(st.integers(0, 2**128 - 1))
def test_ipv6_stays_an_address(a):
    names = Pseudonyms(b"key")
    text = names.ipv6(str(IPv6Address(a)))
    assert IPv6Address(text).is_multicast == IPv6Address(a).is_multicast


@given(st.integers(1, 5000), st.data())
def test_flat_ring_fits(nr, data):
    free = data.draw(st.integers(0, nr - 1))
    out = data.draw(st.integers(0, nr))
    cells = _cells(Ring("recv", nr, (free + out) % nr, free, out))
    assert len(cells) <= BAR
    assert bool(len(cells)) == bool(out)
