"""
Presence
--------

Whether a part of the kernel is there: loaded as a module, built into the kernel (``CONFIG_...=y``), or neither.
"""

from typing import Literal

from rdmadiag.vmcore.symbols import SymbolTable

__all__ = ("Presence", "built_in", "presence")

Presence = Literal["loaded", "built-in", "absent", "unknown"]

_FUNCTIONS = {
    "ib_core": "ib_register_device",
    "ib_ipoib": "ipoib_start_xmit",
    "ib_iser": "iscsi_iser_session_create",
    "ib_isert": "isert_cma_handler",
    "ib_srp": "srp_queuecommand",
    "ib_srpt": "srpt_cm_handler",
    "iw_cm": "iw_cm_connect",
    "nfsd": "nfsd_dispatch",
    "nvme_core": "nvme_init_ctrl",
    "nvme_rdma": "nvme_rdma_queue_rq",
    "nvmet_rdma": "nvmet_rdma_cm_handler",
    "rdma_cm": "rdma_resolve_addr",
    "rds": "rds_conn_create",
    "rds_rdma": "rds_ib_conn_alloc",
    "rds_tcp": "rds_tcp_conn_alloc",
    "rpcrdma": "xprt_rdma_send_request",
    "sunrpc": "rpc_run_task",
}
"""A function of each module that is exported or called by pointer, so that no compiler inlines it away, under the same
name in all kernels: in the kernel's own symbol table only where the module is built in."""
_OTHERS = {"nfsd", "nvme_core", "sunrpc"}
"""Those that know nothing of RDMA themselves."""


def built_in(symbols: SymbolTable) -> list[str]:
    """Return which of the modules of RDMA that are known here are built into the kernel."""
    known = _FUNCTIONS.keys() - _OTHERS
    return sorted(module for module in known if presence(symbols, module) == "built-in")


def presence(symbols: SymbolTable, module: str) -> Presence:
    """
    Return whether a module is there.

    ``absent`` is only said when the list of modules and the kernel's own symbols could be read: they name all.

    :raises KeyError: of a module that nothing is known of
    """
    modules = symbols.modules
    if modules is not None and modules.named(module):
        return "loaded"
    if symbols.find(_FUNCTIONS[module], ""):
        return "built-in"
    listed = modules is not None and modules.complete
    return "absent" if listed and symbols.is_whole else "unknown"
