/* The newest linux-uek: one delayed work for up and down, i_flags as a bit field. */
struct process_timer { struct timer_list timer; struct task_struct *task; };
struct rds_transport { char t_name[16]; };
struct rds_header { __be32 h_len; };
struct rds_incoming { struct rds_header i_hdr; };
struct rds_message { struct list_head m_conn_item; struct rds_incoming m_inc; struct rds_sock *m_rs; };
enum rds_conn_drop_src { DR_DEFAULT, DR_USER_RESET, DR_INV_CONN_STATE, DR_IB_QP_EVENT = 11 };
enum { RDS_CONN_DOWN, RDS_CONN_CONNECTING, RDS_CONN_DISCONNECTING, RDS_CONN_UP, RDS_CONN_RESETTING, RDS_CONN_ERROR };
struct rds_ib_work_ring { u32 w_nr; u32 w_alloc_ptr; u32 w_alloc_ctr; u32 w_free_ptr; atomic_t w_free_ctr; };
struct rds_ib_device { struct ib_device *dev; };
struct rds_ib_connection {
	struct rds_ib_device *rds_ibdev;
	struct rdma_cm_id *i_cm_id;
	struct ib_cq *i_scq;
	struct ib_cq *i_rcq;
	struct rds_ib_work_ring i_send_ring;
	atomic_t i_signaled_sends;
	struct rds_ib_work_ring i_recv_ring;
	bool i_active_side;
	atomic_t i_fastreg_wrs;
	u16 i_frag_pages;
	unsigned long i_flags;
};
struct rds_connection {
	struct hlist_node c_hash_node;
	struct in6_addr c_laddr;
	struct in6_addr c_faddr;
	int c_npaths;
	struct rds_connection *c_passive;
	struct rds_transport *c_trans;
	u8 c_tos;
	struct rds_conn_path *c_path;
};
struct rds_conn_path {
	struct rds_connection *cp_conn;
	struct list_head cp_send_queue;
	struct list_head cp_retrans;
	void *cp_transport_data;
	struct workqueue_struct *cp_wq;
	atomic_t cp_state;
	unsigned long cp_flags;
	struct delayed_work cp_send_w;
	struct delayed_work cp_recv_w;
	struct delayed_work cp_up_or_down_w;
	struct delayed_work cp_hb_w;
	struct delayed_work cp_down_wait_w;
	enum rds_conn_drop_src cp_drop_source;
	unsigned long cp_reconnect_start;
};
