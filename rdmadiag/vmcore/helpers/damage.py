"""
Damaged objects
---------------

Memory that reads well but holds no object: pages that the dump left out read as zeros, freed slab objects
may hold the allocator's poison.
"""

from drgn import Object, sizeof

__all__ = ("object_damage",)

_POISON_FREE = 0x6B  # include/linux/poison.h
_POISON_INUSE = 0x5A


def object_damage(value: Object) -> str:
    """
    Return what is wrong with an object as a whole, ``""`` when nothing is.

    :param value: ``struct x *``
    """
    size = sizeof(value.type_.type)
    raw = value.prog_.read(value.value_(), size)
    if not any(raw):
        return "all of it is zero: its page is not in the dump, or it was cleared"
    for byte, what in ((_POISON_FREE, "freed"), (_POISON_INUSE, "never written")):
        if raw.count(byte) > size // 2:
            return f"it holds the allocator's poison: memory that was {what}"
    return ""
