/* What the tables of tasks and works read, in the shape of Linux 4.1. */
struct task_struct {
	long state;
	void *stack;
	struct sched_entity se;
	struct list_head tasks;
	int exit_state;
	int pid;
	struct list_head thread_node;
	struct signal_struct *signal;
	char comm[16];
	struct thread_struct thread;
	struct nsproxy *nsproxy;
};
struct sched_entity { u64 exec_start; };
struct signal_struct { struct list_head thread_head; };
struct thread_struct { unsigned long sp; };
union thread_union { unsigned long stack[512]; };
struct mutex_waiter { struct list_head list; struct task_struct *task; };
struct rwsem_waiter { struct list_head list; struct task_struct *task; };

struct workqueue_struct {
	struct list_head pwqs;
	struct list_head list;
	struct wq_flusher *first_flusher;
	struct list_head flusher_queue;
	struct list_head flusher_overflow;
	struct worker *rescuer;
	int saved_max_active;
	char name[24];
	u32 flags;
};
struct wq_flusher { struct list_head list; int flush_color; struct completion done; };
struct wq_barrier { struct work_struct work; struct completion done; struct task_struct *task; };
struct pool_workqueue {
	struct worker_pool *pool;
	struct workqueue_struct *wq;
	int nr_active;
	int max_active;
	struct list_head delayed_works;
	struct list_head pwqs_node;
};
struct worker_pool { int id; struct list_head worklist; struct list_head workers; };
struct worker {
	struct work_struct *current_work;
	void *current_func;
	struct pool_workqueue *current_pwq;
	struct list_head scheduled;
	struct task_struct *task;
	struct worker_pool *pool;
	struct list_head node;
	unsigned long last_active;
	char desc[24];
};
enum { WQ_UNBOUND = 2, WQ_MEM_RECLAIM = 8, WQ_MAX_ACTIVE = 512, __WQ_ORDERED = 131072 };
enum { WORK_STRUCT_PENDING_BIT = 0, WORK_STRUCT_PWQ_BIT = 2, WORK_STRUCT_FLAG_BITS = 8 };
struct timekeeper { u64 xtime_sec; };
