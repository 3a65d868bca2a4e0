"""
What is known about one fix, diagnosis or event, as something to print.

A structure first (headings, paragraphs, links), so that a report can show it too; :func:`render` makes text of it.
"""

import re
import textwrap
from collections.abc import Iterable, Sequence

import msgspec

from rdmadiag.knowledge.base import Knowledge
from rdmadiag.knowledge.status import KernelEvidence, status
from rdmadiag.lazy import Lazy
from rdmadiag.rules.schema import Diagnosis, EventRule, Fix, FixedIn

SUPPORT = "https://support.oracle.com/epmos/faces/BugDisplay?id="
_WIDTH = 80

_BASIS = {
    "source-diff": "the source with and without the change was read",
    "source": "the source was read",
    "commit-text": "the text of the commit was read",
    "cve-record": "the kernel's CVE record was read: commit, first bad and first fixed releases",
    "patch": "the patch as posted was read",
    "report": "a public report was read",
    "title": "only the title in an advisory or changelog was read: the rest is our reading of it, a hint and no proof",
    "title+header": "the title in an advisory and a header that has the change were read; the rest is our reading",
    "title+cve": "the title in an advisory and the CVE number were read; the rest is our reading",
}
_KINDS = {
    "kernel.hung_task": "a hung task",
    "kernel.soft_lockup": "a soft lockup",
    "kernel.hard_lockup": "a hard lockup",
    "kernel.rcu_stall": "an RCU stall",
    "kernel.oops": "an oops",
    "kernel.panic": "a panic",
    "kernel.warning": "a warning",
    "kernel.use_after_free": "a use-after-free report",
    "kernel.lockdep": "a lockdep report",
    "kernel.memory_leak": "a memory leak report",
    "kernel.page_allocation_failure": "a page allocation failure",
}


class Section(msgspec.Struct):
    """A heading, and paragraphs; a line that begins with two blanks is kept as it is."""

    heading: str
    lines: list[str]


class Explanation(msgspec.Struct):
    """
    Something explained.

    :ivar kind: ``fix``, ``diagnosis`` or ``event``.
    :ivar links: (what, address).
    """

    id: str
    kind: str
    title: str
    sections: list[Section] = []
    links: list[tuple[str, str]] = []

    def add(self, heading: str, *lines: str) -> None:
        """Add a section, unless there is nothing to say."""
        said = [line for line in lines if line.strip()]
        if said:
            self.sections.append(Section(heading, said))


def explain_fix(
    fix: Fix, knowledge: Knowledge, evidence: KernelEvidence | None = None
) -> Explanation:
    """
    Explain a known fault and its fix.

    :param evidence: A kernel, to say whether it has the fix.
    """
    told = Explanation(fix.id, "fix", fix.title)
    told.add("Known as", ", ".join(_numbers(fix)))
    told.add("What it looks like", fix.looks, *_signature(fix))
    told.add("Why it happens", fix.explanation)
    needed = True
    if evidence is not None:
        verdict = status(fix, evidence)
        told.add(f"On {evidence.kernel.release}", ": ".join(verdict))
        needed = verdict.status != "present"
    if needed:
        told.add("What to do", fix.workaround, _update(fix))
    told.add("Since when", _releases(fix.introduced))
    told.add("Where it is fixed", *_fixed(fix))
    told.add("How it was checked", *_checked(fix))
    told.add("See also", *_related(fix, knowledge))
    told.links = links(fix)
    return told


def _numbers(fix: Fix) -> list[str]:
    commits = [f"commit {fix.commit[:12]}"] if fix.commit else []
    uek = [f"UEK commit {fix.uek_commit[:12]}"] if fix.uek_commit else []
    return [*(f"Orabug {number}" for number in fix.orabug), *fix.cve, *commits, *uek]


def _signature(fix: Fix) -> list[str]:
    signature, lines = fix.signature, []
    if signature.kinds:
        lines.append(
            f"Reported as {' or '.join(_KINDS.get(kind, kind) for kind in signature.kinds)}."
        )
    if signature.work:
        lines.append(f"Work item or workqueue: {' or '.join(signature.work)}.")
    if signature.stack:
        lines += [
            f"Stack, innermost first ({_STACKS[signature.basis]}):",
            *map(_frame, signature.stack),
        ]
    for stack in signature.also:
        lines += ["Another stack that goes with it:", *map(_frame, stack)]
    if signature.log:
        lines += ["Log:", *(f"    {line.samples[0]}" for line in signature.log)]
    return lines


_STACKS = {
    "trace": "from a trace",
    "named": "functions named in the sources",
    "reading": "our reading of the title",
}


def _frame(names: str) -> str:
    return f"    {names.replace('|', ' or ')}"


def _update(fix: Fix) -> str:
    return "Update to a release with the fix, see below." if fix.fixed_in else ""


def _release(row: FixedIn) -> str:
    bound = {"at_latest": " or earlier", "at_earliest": " or later", "about": " or near it"}
    version = row.version or "release not known"
    note = f" ({row.note})" if row.note else ""
    return f"{row.tree} {version}{bound.get(row.bound, '')}{note}"


def _releases(rows: Sequence[FixedIn]) -> str:
    return ", ".join(_release(row) for row in rows)


def _fixed(fix: Fix) -> list[str]:
    lines = [f"    {_release(row)}" for row in fix.fixed_in]
    lines += [f"    taken out again in {_release(row)}" for row in fix.reverted]
    lines += [
        f"    not in {row.tree} up to {row.version or 'now'}, {row.note}" for row in fix.never_in
    ]
    return lines or ["No release with a fix is known."]


def _checked(fix: Fix) -> list[str]:
    parts = [_BASIS.get(fix.basis, fix.basis)]
    words = {
        "verified": "numbers and signature are in the sources",
        "likely": "the numbers are in the sources",
    }
    said = words.get(fix.confidence, "neither numbers nor signature are certain")
    sources = [f"    {source}" for source in fix.sources]
    return [
        f"{parts[0][0].upper()}{parts[0][1:]} ({fix.confidence}: {said}).",
        fix.note,
        "Sources:",
        *sources,
    ]


def _related(fix: Fix, knowledge: Knowledge) -> list[str]:
    known = knowledge.fixes
    return [f"    {name}  {known[name].title}" for name in fix.related if name in known]


def links(fix: Fix) -> list[tuple[str, str]]:
    """Return where to read on: the commit, the CVE's record, the Orabug's page, the errata among the sources."""
    found = [("commit", f"https://git.kernel.org/linus/{fix.commit[:12]}")] if fix.commit else []
    if fix.uek_commit:
        found.append(("UEK commit", f"https://github.com/oracle/linux-uek/commit/{fix.uek_commit}"))
    found += [(cve, f"https://www.cve.org/CVERecord?id={cve}") for cve in fix.cve]
    found += [
        (f"Orabug {n} (needs an Oracle support account)", f"{SUPPORT}{n}") for n in fix.orabug
    ]
    pages = [source for source in fix.sources if source.startswith("http")]
    found += [("erratum" if "errata" in page else "source", page) for page in pages]
    return [*([("page", fix.url)] if fix.url else []), *_distinct(found)]


def _distinct(found: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    by_address: dict[str, str] = {}
    for what, address in found:
        by_address.setdefault(address, what)
    return [(what, address) for address, what in by_address.items()]


def explain_diagnosis(rule: Diagnosis, knowledge: Knowledge) -> Explanation:
    """Explain a diagnosis: what it looks for, and what it means when it fires."""
    told = Explanation(rule.id, "diagnosis", general_title(rule))
    told.add("Severity", rule.severity)
    notes = [f"    {clue.note or name.replace('_', ' ')}" for name, clue in rule.clues.items()]
    told.add("What it looks at", *notes)
    told.add("Why it happens", *_in_general(rule.explanation).split("\n\n"))
    told.add("What to do", *(_step(_in_general(s.text), s.command) for s in rule.next_steps))
    told.add("How it is told apart", *_plain(rule.background).split("\n\n"))
    fixes = [(name, fix) for name in rule.fixes for fix in knowledge.find(name)]
    told.add("Known fixes", *(f"    {fix.id}  {fix.title}" for _, fix in fixes))
    return told


def general_title(rule: Diagnosis) -> str:
    """Return a diagnosis's title without a case at hand: of several the last, which is for all other cases."""
    return _plain(_BRANCH.split(rule.title)[-1])


def _step(text: str, command: str) -> str:
    shown = _plain(command)
    return f"{text} [{shown}]" if shown and _UNKNOWN not in shown else text


_UNKNOWN = "<...>"
# The innermost conditional or repeated part: what stands there is about one case.
_PART = Lazy(
    r"\{%-? (?P<word>if|for) (?:(?!\{%-? (?:end)?(?:if|for)).)*?\{%-? end(?P=word) -?%\}", re.DOTALL
)
_TAG = Lazy(r"\{%.*?%\}", re.DOTALL)
_VALUE = Lazy(r"\{\{.*?\}\}", re.DOTALL)
_NAME = Lazy(r"\{\{-?\s*([\w.]+)\s*(?:\||-?\}\}|or\b)")
_OTHERWISE = Lazy(r"\b(?:or|else)\s+'([^']*)'\s*-?\}\}$")
_PLURAL = Lazy(r"^\{\{-?\s*'\w*'\s+if\b(?!.*\belse\b)", re.DOTALL)
_BRANCH = Lazy(r"\{%-? (?:else|elif)\b.*?%\}", re.DOTALL)
_SENTENCE = Lazy(r"(?<=[.!?])\s+(?=[A-Z])")


def _plain(template: str) -> str:
    """Write a template for readers without a case at hand: its values as ``<connection.laddr>``, or what stands in for them."""
    return _VALUE.sub(_value, _TAG.sub("", template)).strip()


def _value(match: re.Match[str]) -> str:
    if otherwise := _OTHERWISE.search(match[0]):
        return otherwise[1]
    if _PLURAL.match(match[0]):
        return ""
    name = _NAME.match(match[0])
    return f"<{name[1]}>" if name else _UNKNOWN


def _in_general(template: str) -> str:
    """Write a template without the parts and sentences that depend on a case, unless nothing else is in it."""
    general, previous = template, ""
    while previous != general:
        previous, general = general, _PART.sub("", general)
    branches = _BRANCH.sub("\n\n", template)
    return _without(_VALUE_SHOWN, general) or _without(_UNKNOWN_SHOWN, branches) or _plain(template)


def _without(mark: Lazy[str], template: str) -> str:
    """Write a template without the sentences that have *mark*."""
    paragraphs = (
        " ".join(s for s in _SENTENCE.split(_plain(p)) if not mark.search(s))
        for p in template.split("\n\n")
    )
    return "\n\n".join(re.sub(r":$", ".", p) for p in paragraphs if p)


_UNKNOWN_SHOWN = Lazy(re.escape(_UNKNOWN))
_VALUE_SHOWN = Lazy(rf"<[a-z_][\w.]*>|{_UNKNOWN_SHOWN.pattern}")


def explain_event(rules: Sequence[EventRule]) -> Explanation:
    """
    Explain an event: the messages that are one, and what each means.

    :param rules: All rules of that event; at least one.
    """
    told = Explanation(rules[0].event, "event", f"{rules[0].event} ({rules[0].subsystem})")
    for number, rule in enumerate(rules, 1):
        heading = "What it means" if len(rules) == 1 else f"Message {number} of {len(rules)}"
        fields = sorted({*rule.fields, *rule.set, *re.findall(r"%\{\w+:(\w+)\}", rule.pattern)})
        samples = [f"    {sample.text}" for sample in rule.samples.match[:2]]
        told.add(heading, rule.meaning, *samples, f"Fields: {', '.join(fields)}." if fields else "")
    told.links = [("source", s) for r in rules for s in r.source if s.startswith("http")]
    return told


def render(told: Explanation, width: int = _WIDTH) -> str:
    """Return an explanation as text, wrapped to *width*."""
    lines = [f"{told.id}: {told.title}" if told.title != told.id else told.id]
    for section in told.sections:
        lines += ["", section.heading]
        for text in section.lines:
            lines += _wrapped(text, width)
    if told.links:
        lines += ["", "Links", *(f"  {address}  ({what})" for what, address in told.links)]
    return "\n".join(lines) + "\n"


def _wrapped(text: str, width: int) -> list[str]:
    if text.startswith("  "):
        return [text]
    plain = " ".join(text.split())
    return textwrap.wrap(
        plain,
        width,
        initial_indent="  ",
        subsequent_indent="  ",
        break_on_hyphens=False,
        break_long_words=False,
    )
