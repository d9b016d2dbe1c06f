"""Two processes without a group; in one of them an operator fails, by an assertion of torch or by a
signal.
"""

import sys

import torch
import torch.multiprocessing as mp


def work(rank, how):
    values = torch.zeros(6, 9, 1, 1, 8)
    if rank == 0:
        values.relu()
    elif how == "assertion":
        torch.ops.aten.device.with_index("cuda", 0)
    else:
        offsets = torch.zeros(5, 0, 0, 9, 2, dtype=torch.int64)
        torch.segment_reduce(values, "max", offsets=offsets, axis=4)


if __name__ == "__main__":
    mp.spawn(work, args=(sys.argv[1],), nprocs=2)
