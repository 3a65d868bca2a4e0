/* Users of RDMA in the shape of Linux 4.1 to 4.20: clients' data on lists, endpoints within transports. */
struct ib_device {
	char name[64]; struct module *owner; u8 node_type; u8 phys_port_cnt;
	struct list_head core_list; struct list_head client_data_list;
};
struct ib_client { char *name; };
struct ib_client_data { struct list_head list; struct ib_client *client; void *data; };
struct cma_device { struct list_head list; struct list_head id_list; };

struct net_generic { u32 len; u64 rcu[2]; void *ptr[4]; };
struct net { struct list_head list; struct net_generic *gen; };

union ktime { long tv64; };
struct sunrpc_net { struct list_head all_clients; };
struct rpc_program { char *name; };
struct rpc_procinfo { u32 p_proc; char *p_name; };
struct rpc_message { struct rpc_procinfo *rpc_proc; };
struct rpc_clnt {
	struct list_head cl_clients; struct list_head cl_tasks; struct rpc_xprt *cl_xprt;
	u32 cl_vers; struct rpc_program *cl_program;
};
struct rpc_task {
	struct list_head tk_task; unsigned long tk_runstate; struct rpc_message tk_msg;
	struct rpc_xprt *tk_xprt; union ktime tk_start;
};
enum rpc_display_format_t { RPC_DISPLAY_ADDR, RPC_DISPLAY_PORT, RPC_DISPLAY_PROTO };
struct rpc_wait_queue { u32 qlen; };
struct rpc_stat_s { unsigned long connect_count; unsigned long connect_start; };
struct rpc_xprt {
	struct sockaddr_storage addr;
	struct rpc_wait_queue sending; struct rpc_wait_queue pending; struct rpc_wait_queue backlog;
	unsigned long state; void *bc_xprt; struct rpc_stat_s stat; char *address_strings[3];
};
struct rpcrdma_ia { struct rdma_cm_id *ri_id; };
struct rpcrdma_ep { int rep_connected; };
struct rpcrdma_buffer { u32 rb_credits; };
struct rpcrdma_xprt {
	struct rpc_xprt rx_xprt; struct rpcrdma_ia rx_ia; struct rpcrdma_ep rx_ep;
	struct rpcrdma_buffer rx_buf; struct delayed_work rx_connect_worker;
};
struct tk_read_base { union ktime base; u64 xtime_nsec; u32 shift; };
struct timekeeper { u64 xtime_sec; struct tk_read_base tkr_mono; };

struct wait_bit_key { void *flags; int bit_nr; unsigned long timeout; };
struct wait_bit_queue_entry { struct wait_bit_key key; struct wait_queue_entry wq_entry; };
struct nfs_server { struct rpc_clnt *client; };
struct file_system_type { char *name; };
struct super_block { struct file_system_type *s_type; void *s_fs_info; };
struct dentry { struct dentry *d_parent; };
struct vfsmount { struct dentry *mnt_root; struct super_block *mnt_sb; };
struct mount {
	struct mount *mnt_parent; struct dentry *mnt_mountpoint; struct vfsmount mnt; struct list_head mnt_list;
};
struct mnt_namespace { struct list_head list; };
struct nsproxy { struct mnt_namespace *mnt_ns; };
struct inode { struct super_block *i_sb; };
struct address_space { struct inode *host; };
struct page { struct address_space *mapping; };
struct wait_page_queue { struct page *page; int bit_nr; struct wait_queue_entry wait; };
struct nfs_direct_req { struct inode *inode; struct completion completion; };

struct nfsd_net { struct svc_serv *nfsd_serv; };
struct svc_serv { struct list_head sv_permsocks; struct list_head sv_tempsocks; };
struct svc_xprt_class { char *xcl_name; };
struct svc_xprt {
	struct svc_xprt_class *xpt_class; struct list_head xpt_list; unsigned long xpt_flags;
	atomic_t xpt_nr_rqsts; struct sockaddr_storage xpt_remote;
};
struct svcxprt_rdma {
	struct svc_xprt sc_xprt; struct rdma_cm_id *sc_cm_id; atomic_t sc_sq_avail; u32 sc_sq_depth;
	u32 sc_pending_recvs; struct ib_qp *sc_qp; struct wait_queue_head sc_send_wait;
};

enum srp_target_state { SRP_TARGET_SCANNING, SRP_TARGET_LIVE, SRP_TARGET_REMOVED };
enum srp_rport_state { SRP_RPORT_RUNNING, SRP_RPORT_BLOCKED, SRP_RPORT_FAIL_FAST, SRP_RPORT_LOST };
struct Scsi_Host { u32 host_no; };
struct srp_device { struct list_head dev_list; struct ib_device *dev; };
struct srp_host { struct srp_device *srp_dev; struct list_head target_list; struct list_head list; };
struct srp_rport {
	struct mutex mutex; enum srp_rport_state state; int failed_reconnects;
	struct delayed_work reconnect_work; struct delayed_work fast_io_fail_work;
	struct delayed_work dev_loss_work;
};
struct srp_rdma_ch {
	int req_lim; struct ib_qp *qp; struct completion done; struct completion tsk_mgmt_done; bool connected;
};
struct srp_target_port {
	struct srp_rdma_ch *ch; u32 ch_count; enum srp_target_state state; struct srp_host *srp_host;
	struct Scsi_Host *scsi_host; struct srp_rport *rport; struct list_head list; bool qp_in_error;
};

enum rdma_ch_state { CH_CONNECTING, CH_LIVE, CH_DISCONNECTING, CH_DRAINING, CH_DISCONNECTED };
struct srpt_recv_ioctx { struct list_head wait_list; };
struct srpt_rdma_ch {
	struct srpt_port *sport; struct ib_qp *qp; struct completion *closed; atomic_t sq_wr_avail;
	atomic_t req_lim; enum rdma_ch_state state; struct list_head list; struct list_head cmd_wait_list;
	u8 sess_name[40]; struct work_struct release_work;
};
struct srpt_nexus { struct list_head entry; struct list_head ch_list; };
struct srpt_port { struct srpt_device *sdev; struct list_head nexus_list; };
struct srpt_device { struct ib_device *device; struct list_head list; struct srpt_port *port; };

enum iser_conn_state { ISER_CONN_INIT, ISER_CONN_PENDING, ISER_CONN_UP, ISER_CONN_TERMINATING, ISER_CONN_DOWN };
enum isert_conn_state { ISERT_CONN_INIT };
struct iser_device { struct ib_device *ib_device; };
struct ib_conn { struct rdma_cm_id *cma_id; struct ib_qp *qp; struct iser_device *device; };
struct iser_conn {
	struct ib_conn ib_conn; enum iser_conn_state state; struct completion stop_completion;
	struct completion ib_completion; struct completion up_completion; struct list_head conn_list;
};
struct iser_global { struct list_head connlist; };
struct isert_conn {
	enum iser_conn_state state; struct completion login_comp; struct completion login_req_comp;
	struct rdma_cm_id *cm_id; struct ib_qp *qp; struct iser_device *device;
};

enum netdev_queue_state_t { __QUEUE_STATE_DRV_XOFF, __QUEUE_STATE_STACK_XOFF };
enum {
	IPOIB_FLAG_OPER_UP, IPOIB_FLAG_INITIALIZED, IPOIB_FLAG_ADMIN_UP, IPOIB_PKEY_ASSIGNED, IPOIB_NUM_WC,
	IPOIB_NEIGH_TBL_FLUSH = 12, IPOIB_TX_RING_SIZE = 128
};
struct netdev_queue { unsigned long state; };
struct net_device { char name[16]; struct netdev_queue *_tx; u32 real_num_tx_queues; };
struct ipoib_neigh_table { atomic_t entries; };
struct ipoib_dev_priv {
	struct net_device *dev; unsigned long flags; struct ipoib_neigh_table ntbl; struct ib_device *ca;
	u8 port; u16 pkey; struct ib_qp *qp; u32 tx_head; u32 tx_tail; struct list_head child_intfs;
	struct list_head list;
};

enum nvmet_rdma_queue_state { NVMET_RDMA_Q_CONNECTING, NVMET_RDMA_Q_LIVE, NVMET_RDMA_Q_DISCONNECTING };
struct nvmet_subsys { char *subsysnqn; };
struct nvmet_ctrl { struct nvmet_subsys *subsys; u16 cntlid; char hostnqn[223]; };
struct nvmet_sq { struct nvmet_ctrl *ctrl; };
struct nvmet_rdma_rsp { struct list_head wait_list; };
struct nvmet_rdma_queue {
	struct rdma_cm_id *cm_id; struct ib_qp *qp; atomic_t sq_wr_avail; enum nvmet_rdma_queue_state state;
	struct nvmet_sq nvme_sq; struct work_struct release_work; struct list_head rsp_wait_list;
	struct list_head rsp_wr_wait_list; int idx; int host_qid; int recv_queue_size; struct list_head queue_list;
};
