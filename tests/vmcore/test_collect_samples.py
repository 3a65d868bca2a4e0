"""What the collectors read of the sample dumps, against what drgn with full debug info said of them."""

import json
from functools import cache

import pytest

from rdmadiag.facts.kinds import KINDS
from rdmadiag.vmcore.collect.run import collect_dump, collectors, kinds_on_demand
from rdmadiag.vmcore.helpers.rds import RDS_FLAG_BITS

from .samples import ALL, NVME, RDS, SAMPLES, shared

IW, ID, CONTROLLER = "iwcm.cm_id", "rdma_cm.id", "nvme.rdma_controller"
CONNECTION, WORK = "rds.ib_connection", "workqueue.work"
QP_STATES = ("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR")
STUCK = {
    "rds-stuck-recv": 9.8,
    "rds-stuck-recv-612": 9.6,
    "rds-mixed-queued": 18.0,
}


@cache
def collected(name):
    return collect_dump(shared(name), "dump")


@cache
def truth(name):
    return json.loads((SAMPLES / name / "truth.json").read_text())


def facts(name, kind):
    return [fact.fields for fact in collected(name).facts if fact.kind == kind]


def by(name, kind, field):
    return {fields[field]: fields for fields in facts(name, kind)}


def null(value):
    """The truth has 0x0 for null pointers."""
    return None if value in ("0x0", None) else value


def enumerator(value, prefix):
    """The truth has ``NVME_CTRL_LIVE (1)``."""
    return value.split(" ")[0].removeprefix(prefix)


@pytest.mark.parametrize("name", ALL)
def test_fields_are_those_of_the_table(name):
    for fact in collected(name).facts:
        wanted = {field.split(".")[0] for field in KINDS[fact.kind]}
        assert set(fact.fields) == wanted, fact.kind


@pytest.mark.parametrize("name", ALL)
def test_facts_can_be_written_as_json(name):
    for fact in collected(name).facts:
        assert json.loads(json.dumps(fact.fields)) == fact.fields
        assert fact.text
        assert fact.where.input == "dump"


@pytest.mark.parametrize("name", ALL)
def test_coverage(name):
    rows = {one.kind: one for one in collected(name).coverage}
    assert (
        set(rows) == {kind for module in collectors() for kind in module.KINDS} - kinds_on_demand()
    )
    absent = {CONNECTION if name in NVME else CONTROLLER, "xprtrdma.transport", "srp.target"}
    assert {kind: row.status for kind, row in rows.items()} == {
        kind: "absent" if kind in absent else "complete" for kind in rows
    }
    assert all("is not loaded" in rows[kind].reason for kind in absent)


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_unreadable(name):
    assert [
        fact.fields["problems"] for fact in collected(name).facts if fact.fields.get("problems")
    ] == []


@pytest.mark.parametrize("name", ALL)
def test_input_and_kernel(name):
    (info,) = collected(name).inputs
    (kernel,) = facts(name, "kernel")
    assert info.kernel_release == kernel["release"] == truth(name)["kernel_release"]
    assert (info.kind, info.types, kernel["types"]) == ("vmcore", "btf", "btf")
    assert info.host == ("dbnode01" if name in RDS else "")
    assert info.end.uptime == kernel["uptime_seconds"] > 10
    assert kernel["panic"] == ""
    assert "out-of-tree module" in kernel["taint"]


@pytest.mark.parametrize("name", RDS)
def test_connections(name):
    rows = by(name, CONNECTION, "path")
    assert set(rows) == {one["rds_conn_path"] for one in truth(name)["connections"]}
    for want in truth(name)["connections"]:
        row = rows[want["rds_conn_path"]]
        assert row["conn"] == want["rds_connection"]
        assert row["address"] == want["rds_ib_connection"]
        assert (row["laddr"], row["faddr"], row["tos"]) == (
            want["laddr"],
            want["faddr"],
            want["tos"],
        )
        assert row["state"] == want["cp_state_name"]
        assert row["flags"] == [RDS_FLAG_BITS[bit] for bit in want["cp_flag_bits"]]
        assert row["shutdown_pending"] == want["cp_down_w_pending"]
        assert row["connect_pending"] == want["cp_conn_w_pending"]
        assert (row["drop_reason"], row["cq_error_flag"]) == (None, None)  # mainline has neither


@pytest.mark.parametrize("name", RDS)
def test_connections_over_infiniband(name):
    rows = by(name, CONNECTION, "path")
    for want in truth(name)["connections"]:
        row = rows[want["rds_conn_path"]]
        for side in ("send_ring", "recv_ring"):
            ring = {key.removeprefix("w_"): value for key, value in want[side].items()}
            ring["in_flight"] = ring.pop("outstanding")
            assert row[side] == ring
        assert not row["corrupt"]
        assert row["signaled_sends"] == want["i_signaled_sends"]
        assert (row["fastreg_wrs"], row["fastreg_in_use"], row["fastreg_full"]) == (512, 0, True)
        assert (row["send_cq"], row["recv_cq"]) == (want["i_send_cq"], want["i_recv_cq"])
        assert row["cm_id"] == null(want["i_cm_id"])
        assert row["active_side"] == want["i_active_side"]
        if row["cm_id"]:
            assert row["cm_state"] == want["rdma_cm_state"].removeprefix("RDMA_CM_")
            assert row["qp_num"] == want["qp_num"]
            assert row["qp_state"] == QP_STATES[want["rxe_qp_attr_state"]]


@pytest.mark.parametrize("name", STUCK)
def test_stuck_shutdown_is_tied_to_its_connection(name):
    (want,) = truth(name)["stuck_kworkers"]
    (row,) = [one for one in facts(name, CONNECTION) if one["shutdown_task"]]
    assert row["shutdown_task"] == want["pid"]
    assert row["conn"] == want["rds_connection_of_current_work"]
    assert row["shutdown_function"] == "rds_ib_conn_path_shutdown"
    assert row["workqueue"] == want["worker_wq_name"] == "krdsd"
    assert row["disconnected_min_seconds"] == (0.512 if name.endswith("612") else 2.048)


@pytest.mark.parametrize("name", STUCK)
def test_age_of_a_shutdown_that_wakes_each_second(name):
    """The scheduler saw the worker less than a second ago; the worker itself knows better."""
    (row,) = [one for one in facts(name, CONNECTION) if one["shutdown_task"]]
    assert row["shutdown_wait_seconds"] == pytest.approx(STUCK[name], abs=0.1)
    assert row["shutdown_wait_clock"] == "worker.last_active"
    task = by(name, "task", "pid")[row["shutdown_task"]]
    assert task["wait_seconds"] == row["shutdown_wait_seconds"]


@pytest.mark.parametrize("name", STUCK)
def test_stuck_worker(name):
    (want,) = truth(name)["stuck_kworkers"]
    task = by(name, "task", "pid")[want["pid"]]
    assert (task["state"], task["comm"]) == ("D", want["comm"])
    assert task["address"] == want["task_struct"]
    assert task["work"] == want["worker_current_work"]
    assert task["work_function"] == want["worker_current_func"] == "rds_shutdown_worker"
    assert (task["workqueue"], task["subsystem"]) == ("krdsd", "rds")
    assert task["waits_on"]["what"] == "rds_ib_ring_empty_wait [rds_rdma]"
    assert task["functions"][:5] == [
        "__schedule", "schedule", "schedule_timeout", "rds_ib_conn_path_shutdown", "rds_conn_shutdown",
    ]  # fmt: skip
    assert task["modules"] == ["rds_rdma", "rds"]


def test_healthy_connection_has_no_shutdown():
    (row,) = facts("rds-healthy", CONNECTION)
    assert row["state"] == "UP"
    assert row["recv_ring"]["in_flight"] > 0
    assert (row["shutdown_task"], row["behind_task"], row["shutdown_pending"]) == (
        None,
        None,
        False,
    )


def test_victim_behind_the_single_worker():
    name = "rds-mixed-queued"
    (stuck,) = truth(name)["stuck_kworkers"]
    victims = [one for one in facts(name, CONNECTION) if one["behind_task"]]
    assert [one["conn"] for one in victims] == truth(name)["expected"]["victims"]
    assert victims[0]["behind_task"] == stuck["pid"]
    assert (victims[0]["shutdown_pending"], victims[0]["state"]) == (True, "ERROR")
    works = [one for one in facts(name, WORK) if one["behind"] == stuck["pid"]]
    assert {one["function"] for one in works} == {"rds_shutdown_worker", "rds_send_worker"}
    assert {one["state"] for one in works} == {"inactive"}
    assert "__WQ_ORDERED" in works[0]["flags"]
    assert works[0]["max_active"] == 1


@pytest.mark.parametrize("name", NVME)
def test_iwarp_ids(name):
    rows = by(name, IW, "address")
    assert set(rows) == {one["iwcm_id_private"] for one in truth(name)["iw_cm_ids"]}
    for want in truth(name)["iw_cm_ids"]:
        row = rows[want["iwcm_id_private"]]
        assert row["state"] == enumerator(want["state"], "IW_CM_STATE_")
        assert (row["flags"], row["flag_names"]) == (want["flags"], want["flag_bits"])
        assert (row["connect_wait"], row["refcount"]) == (
            want["connect_wait_set"],
            want["refcount"],
        )
        assert f"{row['laddr']}:{row['lport']}" == want["local_addr"]
        assert f"{row['raddr']}:{row['rport']}" == want["remote_addr"]
        assert row["device"] == want["device"]
        waiters = [one["pid"] for one in want["connect_wait_waiters"]]
        assert [row["destroy_task"]] == (waiters or [None])


@pytest.mark.parametrize("name", NVME)
def test_rdma_ids_are_those_on_the_device_lists(name):
    rows = facts(name, ID)
    live = {
        queue["cm_id"]
        for controller in truth(name)["controllers"]
        for queue in controller["queues"]
        if queue["cm_id_on_cma_dev_list"]
    }
    assert sorted(row["address"] for row in rows) == sorted(live)
    assert all(row["listed"] and row["owner"]["ulp"] == "nvme_rdma" for row in rows)
    assert all(row["port_space"] == "TCP" for row in rows)


@pytest.mark.parametrize("name", NVME)
def test_controllers(name):
    rows = by(name, CONTROLLER, "address")
    assert set(rows) == {one["nvme_rdma_ctrl"] for one in truth(name)["controllers"]}
    for want in truth(name)["controllers"]:
        row = rows[want["nvme_rdma_ctrl"]]
        assert (row["controller"], row["nqn"]) == (f"nvme{want['instance']}", want["nqn"])
        assert (row["traddr"], row["trsvcid"]) == (want["traddr"], want["trsvcid"])
        assert row["state"] == enumerator(want["state"], "NVME_CTRL_")
        assert row["reconnects"] == want["nr_reconnects"]
        assert row["max_reconnects"] == want["max_reconnects"]
        assert row["reconnect_delay_seconds"] == want["reconnect_delay"]
        assert row["kato_seconds"] == want["kato"]
        assert row["listed"]
        timer = want["reconnect_work"]
        due = timer["timer_expires_in_s"] if timer["timer_pending"] else None
        assert row["reconnect_due_seconds"] == (due and pytest.approx(due, abs=0.01))


@pytest.mark.parametrize("name", NVME)
def test_queues(name):
    rows = by(name, CONTROLLER, "address")
    owners = {
        one["rdma_id"]["rdma_id_private"]: (one["ctrl_instance"], one["queue_idx"])
        for one in truth(name)["stuck_setups"]
    }
    for want in truth(name)["controllers"]:
        queues = rows[want["nvme_rdma_ctrl"]]["queues"]
        assert len(queues) == want["queue_count"]
        for queue, wanted in zip(queues, want["queues"], strict=True):
            assert (queue["flags"], queue["flag_names"]) == (wanted["flags"], wanted["flag_bits"])
            assert queue["cm_id"] == null(wanted["cm_id"])
            # A queue that was freed keeps its pointer: to memory that still reads well, or that is
            # another queue's by now.
            me = (want["instance"], wanted["idx"])
            own = owners.get(wanted["cm_id"], me) == me
            assert queue["cm_id_live"] == (wanted["cm_id_on_cma_dev_list"] and own)
            iw = wanted.get("iw") if queue["cm_id_live"] else None
            assert queue["iw_cm_id"] == (iw and iw["iw_cm_id"])
            if queue["cm_id_live"]:
                state = enumerator(wanted["rdma_id"]["state"], "RDMA_CM_")
                assert queue["cm_state"] == state


@pytest.mark.parametrize("name", ["iwcm-connect-wait", "iwcm-delete-stuck-stock"])
def test_blocked_controllers(name):
    controllers = by(name, CONTROLLER, "controller")
    ids = by(name, IW, "address")
    assert len(truth(name)["stuck_setups"]) == 4
    for want in truth(name)["stuck_setups"]:
        row = controllers[f"nvme{want['ctrl_instance']}"]
        assert row["blocked_task"] == row["reconnect_task"] == want["pid"]
        assert row["blocked_queue"] == want["queue_idx"]
        assert row["iw_cm_id"] == want["iw"]["iw_cm_id"]
        assert row["blocked_wait_seconds"] == pytest.approx(want["blocked_for_s"], abs=0.1)
        assert row["reconnect_work"] == "running"
        owner = {"ulp": "nvme_rdma", "controller": row["controller"], "queue": want["queue_idx"]}
        assert owner.items() <= ids[row["iw_cm_id"]]["owner"].items()


def test_destroyer_in_the_classic_form():
    for row in facts("iwcm-connect-wait", IW):
        assert row["destroy_task"]
        assert row["setup_task"] is None
        assert row["destroy_wait_seconds"] == pytest.approx(2.2, abs=0.1)
        assert (row["waiters"], row["behind"]) == (0, [])
    for row in facts("iwcm-connect-wait", CONTROLLER):
        assert row["blocked_in"] == "destroy_cm_id"
        assert row["waiting_behind"] == []


def test_setup_in_the_form_since_5_19():
    name = "iwcm-delete-stuck-stock"
    for row in facts(name, IW):
        assert row["destroy_task"] is None
        assert by(name, "task", "pid")[row["setup_task"]]["state"] == "S"
        assert row["setup_wait_seconds"] == pytest.approx(29.5, abs=0.2)
    for row in facts(name, CONTROLLER):
        assert row["blocked_in"] == "nvme_rdma_alloc_queue"


def test_who_waits_behind():
    name = "iwcm-delete-stuck-stock"
    rows = by(name, CONTROLLER, "controller")
    deleters = {one: [(w["comm"], w["what"]) for w in rows[one]["waiting_behind"]] for one in rows}
    assert deleters["nvme0"] == [("sh", "flush of nvme_rdma_reconnect_ctrl_work")]
    for controller in ("nvme1", "nvme2", "nvme3"):
        (first, why), (second, whole) = deleters[controller]
        assert first.startswith("kworker/u8:")
        assert why == "flush of nvme_rdma_reconnect_ctrl_work"
        assert (second, whole) == ("rdma", "flush of workqueue nvme-delete-wq")
        assert rows[controller]["delete_work"] == "running"


@pytest.mark.parametrize("name", NVME)
def test_running_works(name):
    rows = by(name, WORK, "work")
    for want in truth(name)["running_works"]:
        row = rows[want["work"]]
        assert (row["state"], row["worker_pid"]) == ("running", want["worker_pid"])
        assert (row["function"], row["workqueue"]) == (want["func"], want["wq"])
        assert row["flushers"] == [one["waiter_pid"] for one in want["scheduled"]]


@pytest.mark.parametrize("name", NVME)
def test_tasks(name):
    rows = by(name, "task", "pid")
    assert sum(row["state"] == "D" for row in rows.values()) == truth(name)["counts"]["D_tasks"]
    for want in truth(name)["tasks"]:
        row = rows[want["pid"]]
        assert (row["comm"], row["state"]) == (want["comm"], want["state"])
        age = want["sched_info_last_arrival_age_s"]
        assert row["wait_seconds"] == pytest.approx(age, abs=0.1)
        functions = [frame["fn"] for frame in want["stack"] if not frame["inline"]]
        if "entry_SYSCALL_64" in functions:
            functions = functions[: functions.index("entry_SYSCALL_64")]
        assert row["functions"][: len(functions)] == functions


def test_what_tasks_wait_on():
    name = "iwcm-delete-stuck-stock"
    rows = by(name, "task", "pid")
    controllers = by(name, CONTROLLER, "controller")
    for row in controllers.values():
        waits = rows[row["blocked_task"]]["waits_on"]
        assert waits["type"] == "struct completion"
        assert waits["what"].startswith("cm_done of struct nvme_rdma_queue ")
        assert waits["what"].endswith(f"(queue 0 of {row['controller']})")
    (shell,) = [row for row in rows.values() if row["comm"] == "sh"]
    runner = controllers["nvme0"]["reconnect_task"]
    assert shell["waits_on"]["pid"] == runner
    assert (
        shell["waits_on"]["what"] == f"flush of nvme_rdma_reconnect_ctrl_work, run by pid {runner}"
    )
    (tool,) = [row for row in rows.values() if row["comm"] == "rdma"]
    deleters = [row["delete_task"] for row in controllers.values() if row["delete_task"]]
    assert sorted(tool["waits_on"]["pids"]) == sorted(deleters)
    assert tool["waits_on"]["what"].startswith("flush of workqueue nvme-delete-wq, run by pids ")
    assert [one["pid"] for one in tool["chain"]][:2] == [tool["pid"], tool["waits_on"]["pid"]]
    assert [one["comm"][:7] for one in tool["chain"]] == ["rdma", "kworker", "kworker"]
    assert tool["chain"][2]["what"].startswith("cm_done of ")
    assert tool["deadlock"] == []


def test_waiter_for_the_driver():
    for row in facts("iwcm-connect-wait", "task"):
        if row["state"] == "D":
            assert row["waits_on"]["type"] == "struct wait_queue_head"
            assert row["waits_on"]["what"].startswith("connect_wait of struct iwcm_id_private ")


def test_bound_by_the_drivers_own_timer():
    """4.8 s are left of siw's 10 s; the attempt began 5.3 s ago; 299 attempts are left, 2 s apart."""
    for row in facts("iwcm-connect-wait", CONTROLLER):
        assert row["attempt_seconds"] == pytest.approx(5.3, abs=0.1)
        assert row["driver_remaining_seconds"] == pytest.approx(4.8, abs=0.1)
        assert row["driver_connect_limit_seconds"] == pytest.approx(10.1, abs=0.1)
        assert row["bound_seconds"] == row["driver_remaining_seconds"]
        total = row["bound_seconds"] + 299 * (2 + row["driver_connect_limit_seconds"])
        assert row["bound_total_seconds"] == pytest.approx(total, abs=0.1)
        assert "299 attempts are left" in row["bound_arithmetic"]


def test_bound_without_the_drivers_types():
    """siw has no BTF here, but its connect timers are delayed works; a controller that goes away tries no more."""
    for row in facts("iwcm-delete-stuck-stock", CONTROLLER):
        assert row["bound_seconds"] == pytest.approx(30.7, abs=0.1)
        if row["state"] == "DELETING":
            assert row["bound_total_seconds"] == row["bound_seconds"]
        assert row["bound_arithmetic"].startswith(
            "The latest of the driver's connect timers fires in 30.7 s"
        )


@pytest.mark.parametrize("name", ["nvme-rdma-healthy", "nvme-rdma-reconnecting"])
def test_nothing_is_blocked(name):
    for row in facts(name, CONTROLLER):
        assert (row["blocked_task"], row["iw_cm_id"], row["waiting_behind"]) == (None, None, [])
        assert (row["bound_seconds"], row["bound_arithmetic"]) == (None, None)
        healthy = name == "nvme-rdma-healthy"
        assert row["queues_live"] == (5 if healthy else 0)
        assert row["reconnect_work"] == ("idle" if healthy else "delayed")


def test_devices():
    (rxe,) = facts("rds-healthy", "ib.device")
    assert (rxe["name"], rxe["driver"]) == ("rxe0", "rdma_rxe")
    assert rxe["ports"] == [{"port": 1, "state": "ACTIVE", "phys_state": None, "netdev": "eth0"}]
    (siw,) = facts("nvme-rdma-healthy", "ib.device")
    assert (siw["name"], siw["driver"]) == ("siw0", "siw")


def test_modules():
    modules = by("iwcm-delete-stuck-stock", "module", "name")
    assert modules["nvme_rdma"]["btf"]
    assert not modules["siw"]["btf"]
    assert "out-of-tree module" in modules["siw"]["taints"]
    assert modules["nvme_core"]["refcount"] >= 2


def test_marks():
    marks = (
        "member:struct rds_ib_connection.i_flags",
        "member:struct rds_ib_connection.i_recv_ring",
        "no_member:struct iwcm_id_private.work_list",
        "member:struct mlx4_ib_cq.mcq",
        "enumerator:RDS_CONN_UP",
        "enumerator:RDS_IB_CQ_ERR",
        "symbol:rds_rdma:rds_ib_conn_path_shutdown",
        "symbol:rds_rdma:rds_ib_conn_shutdown",
        "symbol:nvme_rdma:nvme_rdma_init_module",
        "wq_flag:iw_cm_wq:WQ_MEM_RECLAIM",
        "wq_flag:krdsd:WQ_HIGHPRI",
        "string:no_such_module:text",
        "unknown:kind",
    )
    found = {}
    for name in ("rds-stuck-recv", "rds-stuck-recv-612"):
        facts = collect_dump(shared(name), "dump", marks).facts
        (kernel,) = [fact.fields for fact in facts if fact.kind == "kernel"]
        found[name] = kernel["marks"]
    expected = {
        "member:struct rds_ib_connection.i_flags": False,
        "member:struct rds_ib_connection.i_recv_ring": True,
        "no_member:struct iwcm_id_private.work_list": False,
        "enumerator:RDS_CONN_UP": True,
        "symbol:rds_rdma:rds_ib_conn_path_shutdown": True,
        "symbol:rds_rdma:rds_ib_conn_shutdown": False,
        "wq_flag:iw_cm_wq:WQ_MEM_RECLAIM": True,
        "wq_flag:krdsd:WQ_HIGHPRI": False,
    }
    assert found["rds-stuck-recv"] == expected
    assert found["rds-stuck-recv-612"] == expected | {
        "no_member:struct iwcm_id_private.work_list": True
    }
