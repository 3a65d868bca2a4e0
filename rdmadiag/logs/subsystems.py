"""Which part of RDMA a kernel function or module belongs to."""

from functools import lru_cache

from rdmadiag.logs.words import word_set

BY_MODULE: dict[str, str] = {
    **dict.fromkeys(("rds", "rds_rdma"), "rds"),
    "rds_tcp": "rds_tcp",
    "iw_cm": "iwcm",
    "rdma_cm": "rdma_cm",
    "rdma_ucm": "ucma",
    "ib_cm": "ib_cm",
    "ib_uverbs": "uverbs",
    **dict.fromkeys(("ib_core", "ib_mad", "ib_sa", "ib_addr", "ib_umad", "ib_ucm"), "ib_core"),
    "nvme_rdma": "nvme_rdma",
    "nvmet_rdma": "nvmet_rdma",
    **dict.fromkeys(("rpcrdma", "xprtrdma"), "xprtrdma"),
    "svcrdma": "svcrdma",
    "ib_ipoib": "ipoib",
    "ib_iser": "iser",
    "ib_isert": "isert",
    "ib_srp": "srp",
    "ib_srpt": "srpt",
    **dict.fromkeys(
        ("rnbd_client", "rnbd_server", "rtrs_core", "rtrs_client", "rtrs_server"), "rtrs"
    ),
    **dict.fromkeys(("smc", "smc_diag"), "smc"),
    **dict.fromkeys(("rdma_rxe", "ib_rxe"), "rxe"),
    "siw": "siw",
    **dict.fromkeys(("mlx4_core", "mlx4_ib", "mlx4_en"), "mlx4"),
    **dict.fromkeys(("mlx5_core", "mlx5_ib", "mlx5_vdpa"), "mlx5"),
    "mlx_compat": "mlx5",
    **dict.fromkeys(("irdma", "i40iw"), "irdma"),
    **dict.fromkeys(("hfi1", "opa_vnic"), "hfi1"),
    "rdmavt": "rdmavt",
    "ib_qib": "qib",
    "ib_mthca": "mthca",
    **dict.fromkeys(("iw_cxgb4", "iw_cxgb3"), "cxgb4"),
    "bnxt_re": "bnxt_re",
    "qedr": "qedr",
    "ocrdma": "ocrdma",
    **dict.fromkeys(("hns_roce", "hns_roce_hw_v2"), "hns"),
    "efa": "efa",
    "mana_ib": "mana",
    "erdma": "erdma",
    "ionic_rdma": "ionic",
    "vmw_pvrdma": "pvrdma",
    "drbd_transport_rdma": "drbd_rdma",
    "9pnet_rdma": "9p_rdma",
    "ko2iblnd": "lnet",
    "rdmaip": "rdmaip",
}
"""Module -> subsystem."""

_BY_PREFIX: tuple[tuple[str, str], ...] = (
    ("rds_tcp_", "rds_tcp"),
    ("rds_", "rds"),
    ("nvme_rdma_", "nvme_rdma"),
    ("nvmet_rdma_", "nvmet_rdma"),
    ("svc_rdma_", "svcrdma"),
    ("svcxprt_rdma", "svcrdma"),
    ("rpcrdma_", "xprtrdma"),
    ("xprt_rdma_", "xprtrdma"),
    ("frwr_", "xprtrdma"),
    ("iw_cm_", "iwcm"),
    ("iw_destroy_cm_id", "iwcm"),
    ("destroy_cm_id", "iwcm"),
    ("cm_destroy_id", "ib_cm"),
    ("ib_destroy_cm_id", "ib_cm"),
    ("ib_cm_", "ib_cm"),
    ("ib_send_cm_", "ib_cm"),
    ("ucma_", "ucma"),
    ("ib_uverbs_", "uverbs"),
    ("cma_", "rdma_cm"),
    ("rdma_", "rdma_cm"),
    ("rdma_nl_", "ib_core"),
    ("ipoib_", "ipoib"),
    ("iser_", "iser"),
    ("isert_", "isert"),
    ("srpt_", "srpt"),
    ("rtrs_", "rtrs"),
    ("rnbd_", "rtrs"),
    ("smc_", "smc"),
    ("smcr_", "smc"),
    ("smbd_", "smb_direct"),
    ("smb_direct_", "smb_direct"),
    ("rxe_", "rxe"),
    ("siw_", "siw"),
    ("mlx4_", "mlx4"),
    ("mlx5", "mlx5"),
    ("irdma_", "irdma"),
    ("i40iw_", "irdma"),
    ("hfi1_", "hfi1"),
    ("rvt_", "rdmavt"),
    ("qib_", "qib"),
    ("mthca_", "mthca"),
    ("c4iw_", "cxgb4"),
    ("iwch_", "cxgb4"),
    ("bnxt_re_", "bnxt_re"),
    ("bnxt_qplib_", "bnxt_re"),
    ("qedr_", "qedr"),
    ("ocrdma_", "ocrdma"),
    ("hns_roce_", "hns"),
    ("efa_", "efa"),
    ("erdma_", "erdma"),
    ("pvrdma_", "pvrdma"),
    ("dtr_", "drbd_rdma"),
    ("kiblnd_", "lnet"),
    ("ib_", "ib_core"),
)
_NOT_RDMA = word_set("""
    cma_alloc cma_release cma_init_reserved_mem cma_declare_contiguous cma_for_each_area ib_prctl_set
    """)
_SVCRDMA = ("svc_rdma_", "svc_rdma", "svcxprt_rdma")


@lru_cache(maxsize=4096)
def subsystem_of(function: str, module: str = "") -> str:
    """
    Return the RDMA subsystem of a function, ``""`` when it is none.

    :param function: Name without compiler suffixes.
    :param module: Its module, ``""`` when it is built in or the trace does not tell.
    """
    name = function.lstrip("_")
    if module in BY_MODULE:
        found = BY_MODULE[module]
        return "svcrdma" if found == "xprtrdma" and name.startswith(_SVCRDMA) else found
    if name in _NOT_RDMA or (module and not module.startswith(("ksplice", "livepatch", "kpatch"))):
        return ""
    if function == "_destroy_id":
        return "rdma_cm"
    return next((s for prefix, s in _BY_PREFIX if name.startswith(prefix)), "")
