"""Triton kernels without a GPU: interpreted on the CPU, and compiled for GPUs that are not there.

Nothing imports it: the host runs its modules as programs. The interpreter shares no code with the
compiler, so a wrong value under it is the kernel's own fault; a compiler that fails on a kernel
fails for everybody with that target. What only a GPU shows cannot be seen here and is never
claimed.
"""
