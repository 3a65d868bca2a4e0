"""The report as one HTML file that needs nothing else: no network, no fonts, no outside scripts."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import BaseLoader, ChoiceLoader, FileSystemLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment
from markupsafe import Markup

from rdmadiag.data import data_dir
from rdmadiag.report import draw, view
from rdmadiag.report.escape import clean
from rdmadiag.report.model import Evidence, Finding, Report
from rdmadiag.report.payload import payload
from rdmadiag.report.picture import Picture, picture

FULL = 60
"""Findings that are shown whole; the others are one line each, so that the page stays light."""
EVIDENCE = 60


@dataclass(frozen=True, slots=True)
class Card:
    """A finding as the page shows it."""

    label: str
    finding: Finding
    steps: list[view.Step]
    left_out: int
    sides: set[str]
    picture: Picture
    drawings: list[Markup]
    bar: Markup
    kernel: str
    open: bool


def render(report: Report, templates: Path | None = None) -> str:
    """
    Return *report* as an HTML page.

    :param templates: A folder whose files stand in for those of ``templates/`` with the same names.
    """
    report = clean(report)
    env = _environment(templates)
    style, script = _source(env, "report.css"), _source(env, "report.js")
    cards = _cards(report)
    return env.get_template("report.html.j2").render(
        report=report,
        headline=view.headline(report),
        cards=cards[:FULL],
        others=cards[FULL:],
        outcomes=view.by_outcome(report),
        blind=view.blind(report),
        reasons=view.by_reason(view.blind(report)),
        short=view.short_paths(report),
        hosts=_distinct(i.host for i in report.inputs),
        kernels=_distinct(i.kernel_release for i in report.inputs),
        style=_trusted(style),
        script=_trusted(script),
        policy=_policy(style, script),
        data=_trusted(payload(report, {c.finding.fingerprint: c.label for c in reversed(cards)})),
    )


def _environment(templates: Path | None) -> SandboxedEnvironment:
    loaders: list[BaseLoader] = [
        FileSystemLoader(p) for p in (templates, data_dir("templates")) if p
    ]
    env = SandboxedEnvironment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(
        amount=view.count,
        duration=view.duration,
        flat=view.flat,
        frames=_frames,
        safe_url=_safe_url,
        seen=view.seen_text,
        subject=view.subject_text,
        time=view.time_text,
        value=view.value_text,
        where=view.where_text,
    )
    return env


def _source(env: SandboxedEnvironment, name: str) -> str:
    assert env.loader is not None  # noqa: S101 - set above
    return env.loader.get_source(env, name)[0]


def _trusted(text: str) -> Markup:
    """
    Mark *text* as markup: only for what is safe by the way it was made.

    That is style and script (files of the template folder, named by hash in the policy), the drawings
    (serialised XML trees) and the data (JSON without ``<``, ``>`` and ``&``).
    """
    return Markup(text)  # noqa: S704


def _policy(style: str, script: str) -> str:
    """Return the page's security policy: nothing but the style and the script that are in it."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _cards(report: Report) -> list[Card]:
    numbers, seen = count(1), set[str]()
    cards = []
    for finding in view.ordered(report.findings):
        cards.append(_card(f"F{next(numbers)}", finding, report, finding.id not in seen))
        seen.add(finding.id)
    return cards


def _card(label: str, finding: Finding, report: Report, first: bool) -> Card:
    drawn = picture(finding)
    steps = view.chain(finding)
    ends = [draw.ends(drawn)] if drawn.here or drawn.there or drawn.device else []
    return Card(
        label=label,
        finding=finding,
        steps=steps[:EVIDENCE],
        left_out=max(0, len(steps) - EVIDENCE),
        sides={step.side for step in steps[:EVIDENCE]},
        picture=drawn,
        drawings=[_trusted(svg) for svg in (*ends, *map(draw.ring, drawn.rings))],
        bar=_trusted(draw.bound(drawn.bound) if drawn.bound else ""),
        kernel=_kernel(report, finding.host),
        open=first and not finding.known,
    )


def _kernel(report: Report, host: str) -> str:
    """Return the kernel release of *host*; empty when no input of it tells."""
    return next(
        (i.kernel_release for i in report.inputs if i.host == host and i.kernel_release), ""
    )


def _distinct(values: Any) -> list[str]:
    return list(dict.fromkeys(v for v in values if v))


def _frames(evidence: Evidence) -> Sequence[str]:
    frames: Any = evidence.fields.get("frames")
    return [view.value_text(f) for f in frames] if isinstance(frames, list) else []


def _safe_url(url: str) -> str:
    """Return *url* when it is one that may be clicked on, else an empty string."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in ("http", "https") and parts.netloc else ""
