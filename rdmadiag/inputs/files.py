"""From what the user named to files: directories, and rotated logs in the order they were written."""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from rdmadiag.facts.model import Problem
from rdmadiag.inputs.limits import DEFAULT, Limits

STDIN = "-"

_ROTATED = re.compile(
    r"(?P<base>.+?)"
    r"(?:[-._](?P<date>(?:19|20)\d\d-?[01]\d-?[0-3]\d)(?:[-T_]?(?P<clock>\d{2,6}|\d\d[-:]\d\d[-:]\d\d))?"
    r"|\.(?P<number>\d{1,3})|\.(?P<old>old))"
    r"(?P<ending>\.log)?(?:\.(?:gz|xz|bz2|zst|lz4))?"
)
_NEVER = ("/proc", "/sys", "/dev")


class Target(msgspec.Struct, frozen=True):
    """
    Files that are read one after another by one reader.

    :ivar names: How they are called in the report.
    :ivar series: Not empty when they are one log in several files.
    :ivar archive: The directory that they were found in, or the file that is missing.
    :ivar problems: What went wrong in finding them.
    """

    names: tuple[str, ...]
    series: str = ""
    archive: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """Where they are."""
        return tuple(Path(n) for n in self.names)


def expand(names: Sequence[str], limits: Limits = DEFAULT) -> list[Target]:
    """Return what there is to read for the inputs *names*, rotated logs put together; a missing file is a problem."""
    targets: list[Target] = []
    plain: list[str] = []
    for name in dict.fromkeys(names):
        if name == STDIN:
            targets.append(Target((name,)))
        elif why := _missing(name):
            targets.append(Target((), archive=name, problems=(Problem(why),)))
        elif os.path.isdir(name):  # noqa: PTH112 - of a closed folder this raises nothing
            targets += _directory(name, limits)
        else:
            plain.append(name)
    return targets + _series(plain, "")


def _missing(name: str) -> str:
    """Return why nothing can be found under a name; an empty text where there is something."""
    try:
        os.lstat(name)
    except (FileNotFoundError, NotADirectoryError):
        return "there is no such file"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return ""


def _directory(name: str, limits: Limits) -> list[Target]:
    files: list[str] = []
    problems: list[Problem] = []
    for path in _walk(name, limits, problems):
        files.append(path)
        if len(files) >= limits.files:
            problems.append(
                Problem(f"more than {limits.files} files: the others were not read", name)
            )
            break
    targets = _series(sorted(files), name)
    if problems:
        targets.append(Target((), archive=name, problems=tuple(problems)))
    return targets


def _walk(name: str, limits: Limits, problems: list[Problem]) -> Iterator[str]:
    """Yield the regular files below a directory; links are not followed: they point to what is there anyway."""

    def failed(error: OSError) -> None:
        problems.append(Problem(f"cannot be read: {error.strerror}", str(error.filename)))

    top = name.rstrip("/").count("/")
    for folder, folders, files in os.walk(name, onerror=failed):
        if folder.count("/") - top >= limits.depth:
            problems.append(Problem(f"deeper than {limits.depth} directories: not read", folder))
            folders.clear()
        folders[:] = sorted(
            f for f in folders if Path(folder, f).absolute().as_posix() not in _NEVER
        )
        for file in files:
            path = os.path.join(folder, file)  # noqa: PTH118 - keeps the name as the user wrote it
            if _is_regular(path):
                yield path


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(Path(path).lstat().st_mode)
    except OSError:
        return False


def _series(names: Iterable[str], archive: str) -> list[Target]:
    """Put the files of a rotated log together, oldest first; the rest stays alone."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(base_name(name), []).append(name)
    return [
        Target(
            tuple(sorted(group, key=rotation_key)),
            series=base if len(group) > 1 else "",
            archive=archive,
        )
        for base, group in groups.items()
    ]


def base_name(name: str) -> str:
    """Return the name of the log that a rotated file is a part of (``messages-20240107.gz`` -> ``messages``)."""
    folder, _, file = name.rpartition("/")
    found = _ROTATED.fullmatch(file)
    base = found["base"] + (found["ending"] or "") if found else file
    return f"{folder}/{base}"


def rotation_key(name: str) -> tuple[int, str, int]:
    """Return what to sort the files of one rotated log by to get them oldest first."""
    found = _ROTATED.fullmatch(name.rpartition("/")[2])
    if not found:
        return (3, "", 0)
    if found["date"]:
        return (0, found["date"].replace("-", "") + (found["clock"] or ""), 0)
    return (1, "", -int(found["number"])) if found["number"] else (2, "", 0)


def rotation_date(name: str) -> str:
    """Return the date in a rotated file's name as ``YYYYMMDD``, or an empty string."""
    found = _ROTATED.fullmatch(name.rpartition("/")[2])
    return (found["date"] or "").replace("-", "") if found else ""
