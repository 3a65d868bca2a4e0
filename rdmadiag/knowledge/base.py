"""
The knowledge base: reading ``rules/fixes``, and finding an entry by any of its numbers.

Nothing here is read before something asks for it. YAML of this size takes longer to parse than the rest
of a start together, so a compiled copy is used where there is one (the wheel has it).
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from rdmadiag.errors import RuleError
from rdmadiag.rules import precompiled
from rdmadiag.rules.load import read_yaml, rule_dirs
from rdmadiag.rules.precompiled import COMPILED
from rdmadiag.rules.schema import Fix, FixFile

_SHOWN = 3
"""How many faults of a rule folder are told at once."""
_COMMIT = re.compile(r"[0-9a-f]{8,40}")


class Knowledge(msgspec.Struct):
    """
    All known faults, by id.

    :ivar matcher: The index of :mod:`rdmadiag.knowledge.match`, once it was needed.
    """

    fixes: dict[str, Fix] = {}
    matcher: Any = None

    def find(self, key: str) -> list[Fix]:
        """
        Return the entries that *key* names: an id, an Orabug or CVE number, an upstream or UEK commit.

        A commit may be shortened to eight digits. One that is no fix gives the entries of the faults that it
        brought. The order is that of the files.
        """
        wanted = key.strip()
        if wanted in self.fixes:
            return [self.fixes[wanted]]
        wanted = re.sub(r"(?i)^(orabug[ :#]*|ora-|up-|#)", "", wanted).lower()
        fixes = self.fixes.values()
        found = [fix for fix in fixes if wanted and _named(fix, wanted)]
        return found or [fix for fix in fixes if _has_commit(wanted, fix.culprits)]


def _named(fix: Fix, key: str) -> bool:
    if key == fix.id.lower() or key in fix.orabug or key.upper() in fix.cve:
        return True
    return _has_commit(key, (fix.commit, fix.uek_commit))


def _has_commit(key: str, commits: Iterable[str]) -> bool:
    if not _COMMIT.fullmatch(key):
        return False
    return any(_same_commit(commit, key) for commit in commits)


def _same_commit(commit: str, key: str) -> bool:
    return bool(commit) and (commit.startswith(key) or key.startswith(commit))


@cache
def load(roots: tuple[Path, ...] = ()) -> Knowledge:
    """
    Read the shipped fixes and those of private rule folders.

    :param roots: Folders given with ``--rules``; an entry of a later one replaces one with the same id. They are
        checked in full, the shipped ones were when they were made.
    :raises RuleError: A file does not follow the schema, or ``rules check`` finds a fault in it; or one of *roots* is no
        folder of rules.
    """
    shipped, *private = rule_dirs(roots)
    known = _by_id(read_folder(shipped / "fixes"))
    for root in private:
        known.update(_private(root / "fixes", known))
    return Knowledge(known)


def _private(folder: Path, known: Iterable[str]) -> dict[str, Fix]:
    from rdmadiag.knowledge.check import check_fixes

    faults = check_fixes(fix_files(folder), set(known))
    if faults:
        raise RuleError("; ".join(faults[:_SHOWN]))
    return _by_id(read_folder(folder))


def _by_id(entries: Iterable[tuple[str, Fix]]) -> dict[str, Fix]:
    found: dict[str, Fix] = {}
    for place, fix in entries:
        if fix.id in found:
            raise RuleError(f"{place}: id: {fix.id} is there twice")
        found[fix.id] = fix
    return found


def read_folder(folder: Path) -> list[tuple[str, Fix]]:
    """
    Return the entries of a ``fixes`` folder, each with the file it is from, from the compiled copy if it is fresh.

    :raises RuleError: A file does not follow the schema.
    """
    compiled = precompiled.read(folder, FixFile)
    if compiled is not None:
        return [(str(folder / COMPILED), fix) for fix in compiled.fixes]
    return [(str(path), fix) for path in fix_files(folder) for fix in read_fixes(path)]


def fix_files(folder: Path) -> list[Path]:
    """Return the fix files of a ``fixes`` folder in a fixed order; none when there is no such folder."""
    return precompiled.yaml_files(folder)


def compile_fixes(folder: Path) -> bytes:
    """
    Return the fixes of a folder in the form that loads fast, to be written beside them as ``compiled.json``.

    :raises RuleError: A file does not follow the schema.
    """
    entries = ((str(path), fix) for path in fix_files(folder) for fix in read_fixes(path))
    return precompiled.encoded(folder, FixFile(list(_by_id(entries).values())))


def read_fixes(path: Path) -> list[Fix]:
    """
    Read one fix file.

    :raises RuleError: It is not YAML, or not of the schema; the text says where and in which entry.
    """
    try:
        return read_yaml(path, FixFile).fixes
    except RuleError as error:
        name = _entry_name(path, str(error))
        raise (RuleError(f"{error} ({name})") if name else error) from error.__cause__


def _entry_name(path: Path, message: str) -> str:
    """Return the id of the entry that msgspec's ``$.fixes[3].title`` points into, for the reader's sake."""
    index = re.search(r"`\$\.fixes\[(\d+)\]", message)
    if not index:
        return ""
    entries = read_yaml(path, _Loose).fixes
    name = entries[int(index[1])].get("id", "")
    return name if isinstance(name, str) else ""


class _Loose(msgspec.Struct):
    fixes: list[dict[str, Any]]
