// SPDX-License-Identifier: GPL-2.0
/*
 * labfault - faults on demand, for the lab only.
 *
 * It plays the part of hardware or of a lost event; all that follows is the kernel's own doing. The
 * line of an HCA that it prints is made up: no such HCA is in the guest.
 *
 *   mute LADDR FADDR TOS recv|send|both   completions of this RDS connection's queue(s) vanish
 *   mute-qp DEVICE QPN recv|send|both     the same by QP number (1: the CM's QP)
 *   cqerror LADDR FADDR TOS [quiet]       the log line of a broken CQ, then its events: RDS drops
 *   unmute
 *   xmit LADDR FADDR TOS                  RDS_IN_XMIT taken, and never given back
 *   lose-reconnect LADDR FADDR TOS        the reconnect work vanishes, RDS_RECONNECT_PENDING stays
 *   leak-id LADDR FADDR TOS               one reference of the connection's rdma_cm_id is lost
 *   hold-id DEVICE N                      the caller takes the N-th rdma_cm_id's handler_mutex
 *   hold-disk PATH                        one reference of the disk's request queue is lost
 *   hog CPU SECONDS                       a work on ib-comp-wq spins, another waits behind it
 *   list DEVICE                           prints QPs and ids
 */
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/inet.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <linux/version.h>
#include <rdma/ib_verbs.h>
#include "rds.h"
#include "ib.h"
#include "cma_priv.h"
#include "restrack.h"

#define MAX_MUTED 32
static struct ib_cq *muted[MAX_MUTED];
static int n_muted;
static atomic_long_t swallowed = ATOMIC_LONG_INIT(0);

/* ---- completions that vanish ---------------------------------------------------------------- */

static noinline notrace int post_nothing(void)
{
	return 0;
}

static int before_cq_post(struct kprobe *probe, struct pt_regs *regs)
{
	struct ib_cq *cq = (void *)regs_get_kernel_argument(regs, 0);	/* struct rxe_cq begins with it */
	int i, n = READ_ONCE(n_muted);

	for (i = 0; i < n; i++)
		if (muted[i] == cq) {
			atomic_long_inc(&swallowed);
			instruction_pointer_set(regs, (unsigned long)post_nothing);
			return 1;
		}
	return 0;
}

static struct kprobe cq_post = { .symbol_name = "rxe_cq_post", .pre_handler = before_cq_post };
static bool cq_post_on;

static int mute(struct ib_qp *qp, const char *which)
{
	int err;

	if (!cq_post_on) {
		err = register_kprobe(&cq_post);
		if (err)
			return err;
		cq_post_on = true;
	}
	if (n_muted + 2 > MAX_MUTED)
		return -ENOSPC;
	if (strcmp(which, "send"))
		muted[n_muted++] = qp->recv_cq;
	if (strcmp(which, "recv"))
		muted[n_muted++] = qp->send_cq;
	return 0;
}

/* ---- finding things ------------------------------------------------------------------------- */

static unsigned long (*lookup)(const char *name);

static int find_lookup(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	int err = register_kprobe(&probe);

	if (err)
		return err;
	lookup = (void *)probe.addr;
	unregister_kprobe(&probe);
	return 0;
}

static struct rdma_cm_id *path_id(struct rds_conn_path *cp)
{
	struct rds_ib_connection *ic = cp->cp_transport_data;

	return ic ? ic->i_cm_id : NULL;
}

static struct rds_conn_path *find_path(const char *laddr, const char *faddr, u8 tos)
{
	struct hlist_head *hash = (void *)lookup("rds:rds_conn_hash");
	struct rds_connection *conn;
	int i;

	for (i = 0; hash && i < 1 << 12; i++)	/* RDS_CONNECTION_HASH_BITS */
		hlist_for_each_entry(conn, &hash[i], c_hash_node)
			if (conn->c_laddr.s6_addr32[3] == in_aton(laddr) &&
			    conn->c_faddr.s6_addr32[3] == in_aton(faddr) && conn->c_tos == tos)
				return &conn->c_path[0];
	return NULL;
}

static struct ib_qp *find_qp(struct ib_device *dev, u32 qpn)
{
	struct rdma_restrack_entry *res;
	unsigned long index;

	xa_for_each(&dev->res[RDMA_RESTRACK_QP].xa, index, res) {
		struct ib_qp *qp = container_of(res, struct ib_qp, res);

		if (qp->qp_num == qpn)
			return qp;
	}
	return NULL;
}

/* ---- the commands --------------------------------------------------------------------------- */

static int cq_error(struct rds_conn_path *cp, bool quiet)
{
	struct rdma_cm_id *id = path_id(cp);
	struct ib_event ev = { .event = IB_EVENT_CQ_ERR };
	struct ib_qp *qp = id ? id->qp : NULL;

	if (!qp)
		return -ENOENT;
	if (!quiet)
		pr_warn("mlx4_core 0000:46:00.0: CQ access violation on CQN 000419 syndrome=0x2 vendor_error_syndrome=0x0\n");
	ev.device = qp->device;
	ev.element.cq = qp->recv_cq;
	if (qp->recv_cq->event_handler)
		qp->recv_cq->event_handler(&ev, qp->recv_cq->cq_context);
	ev.event = IB_EVENT_QP_FATAL;
	ev.element.qp = qp;
	qp->event_handler(&ev, qp->qp_context);
	return 0;
}

static int lose_reconnect(struct rds_conn_path *cp)
{
	int tries;

	for (tries = 0; tries < 6000; tries++) {
		if (rds_conn_path_state(cp) == RDS_CONN_DOWN &&
		    test_bit(RDS_RECONNECT_PENDING, &cp->cp_flags) &&
		    cancel_delayed_work_sync(&cp->cp_conn_w)) {
			/* the canceled work must not have been past its first steps */
			if (rds_conn_path_state(cp) == RDS_CONN_DOWN)
				return 0;
		}
		msleep(10);
	}
	return -ETIMEDOUT;
}

static int hold_id(struct ib_device *dev, int nth)
{
	struct rdma_restrack_entry *res;
	unsigned long index;

	xa_for_each(&dev->res[RDMA_RESTRACK_CM_ID].xa, index, res)
		if (!nth--) {
			mutex_lock(&container_of(res, struct rdma_id_private, res)->handler_mutex);
			return 0;
		}
	return -ENOENT;
}

static void list(struct ib_device *dev)
{
	struct rdma_restrack_entry *res;
	unsigned long index;
	int n = 0;

	xa_for_each(&dev->res[RDMA_RESTRACK_QP].xa, index, res) {
		struct ib_qp *qp = container_of(res, struct ib_qp, res);

		pr_info("labfault: qpn %u type %d scq %px rcq %px\n", qp->qp_num, qp->qp_type,
			qp->send_cq, qp->recv_cq);
	}
	xa_for_each(&dev->res[RDMA_RESTRACK_CM_ID].xa, index, res) {
		struct rdma_id_private *id = container_of(res, struct rdma_id_private, res);

		pr_info("labfault: id %d %px state %d dst %pISpc\n", n++, id, id->state,
			&id->id.route.addr.dst_addr);
	}
}

static int hold_disk(const char *path)
{
	struct file *f = filp_open(path, O_RDONLY, 0);

	if (IS_ERR(f))
		return PTR_ERR(f);
	percpu_ref_get(&bdev_get_queue(I_BDEV(f->f_mapping->host))->q_usage_counter);
	filp_close(f, NULL);
	return 0;
}

static int hog_seconds;

static void hog(struct work_struct *work)
{
	unsigned long end = jiffies + hog_seconds * HZ;

	while (time_before(jiffies, end))
		cpu_relax();
}
static DECLARE_WORK(hog_work, hog);

/* A kernel with a workqueue watchdog reports a pool only when something waits behind what spins. */
static void behind_hog(struct work_struct *work)
{
}
static DECLARE_WORK(behind_work, behind_hog);

static int start_hog(int cpu)
{
	struct workqueue_struct **wq = (void *)lookup("ib_core:ib_comp_wq");

	if (!wq)
		return -ENOENT;
	queue_work_on(cpu, *wq, &hog_work);
	queue_work_on(cpu, *wq, &behind_work);
	return 0;
}

/* All RDMA devices of a guest are on its wire. */
static struct ib_device *rdma_device(const char *name)
{
	struct net_device *wire = dev_get_by_name(&init_net, "eth0");
	struct ib_device *dev;

	if (!wire)
		return NULL;
	dev = ib_device_get_by_netdev(wire, RDMA_DRIVER_UNKNOWN);
	dev_put(wire);
	if (dev && strcmp(dev_name(&dev->dev), name)) {
		ib_device_put(dev);
		dev = NULL;
	}
	return dev;
}

static int with_device(const char *cmd, const char *name, int n, const char *which)
{
	struct ib_device *dev = rdma_device(name);
	struct ib_qp *qp;
	int err = 0;

	if (!dev)
		return -ENODEV;
	if (!strcmp(cmd, "list")) {
		list(dev);
	} else if (!strcmp(cmd, "hold-id")) {
		err = hold_id(dev, n);
	} else {
		qp = find_qp(dev, n);
		err = qp ? mute(qp, which) : -ENOENT;
	}
	ib_device_put(dev);
	return err;
}

static int with_path(const char *cmd, struct rds_conn_path *cp, const char *word)
{
	struct rdma_cm_id *id;

	if (!strcmp(cmd, "cqerror"))
		return cq_error(cp, !strcmp(word, "quiet"));
	if (!strcmp(cmd, "xmit")) {
		while (test_and_set_bit(RDS_IN_XMIT, &cp->cp_flags))
			msleep(1);
		return 0;
	}
	if (!strcmp(cmd, "lose-reconnect"))
		return lose_reconnect(cp);
	id = path_id(cp);
	if (!id || !id->qp)
		return -ENOENT;
	if (!strcmp(cmd, "mute"))
		return mute(id->qp, word);
	if (!strcmp(cmd, "leak-id")) {
		refcount_inc(&container_of(id, struct rdma_id_private, id)->refcount);
		return 0;
	}
	return -EINVAL;
}

static int do_set(const char *val, const struct kernel_param *kp)
{
	char cmd[24] = "", a[64] = "", b[64] = "", c[16] = "", d[16] = "";
	struct rds_conn_path *cp;
	unsigned int n = 0;

	if (sscanf(val, "%23s %63s %63s %15s %15s", cmd, a, b, c, d) < 1)
		return -EINVAL;
	if (!strcmp(cmd, "unmute")) {
		n_muted = 0;
		return 0;
	}
	if (!strcmp(cmd, "hold-disk"))
		return hold_disk(a);
	if (!strcmp(cmd, "hog")) {
		if (kstrtouint(a, 0, &n) || kstrtoint(b, 0, &hog_seconds))
			return -EINVAL;
		return start_hog(n);
	}
	if (!strcmp(cmd, "list") || !strcmp(cmd, "hold-id") || !strcmp(cmd, "mute-qp")) {
		if (*b && kstrtouint(b, 0, &n))
			return -EINVAL;
		return with_device(cmd, a, n, c);
	}
	if (kstrtouint(c, 0, &n))
		return -EINVAL;
	cp = find_path(a, b, n);
	return cp ? with_path(cmd, cp, d) : -ENOENT;
}

static int do_get(char *buf, const struct kernel_param *kp)
{
	return sprintf(buf, "muted %d swallowed %ld\n", n_muted, atomic_long_read(&swallowed));
}

static const struct kernel_param_ops ops = { .set = do_set, .get = do_get };
module_param_cb(do, &ops, NULL, 0600);

static int __init labfault_init(void)
{
	return find_lookup();
}

/* No way out: the state it leaves is not to be undone, and a muted queue must stay muted. */
module_init(labfault_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("lab only: faults on demand");
