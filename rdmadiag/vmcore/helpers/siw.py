"""
Soft iWARP
----------

The connection endpoint of ``drivers/infiniband/sw/siw/siw_cm.c`` and its timer.
"""

from drgn import Object, container_of

from rdmadiag.vmcore.helpers.timekeeping import seconds_until
from rdmadiag.vmcore.walk import list_entries

__all__ = ("siw_cep_remaining_seconds", "siw_find_cep")


def siw_find_cep(cm_id: Object) -> Object | None:
    """
    Return the driver's endpoint of an iWARP CM identifier, ``None`` when it has none.

    :param cm_id: ``struct iw_cm_id *`` of a siw device
    :return: ``struct siw_cep *``
    """
    device = container_of(cm_id.device, "struct siw_device", "base_dev")
    for cep in list_entries("struct siw_cep", device.cep_list, "devq"):
        if cep.cm_id == cm_id:
            return cep
    return None


def siw_cep_remaining_seconds(cep: Object) -> float | None:
    """
    Return the seconds until the driver gives a pending connect up; ``None`` when no such timer runs.

    :param cep: ``struct siw_cep *``
    """
    work = cep.mpa_timer.read_()
    return seconds_until(work.work.timer) if work else None
