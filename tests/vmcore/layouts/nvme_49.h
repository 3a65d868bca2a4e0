/* The NVMe host of Linux 4.9 to 4.12: state RECONNECTING, works of the transport's own, old wait queues. */
struct __wait_queue_head { u32 lock; struct list_head task_list; };
struct __wait_queue { u32 flags; void *private; void *func; struct list_head task_list; };
struct kref { atomic_t refcount; };
struct kobject { char name[16]; struct kref kref; };
struct device { struct kobject kobj; };
struct nvmf_ctrl_options {
	char *subsysnqn; char *traddr; char *trsvcid; char *host_traddr;
	u32 reconnect_delay; int max_reconnects;
};
struct gendisk { char disk_name[32]; };
struct nvme_ns { struct list_head list; struct gendisk *disk; };
struct nvme_ctrl {
	enum nvme_ctrl_state state;
	struct device *device;
	int instance;
	u32 queue_count;
	u32 kato;
	int nr_reconnects;
	struct nvmf_ctrl_options *opts;
	struct list_head namespaces;
};
enum nvme_ctrl_state {
	NVME_CTRL_NEW, NVME_CTRL_LIVE, NVME_CTRL_RESETTING, NVME_CTRL_RECONNECTING, NVME_CTRL_DELETING, NVME_CTRL_DEAD
};
struct nvme_rdma_ctrl {
	struct nvme_rdma_queue *queues;
	struct work_struct delete_work;
	struct work_struct reset_work;
	struct work_struct err_work;
	struct delayed_work reconnect_work;
	struct list_head list;
	struct nvme_ctrl ctrl;
};
enum nvme_rdma_queue_flags { NVME_RDMA_Q_CONNECTED = 1, NVME_RDMA_IB_QUEUE_ALLOCATED = 2, NVME_RDMA_Q_DELETING = 4, NVME_RDMA_Q_LIVE = 8 };
struct nvme_rdma_queue {
	struct nvme_rdma_ctrl *ctrl;
	struct ib_qp *qp;
	unsigned long flags;
	struct rdma_cm_id *cm_id;
	struct completion cm_done;
};
struct cma_device { struct list_head list; struct list_head id_list; };
struct iw_cm_id {
	void *cm_handler;
	void *context;
	struct ib_device *device;
	struct sockaddr_storage local_addr;
	struct sockaddr_storage remote_addr;
};
enum iw_cm_state { IW_CM_STATE_IDLE, IW_CM_STATE_LISTEN, IW_CM_STATE_CONN_RECV, IW_CM_STATE_CONN_SENT };
struct iwcm_id_private {
	struct iw_cm_id id;
	enum iw_cm_state state;
	unsigned long flags;
	struct __wait_queue_head connect_wait;
	atomic_t refcount;
};
