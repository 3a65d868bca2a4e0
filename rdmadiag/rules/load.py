"""Reading diagnosis rules: one YAML file a diagnosis."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from rdmadiag.data import data_dir
from rdmadiag.errors import RuleError
from rdmadiag.rules import precompiled
from rdmadiag.rules.conditions import compile_all
from rdmadiag.rules.schema import Diagnosis

T = TypeVar("T", bound=msgspec.Struct)

FOLDERS = ("events", "diagnoses", "fixes")
"""What a folder of rules has; nothing else in it is read."""


def rule_dirs(extra: Sequence[Path] = ()) -> list[Path]:
    """
    Return the folders rules come from: the shipped one, then *extra* (later ones win by id).

    :raises RuleError: If one of *extra* is no folder of rules, or has rule files that would not be read.
    """
    for directory in extra:
        if not directory.is_dir():
            raise RuleError(f"{directory}: not a folder of rules")
        for path in _astray(directory):
            raise RuleError(f"{path}: is in none of the folders events, diagnoses and fixes")
        if not any((directory / name).is_dir() for name in FOLDERS):
            raise RuleError(f"{directory}: has none of the folders events, diagnoses and fixes")
    return [data_dir("rules"), *extra]


def _astray(directory: Path) -> Iterator[Path]:
    """Yield YAML files that are not where rules are; hidden ones are other programs'."""
    for path in sorted(directory.iterdir()):
        if path.name in FOLDERS or path.name.startswith("."):
            continue
        if path.is_dir():
            yield from precompiled.yaml_files(path)
        elif path.suffix in (".yaml", ".yml"):
            yield path


def read_yaml(path: Path, shape: type[T]) -> T:
    """
    Read a rule file and check it against *shape*.

    :raises RuleError: Naming the file and the key.
    """
    import yaml

    from rdmadiag.rules.plain_yaml import PlainLoader

    try:
        data = yaml.load(precompiled.content(path), Loader=PlainLoader)  # noqa: S506 - a safe loader
        return msgspec.convert(data, shape)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        kind = "" if isinstance(error, yaml.constructor.ConstructorError) else "not YAML: "
        raise RuleError(f"{path}{line}: {kind}{getattr(error, 'problem', error)}") from error
    except (msgspec.ValidationError, RecursionError) as error:
        raise RuleError(f"{path}: {error}") from error


def rule_files(dirs: Iterable[Path], kind: str) -> list[Path]:
    """Return the YAML files of *kind* (``events``, ``diagnoses``, ``fixes``) below *dirs*, in order."""
    return [path for d in dirs for path in precompiled.yaml_files(d / kind)]


def load_diagnoses(dirs: Iterable[Path]) -> dict[str, Diagnosis]:
    """
    Read all diagnosis rules; a later file with the same id replaces the earlier one.

    :raises RuleError: On a file that does not follow the schema.
    """
    rules: dict[str, Diagnosis] = {}
    for directory in dirs:
        compiled = precompiled.read(directory / "diagnoses", list[Diagnosis])
        found = _read_diagnoses(directory) if compiled is None else compiled
        rules |= {rule.id: rule for rule in found}
    return rules


def _read_diagnoses(directory: Path) -> list[Diagnosis]:
    found = []
    for path in rule_files([directory], "diagnoses"):
        rule = read_yaml(path, Diagnosis)
        if path.stem != rule.id:
            raise RuleError(f"{path}: id is {rule.id}, so the file must be called {rule.id}.yaml")
        compile_all(rule, str(path))
        found.append(rule)
    return found


def compile_diagnoses(directory: Path) -> bytes:
    """
    Return the diagnoses of a folder of rules in the form that loads fast.

    :raises RuleError: On a bad file.
    """
    return precompiled.encoded(directory / "diagnoses", _read_diagnoses(directory))


def rules_version(dirs: Iterable[Path]) -> str:
    """Return a digest of all rule files: two reports with the same digest used the same rules."""
    digests = (precompiled.folder_digest(d / kind) for d in dirs for kind in FOLDERS)
    return hashlib.blake2b(" ".join(digests).encode(), digest_size=6).hexdigest()
