"""Where the shipped rules and templates are: inside the wheel, or beside the package in a checkout."""

from pathlib import Path


def data_dir(name: str) -> Path:
    """
    Return the folder of shipped data *name* (``rules`` or ``templates``).

    A wheel holds it as ``rdmadiag/_data/NAME``; a checkout has it at its top level.
    """
    package = Path(__file__).parent
    packed = package / "_data" / name
    return packed if packed.is_dir() else package.parent / name
