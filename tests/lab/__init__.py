"""A lab that makes the real thing: kernels stuck in RDMA, on demand, in emulated guests."""
