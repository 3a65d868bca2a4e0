"""Finding out what an input is, and giving its bytes."""

from rdmadiag.inputs.files import Target, expand
from rdmadiag.inputs.limits import DEFAULT, Limits
from rdmadiag.inputs.opening import open_input, open_target
from rdmadiag.inputs.sniff import Kind, sniff
from rdmadiag.inputs.source import Source

__all__ = (
    "DEFAULT",
    "Kind",
    "Limits",
    "Source",
    "Target",
    "expand",
    "open_input",
    "open_target",
    "sniff",
)
