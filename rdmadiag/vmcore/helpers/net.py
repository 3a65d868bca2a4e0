"""
Network namespaces
------------------

What subsystems keep for each ``struct net``, of ``include/net/netns/generic.h``.
"""

from collections.abc import Iterator

from drgn import Object, Program, cast

from rdmadiag.vmcore.walk import list_entries

__all__ = ("for_each_net", "net_generic")


def for_each_net(prog: Program) -> Iterator[Object]:
    """
    Iterate over all network namespaces.

    :return: Iterator of ``struct net *`` objects.
    """
    return list_entries("struct net", prog["net_namespace_list"], "list")


def net_generic(net: Object, type_: str, ident: str) -> Object:
    """
    Return what a subsystem keeps for a network namespace.

    :param net: ``struct net *``
    :param type_: Type of it, ``struct x``.
    :param ident: Name of the variable with the subsystem's number, ``x_net_id``.
    :return: ``type_ *``, NULL where it keeps nothing.
    """
    number, generic = int(net.prog_[ident].value_()), net.gen.read_()
    # Since Linux kernel commit 6af2d5fff2fd ("netns: fix net_generic() "id - 1" bloat") and its series (in
    # v4.10), the number is the index. Before that, the index was one less.
    try:
        length = int(generic.s.len.value_())
    except AttributeError:
        length, number = int(generic.len.value_()), number - 1
    if not 0 <= number < length:
        raise ValueError(f"{ident} is {number}, and the namespace has {length} entries")
    return cast(f"{type_} *", generic.ptr[number].read_())
