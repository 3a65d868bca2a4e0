"""
The Python that Jinja2 makes of conditions and texts, kept beside the shipped rules when the package is built.

To make it takes several times as long as to load it, and most of the time that a rule takes.
"""

from pathlib import Path

import jinja2
import msgspec

from rdmadiag.rules import precompiled

GENERATED = "generated.json"


class Generated(msgspec.Struct):
    """
    Python by source.

    :ivar version: Of the Jinja2 that made it; another one runs only its own.
    """

    version: str = jinja2.__version__
    expressions: dict[str, str] = {}
    texts: dict[str, str] = {}


def read_generated(directory: Path) -> Generated:
    """Return what was made of a folder of rules; nothing where that does not fit, or they are not the shipped ones."""
    found = precompiled.read(directory / "diagnoses", Generated, GENERATED)
    return found if found and found.version == jinja2.__version__ else Generated()


def write_generated(directory: Path, made: Generated) -> None:
    """Keep what was made of a folder of rules."""
    folder = directory / "diagnoses"
    (folder / GENERATED).write_bytes(precompiled.encoded(folder, made))
