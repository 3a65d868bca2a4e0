"""
InfiniBand CM
-------------

Connection identifiers of ``drivers/infiniband/core/cm.c``.
"""

from drgn import Object, container_of

from rdmadiag.vmcore.helpers.enums import enum_value_name

__all__ = (
    "ib_cm_id_private",
    "ib_cm_id_state",
    "ib_cm_id_timewait_seconds",
)


def ib_cm_id_private(cm_id: Object) -> Object:
    """
    Return the InfiniBand CM's own part of an identifier.

    :param cm_id: ``struct ib_cm_id *``
    :return: ``struct cm_id_private *``
    """
    return container_of(cm_id, "struct cm_id_private", "id")


def ib_cm_id_state(cm_id_priv: Object) -> str:
    """
    Return an identifier's state without ``IB_CM_``.

    :param cm_id_priv: ``struct cm_id_private *``
    """
    return enum_value_name(cm_id_priv.id.state, "IB_CM_")


def ib_cm_id_timewait_seconds(cm_id_priv: Object) -> float:
    """
    Return how long an identifier stays in the state TIMEWAIT, after which it is IDLE.

    :param cm_id_priv: ``struct cm_id_private *``
    """
    # cm_convert_to_ms(): 4.096 us times two to the power of the timeout, in whole milliseconds.
    return float(1 << max(int(cm_id_priv.av.timeout.value_()) - 8, 0)) / 1000
