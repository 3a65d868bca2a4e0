"""
iWARP CM
--------

Identifiers of ``drivers/infiniband/core/iwcm.c``. There is no list of them: they are reached from the RDMA
CM's identifiers.
"""

from collections.abc import Iterator

from drgn import Object, container_of

from rdmadiag.vmcore.helpers.enums import enum_value_name, flag_names
from rdmadiag.vmcore.helpers.wait import waitqueue_for_each_task

__all__ = (
    "iw_cm_id_connect_wait",
    "iw_cm_id_flag_names",
    "iw_cm_id_flags",
    "iw_cm_id_for_each_destroyer",
    "iw_cm_id_private",
    "iw_cm_id_refcount",
    "iw_cm_id_state",
)

# drivers/infiniband/core/iwcm.h: #defines, bit numbers. Bit 1 was IWCM_F_CALLBACK_DESTROY until Linux
# kernel commit 59c68ac31e15 ("iw_cm: free cm_id resources on the last deref") (in v4.8).
_FLAG_BITS = {1: "IWCM_F_DROP_EVENTS", 2: "IWCM_F_CONNECT_WAIT"}
_CONNECT_WAIT = 1 << 2


def iw_cm_id_private(cm_id: Object) -> Object:
    """
    Return the iWARP CM's own part of an identifier.

    :param cm_id: ``struct iw_cm_id *``
    :return: ``struct iwcm_id_private *``
    """
    return container_of(cm_id, "struct iwcm_id_private", "id")


def iw_cm_id_state(cm_id_priv: Object) -> str:
    """
    Return an identifier's state without ``IW_CM_STATE_``.

    :param cm_id_priv: ``struct iwcm_id_private *``
    """
    return enum_value_name(cm_id_priv.state, "IW_CM_STATE_")


def iw_cm_id_flags(cm_id_priv: Object) -> int:
    """
    Return an identifier's flags.

    :param cm_id_priv: ``struct iwcm_id_private *``
    """
    return int(cm_id_priv.flags.value_())


def iw_cm_id_flag_names(cm_id_priv: Object) -> list[str]:
    """
    Return the names of an identifier's flags.

    :param cm_id_priv: ``struct iwcm_id_private *``
    """
    return flag_names(iw_cm_id_flags(cm_id_priv), _FLAG_BITS)


def iw_cm_id_connect_wait(cm_id_priv: Object) -> bool:
    """
    Return whether the driver has not reported the outcome of a connect or accept yet.

    :param cm_id_priv: ``struct iwcm_id_private *``
    """
    return bool(iw_cm_id_flags(cm_id_priv) & _CONNECT_WAIT)


def iw_cm_id_refcount(cm_id_priv: Object) -> int:
    """
    Return an identifier's reference count.

    :param cm_id_priv: ``struct iwcm_id_private *``
    """
    # refcount_t in v6.1, atomic_t at first.
    try:
        return int(cm_id_priv.refcount.refs.counter.value_())
    except AttributeError:
        return int(cm_id_priv.refcount.counter.value_())


def iw_cm_id_for_each_destroyer(cm_id_priv: Object) -> Iterator[Object]:
    """
    Iterate over the tasks that wait until the driver has reported: in destroy_cm_id or iw_cm_disconnect.

    :param cm_id_priv: ``struct iwcm_id_private *``
    :return: Iterator of ``struct task_struct *`` objects.
    """
    return waitqueue_for_each_task(cm_id_priv.connect_wait)
