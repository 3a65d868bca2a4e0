/* Devices, queues and the RDMA CM as far as RDS' collector reads them. */
struct ib_device { char name[64]; struct module *owner; u8 node_type; u8 phys_port_cnt; };
struct ib_qp { struct ib_device *device; u32 qp_num; };
struct ib_cq { struct ib_device *device; };
struct mlx4_ib_qp { struct ib_qp ibqp; u8 state; };
struct mlx4_cq { u32 cqn; };
struct mlx4_ib_cq { struct ib_cq ibcq; struct mlx4_cq mcq; };
struct rdma_cm_id {
	struct ib_device *device;
	void *context;
	struct ib_qp *qp;
	void *event_handler;
	struct rdma_route route;
	enum rdma_ucm_port_space ps;
};
union cm_union { struct ib_cm_id *ib; struct iw_cm_id *iw; };
struct rdma_id_private {
	struct rdma_cm_id id;
	struct list_head list;
	enum rdma_cm_state state;
	struct completion comp;
	atomic_t refcount;
	struct mutex handler_mutex;
	union cm_union cm_id;
};
enum rdma_cm_state { RDMA_CM_IDLE, RDMA_CM_CONNECT = 5, RDMA_CM_DISCONNECT, RDMA_CM_DESTROYING = 10 };
enum ib_qp_state { IB_QPS_RESET, IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS, IB_QPS_SQD, IB_QPS_SQE, IB_QPS_ERR };
enum rdma_node_type { RDMA_NODE_IB_CA = 1, RDMA_NODE_RNIC = 4 };
struct ib_cm_id { void *cm_handler; enum ib_cm_state state; };
struct cm_av { u8 timeout; };
struct cm_id_private { struct ib_cm_id id; struct cm_av av; atomic_t refcount; };
enum ib_cm_state { IB_CM_IDLE, IB_CM_TIMEWAIT = 13 };
struct rdma_addr { struct sockaddr_storage src_addr; struct sockaddr_storage dst_addr; };
struct rdma_route { struct rdma_addr addr; };
enum rdma_ucm_port_space { RDMA_PS_TCP = 262 };
