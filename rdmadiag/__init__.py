"""rdmadiag says what is wrong with RDMA on a machine, from its kernel crash dumps and logs."""

__version__ = "0.1.0"
