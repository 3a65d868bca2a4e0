"""What every renderer says about every sample, to the letter."""

import re

import pytest

from rdmadiag.report.render import FORMATS, render
from tests.report.samples import SAMPLES

ENDINGS = {
    "text": "txt",
    "markdown": "md",
    "junit": "xml",
    "sarif": "sarif",
    "html": "html",
    "json": "json",
}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("format", FORMATS)
def test_golden(sample, format, golden):
    text = render(SAMPLES[sample](), format)
    if format == "html":
        # Style and script are files of their own; only that they are there matters here.
        text = re.sub(r"(<style>).*?(</style>)", r"\1\2", text, flags=re.DOTALL)
        text = re.sub(r"(<script>).*?(</script>)", r"\1\2", text, flags=re.DOTALL)
        text = re.sub(r"sha256-[\w+/=]+", "sha256-", text)
    golden(f"{sample}.{ENDINGS[format]}", text)


def test_colour_is_the_only_difference(golden):
    plain = render(SAMPLES["story-a"](), "text", color=False)
    coloured = render(SAMPLES["story-a"](), "text", color=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured).split() == plain.split()


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("width", [40, 80, 120])
def test_text_keeps_the_width(sample, width):
    lines = render(SAMPLES[sample](), "text", width=width).splitlines()
    # Commands and links are to be copied: they are never broken.
    long = [line for line in lines if len(line) > width and "://" not in line]
    assert all(line.startswith("     ") for line in long)
    if width >= 80:
        assert not long


def test_whole_lines_of_evidence_are_not_broken():
    report = SAMPLES["story-a"]()
    lines = {line.strip() for line in render(report, "text", whole=True).splitlines()}
    texts = [evidence.text for finding in report.findings for evidence in finding.evidence]
    assert max(map(len, texts)) > 80
    assert all(text in lines for text in texts)
