"""Texts in kernel memory."""

from drgn import Object

__all__ = ("c_string",)


def c_string(value: Object) -> str:
    """
    Return a text; bytes that are not UTF-8 as backslash escapes.

    :param value: ``char *`` or ``char []``
    """
    return str(value.string_().decode(errors="backslashreplace"))
