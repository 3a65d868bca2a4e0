"""Comparing a report with what a case expects (``case.json``, key ``expect``)."""

from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]


def faults(report: Row, expect: Row) -> list[str]:
    """
    Return how *report* differs from *expect*, a sentence each.

    :param report: The report as JSON data.
    :param expect: ``any_of`` (empty: nothing above info; null: not looked at), ``none_of``, ``findings``, ``counts``
        and ``checks``, all optional.
    """
    found = report["findings"]
    ids = [f["id"] for f in found]
    return [
        *_any_of(expect.get("any_of"), found),
        *(f"{f['id']}: {t}" for f in found for t in _texts(f) if "could not be made" in t),
        *(f"{i} must not fire" for i in expect.get("none_of", ()) if i in ids),
        *(w for want in expect.get("findings", ()) for w in _finding(want, found)),
        *(
            f"{ids.count(i)} findings {i}, not {n}"
            for i, n in expect.get("counts", {}).items()
            if ids.count(i) != n
        ),
        *_checks(expect.get("checks", {}), report["checks"]),
    ]


def _any_of(wanted: list[str] | None, found: list[Row]) -> Iterator[str]:
    loud = sorted({f["id"] for f in found if f["severity"] != "info"})
    if wanted == [] and loud:
        yield f"nothing was to be found, got {loud}"
    if wanted and not set(wanted) & {f["id"] for f in found}:
        yield f"none of {wanted} among {sorted({f['id'] for f in found})}"


def _finding(want: Row, found: list[Row]) -> Iterator[str]:
    tries = [_misses(want, f) for f in found if f["id"] == want["id"]]
    if not tries:
        yield f"{want['id']}: not found"
    elif all(tries):
        yield f"{want['id']}: {'; '.join(tries[0])}"


def _misses(want: Row, finding: Row) -> list[str]:
    misses = []
    if finding["verdict"] not in want.get("verdict", [finding["verdict"]]):
        misses.append(f"verdict {finding['verdict']}")
    if not contains(want.get("subject", {}), finding["subject"]):
        misses.append(f"subject {finding['subject']}")
    for row in want.get("evidence", ()):
        alike = [e["fields"] for e in finding["evidence"] if e["kind"] == row["kind"]]
        if not any(contains(row.get("fields", {}), fields) for fields in alike):
            misses.append(f"no evidence {row}")
    for fix, statuses in want.get("fixes", {}).items():
        if not any(
            fix in (f["id"], f["orabug"], f["commit"]) and f["status"] in statuses
            for f in finding["fixes"]
        ):
            misses.append(f"fix {fix} is not {statuses}")
    if finding["title"] != want.get("title", finding["title"]):
        misses.append(f"title {finding['title']!r}")
    said = finding["summary"]
    misses += [f"the summary does not say {x!r}" for x in want.get("says", ()) if x not in said]
    return misses


def _texts(finding: Row) -> list[str]:
    steps = [t for step in finding["next_steps"] for t in step.values()]
    return [finding["title"], finding["summary"], finding["explanation"], *steps]


def _checks(wanted: Row, checks: list[Row]) -> Iterator[str]:
    outcomes = {c["id"]: c["outcome"] for c in checks}
    for name, allowed in wanted.items():
        if outcomes.get(name) not in allowed:
            yield f"check {name} is {outcomes.get(name)}, not one of {allowed}"


def contains(want: Row, got: Row) -> bool:
    """Tell whether *got* has every field of *want*, nested ones too."""
    there = dict(flat(got))
    return all(name in there and same(value, there[name]) for name, value in flat(want))


def flat(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of nested dicts with dotted names."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from flat(inner, f"{prefix}{name}.")
    else:
        yield prefix[:-1], value


def same(want: Any, got: Any) -> bool:
    """Compare as people would: numbers as numbers, ``"0x2"`` as 2, texts in any case."""
    if isinstance(want, bool) or isinstance(got, bool) or want is None or got is None:
        return want is got
    if isinstance(want, int | float):
        try:
            return float(int(got, 0) if isinstance(got, str) else got) == float(want)
        except (TypeError, ValueError):
            return False
    if isinstance(want, str):
        number = int(want, 16) if want.startswith("0x") else None
        return (
            number == got if isinstance(got, int) and number else want.lower() == str(got).lower()
        )
    return bool(want == got)
