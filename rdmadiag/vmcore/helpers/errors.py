"""What reading an object of a damaged or unknown kernel can raise."""

from drgn import FaultError, ObjectAbsentError, OutOfBoundsError
from drgn.helpers import ValidationError

from rdmadiag.vmcore.faults import fault_text
from rdmadiag.vmcore.walk import WalkError

__all__ = ("READ_ERRORS", "why")

READ_ERRORS = (
    FaultError,  # a page that is not in the dump, a wild pointer
    ObjectAbsentError,
    OutOfBoundsError,
    WalkError,  # a list that does not end
    ValidationError,
    LookupError,  # no such type, symbol or variable
    AttributeError,  # no such member in this kernel
    TypeError,  # a member of another type than the helpers know
    ValueError,  # a value that cannot be, a text that is not UTF-8
    OverflowError,  # an address beyond the last one
)


def why(error: BaseException) -> str:
    """Return a short reason for a report: the message, or the class where there is none."""
    if isinstance(error, FaultError):
        return fault_text(error)
    return str(error) or type(error).__name__
