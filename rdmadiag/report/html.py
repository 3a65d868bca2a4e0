"""The report as one HTML file that needs nothing else: no network, no fonts, no outside scripts."""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from jinja2 import BaseLoader, ChoiceLoader, FileSystemLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment
from markupsafe import Markup

from rdmadiag.data import data_dir
from rdmadiag.report import draw, view
from rdmadiag.report.escape import clean
from rdmadiag.report.groups import Member, grouped, labelled, labels_of
from rdmadiag.report.headline import headline
from rdmadiag.report.model import Evidence, Finding, Report
from rdmadiag.report.payload import payload
from rdmadiag.report.picture import Picture, picture

FULL = 60
"""Findings that are shown whole; the others are one line each, so that the page stays light."""
EVIDENCE = 60
_OUTCOMES = {
    "could-not-run": "Could not run",
    "fired": "Fired",
    "explained": "Ruled out: explained by a finding",
    "ruled-out": "Ruled out",
    "not-applicable": "Not applicable",
}


class Chain(msgspec.Struct, frozen=True):
    """Evidence in the order of time, as far as it is shown."""

    steps: list[view.Step]
    left_out: int
    sides: set[str]


class Card(msgspec.Struct, frozen=True):
    """
    A finding as the page shows it.

    :ivar own: The finding without what its group shares; the whole of it where it stands alone.
    """

    label: str
    finding: Finding
    own: Finding
    chain: Chain
    picture: Picture
    drawings: list[Markup]
    bar: Markup


class Block(msgspec.Struct, frozen=True):
    """Findings that are shown as one card; *shared* is what all of them have, and empty for a single one."""

    label: str
    cards: list[Card]
    shared: Finding
    chain: Chain
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
    rows = labelled(report.findings)
    return env.get_template("report.html.j2").render(
        report=report,
        headline=headline(report),
        blocks=_blocks(report, rows[:FULL]),
        others=rows[FULL:],
        labels=labels_of(report.findings),
        outcome_names=_OUTCOMES,
        outcomes=view.by_outcome(report),
        blind=view.blind(report),
        reasons=view.by_reason(view.blind(report)),
        short=view.short_paths(report),
        hosts=_distinct(i.host for i in report.inputs),
        kernels=_distinct(i.kernel_release for i in report.inputs),
        style=_trusted(style),
        script=_trusted(script),
        policy=_policy(style, script),
        data=_trusted(payload(report, {f.fingerprint: label for label, f in reversed(rows)})),
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
        reason=view.reason,
        references=view.references,
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


def _blocks(report: Report, rows: Sequence[tuple[str, Finding]]) -> list[Block]:
    seen = set[str]()
    blocks = []
    for group in grouped(rows):
        shared = group.shared
        blocks.append(
            Block(
                label=group.label,
                cards=[_card(member) for member in group.members],
                shared=shared,
                chain=_chain(shared),
                kernel=_kernel(report, shared.host),
                open=shared.id not in seen and not shared.known,
            )
        )
        seen.add(shared.id)
    return blocks


def _card(member: Member) -> Card:
    drawn = picture(member.finding)
    ends = [draw.ends(drawn)] if drawn.here or drawn.there or drawn.device else []
    return Card(
        label=member.label,
        finding=member.finding,
        own=member.own,
        chain=_chain(member.own),
        picture=drawn,
        drawings=[_trusted(svg) for svg in (*ends, *map(draw.ring, drawn.rings))],
        bar=_trusted(draw.bound(drawn.bound) if drawn.bound else ""),
    )


def _chain(finding: Finding) -> Chain:
    steps = view.chain(finding)
    shown = steps[:EVIDENCE]
    return Chain(shown, len(steps) - len(shown), {step.side for step in shown})


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
