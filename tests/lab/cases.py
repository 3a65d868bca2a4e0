"""The case.json of a dump: what a good tool says of it, made from the ground truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .scenario import Dump

HEADLINES = ("rds-shutdown-stuck-on-cq-error", "nvme-rdma-blocked-by-iwcm-connect-wait")
NEVER_WHEN_HEALTHY = (
    *HEADLINES,
    "rds-shutdown-stuck",
    "rds-workqueue-blocked",
    "iwcm-connect-wait",
)
Rows = list[dict[str, Any]]


def _connection(conn: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    return {
        "subject": {k: conn[k] for k in ("laddr", "faddr", "tos")},
        "evidence": [
            {"kind": "rds.ib_connection", "fields": {k: conn[k] for k in fields if k in conn}}
        ],
    }


RINGS = ("state", "recv_ring", "send_ring", "signaled_sends", "qp_num")


def _stuck_connections(truth: dict[str, Any]) -> Rows:
    return [
        _connection(c, RINGS)
        for c in truth["rds_connections"]
        if c["shutdown_task"] and c.get("recv_ring")
    ]


def _lost_connections(truth: dict[str, Any]) -> Rows:
    lost = [
        c
        for c in truth["rds_connections"]
        if "RECONNECT_PENDING" in c["flag_names"]
        and not c["conn_work_pending"]
        and c["state"] == "DOWN"
    ]
    return [{"subject": _connection(c, ())["subject"]} for c in lost]


def _held_connections(truth: dict[str, Any]) -> Rows:
    held = [
        c for c in truth["rds_connections"] if "IN_XMIT" in c["flag_names"] and c["state"] == "UP"
    ]
    return [{"subject": _connection(c, ())["subject"]} for c in held]


def _blocked_controllers(truth: dict[str, Any]) -> Rows:
    """One a controller: its id that waits for its connect."""
    rows = []
    for id_ in truth["rdma_ids"]:
        iw, owner = id_.get("iw"), id_["owner"]
        if iw and iw["connect_wait"] and "controller" in owner:
            fields = {k: iw[k] for k in ("address", "state", "flags", "connect_wait", "refcount")}
            subject = {k: owner[k] for k in ("controller", "traddr")}
            rows.append(
                {"subject": subject, "evidence": [{"kind": "iwcm.cm_id", "fields": fields}]}
            )
    return rows


def _destroyed(truth: dict[str, Any]) -> Rows:
    """Of the blocked controllers, those that a task waits to destroy."""
    waiting = {i["iw"]["address"] for i in truth["rdma_ids"] if i.get("iw", {}).get("waiters")}
    return [
        r for r in _blocked_controllers(truth) if r["evidence"][0]["fields"]["address"] in waiting
    ]


SUBJECTS = {
    "rds-shutdown-stuck-on-cq-error": _stuck_connections,
    "rds-shutdown-stuck": _stuck_connections,
    "rds-reconnect-lost": _lost_connections,
    "rds-xmit-stuck": _held_connections,
    "nvme-rdma-blocked-by-iwcm-connect-wait": _blocked_controllers,
}


def case(folder: str, dump: Dump, kernel: str, truth: dict[str, Any]) -> dict[str, Any]:
    """The case of a dump.

    :raises LookupError: a finding is expected that nothing in the ground truth speaks for
    """
    wanted = dump.expect.get("findings", [])
    findings: Rows = []
    counts = {}
    which, may = dump.expect.get("subjects"), dump.expect.get("may", ())
    for name in wanted:
        rows = SUBJECTS[name](truth) if name in SUBJECTS else [{"subject": {}}]
        if which == "destroying":
            rows = _destroyed(truth)
        elif which == "some":
            rows = [{"subject": {}}] if rows else []
        elif which == "none":
            rows = [{**row, "subject": {}} for row in rows]
        if not rows:
            raise LookupError(f"{name} is expected, and nothing in the ground truth speaks for it")
        if name in SUBJECTS and not which:
            counts[name] = len(rows)
        if name in SUBJECTS:
            verdict = {"verdict": dump.expect.get("verdict", ["confirmed"])}
        else:
            verdict = {}
        findings += [{"id": name, **verdict, **row} for row in rows]
    expect: dict[str, Any] = {
        "none_of": [
            *(n for n in (HEADLINES if wanted else NEVER_WHEN_HEALTHY) if n not in (*wanted, *may)),
            *dump.expect.get("none_of", ()),
        ]
    }
    expect |= {k: v for k, v in (("findings", findings), ("counts", counts)) if v}
    expect |= {k: dump.expect[k] for k in ("any_of", "checks") if k in dump.expect}
    return {
        "id": folder,
        "inputs": ["vmcore"],
        "kernel": kernel,
        "what": dump.about,
        "expect": expect,
        "truth": "truth.json: read with drgn and full DWARF",
        **({"note": dump.note} if dump.note else {}),
    }
