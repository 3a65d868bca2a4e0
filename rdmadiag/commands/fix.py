"""``rdmadiag fix``: which known faults a kernel has, and which an input looks like."""

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rdmadiag.errors import UserError
from rdmadiag.knowledge.base import load
from rdmadiag.knowledge.kernels import Kernel, named_kernel
from rdmadiag.knowledge.status import KernelEvidence
from rdmadiag.knowledge.survey import Seen, Standing, survey_facts, survey_kernel
from rdmadiag.knowledge.versions import show
from rdmadiag.report.escape import encodable, visible

_INDENT = " " * 4


def list_fixes(
    kernel: str,
    version: str = "",
    rules: Sequence[Path] = (),
    everything: bool = False,
    format: str = "text",  # noqa: A002 - the option's name
    width: int = 80,
) -> tuple[str, int]:
    """
    List the known faults that a kernel still has.

    :param kernel: utsname release; *version*: utsname version, or Ubuntu's version signature.
    :param everything: Also those whose fix it has, and those that cannot be told.
    :param format: ``text`` or ``json``.
    :returns: The text, and the exit status 0.
    :raises UserError: If *kernel* is no kernel's name.
    """
    named = named_kernel(kernel, version)
    rows = survey_kernel(load(tuple(rules)), KernelEvidence(named))
    shown = [row for row in rows if everything or row.verdict.status == "missing"]
    if format == "json":
        return _json([_standing_row(row) for row in shown]), 0
    lines = [_headline(named)]
    for row in shown:
        lines += _entry(row.verdict.status, row.fix.id, row.fix.title, [row.verdict.why], width)
    return "\n".join([*lines, "", _count(rows, everything)]) + "\n", 0


def _headline(kernel: Kernel) -> str:
    told = [
        kernel.family if kernel.family == kernel.tree else f"{kernel.family} {kernel.tree}".strip()
    ]
    if kernel.upstream is not None:
        told.append(f"{'is' if kernel.exact else 'starts from'} upstream {show(kernel.upstream)}")
    return f"{visible(kernel.release)}: {', '.join(told)}"


def _count(rows: Sequence[Standing], everything: bool) -> str:
    counts = {
        name: sum(row.verdict.status == name for row in rows)
        for name in ("missing", "present", "unknown")
    }
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"{len(rows)} known faults, fixes: {told}." + (
        "" if everything else " --all shows the others."
    )


def _entry(head: str, name: str, title: str, said: Iterable[str], width: int) -> list[str]:
    lines = ["", f"{head}: {name}"]
    for text in (title, *said):
        lines += textwrap.wrap(
            visible(text),
            width,
            initial_indent=_INDENT,
            subsequent_indent=_INDENT,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def check_inputs(
    inputs: Sequence[str],
    rules: Sequence[Path] = (),
    debuginfo: Sequence[Path] = (),
    hints: bool = False,
    format: str = "text",  # noqa: A002 - the option's name
    width: int = 80,
) -> tuple[str, int]:
    """
    Say which known faults dumps and logs look like, and whether their kernels have the fix.

    :param hints: Also what is only a hint.
    :returns: The text, and the exit status: 1 when something is likely or sure, else 0.
    :raises UserError: No input can be read.
    """
    rows = _look(inputs, rules, debuginfo)
    found = [row for row in rows if row.matched.rank != "hint"]
    shown = rows if hints else found
    if format == "json":
        return _json([_seen_row(row) for row in shown]), int(bool(found))
    lines: list[str] = []
    for row in shown:
        said = [_where(row), row.matched.reason, f"Fix {row.verdict.status}: {row.verdict.why}"]
        lines += _entry(row.matched.rank, row.matched.fix.id, row.matched.fix.title, said, width)
    more = len(rows) - len(shown)
    lines += [
        "",
        f"{len(found)} known faults fit by their messages or stacks{f', {more} more are hints (--hints)' if more else ''}.",
    ]
    return "\n".join(lines).lstrip("\n") + "\n", int(bool(found))


def _look(inputs: Sequence[str], rules: Sequence[Path], debuginfo: Sequence[Path]) -> list[Seen]:
    from rdmadiag.facts.store import FactStore
    from rdmadiag.gather import Gatherer, unread
    from rdmadiag.knowledge.findings import Fixes

    collected = Gatherer(rules, debuginfo).gather(inputs)
    if lost := unread(collected.inputs, inputs):
        raise UserError("; ".join(lost))
    store = FactStore(collected)
    fixes = Fixes(store, rules)
    facts = store.collected.facts
    kernels = {host: fixes.evidence(host) for host in {fact.host for fact in facts}}
    return survey_facts(load(tuple(rules)), facts, kernels)


def _where(row: Seen) -> str:
    where = row.fact.where
    place = f"{where.input}:{where.line}" if where.line else where.input
    times = f", {row.count} times" if row.count > 1 else ""
    return f"{row.host + ' ' if row.host else ''}{row.fact.kind} at {place}{times}"


def _standing_row(row: Standing) -> dict[str, Any]:
    fix = row.fix
    return {
        "id": fix.id,
        "orabug": fix.orabug,
        "cve": fix.cve,
        "commit": fix.commit,
        "title": fix.title,
        "subsystem": fix.subsystem,
        "status": row.verdict.status,
        "why": encodable(row.verdict.why),
    }


def _seen_row(row: Seen) -> dict[str, Any]:
    return {
        **_standing_row(Standing(row.matched.fix, row.verdict)),
        "host": encodable(row.host),
        "rank": row.matched.rank,
        "score": row.matched.score,
        "reason": row.matched.reason,
        "kind": row.fact.kind,
        "input": encodable(row.fact.where.input),
        "line": row.fact.where.line,
        "count": row.count,
    }


def _json(rows: list[dict[str, Any]]) -> str:
    return msgspec.json.format(msgspec.json.encode(rows), indent=2).decode() + "\n"
