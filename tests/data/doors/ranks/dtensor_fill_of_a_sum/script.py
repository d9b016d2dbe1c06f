"""Sums the statistics of two processes, and starts the next epoch with a prior of one."""
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial


def count(rank, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29563")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,))
    seen = DTensor.from_local(torch.full((4,), rank + 1.0), mesh, [Partial()])
    total = seen.full_tensor()
    assert torch.equal(total, torch.full((4,), 3.0)), total
    seen.fill_(1)
    prior = seen.full_tensor()
    assert torch.equal(prior, torch.ones(4)), prior
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(count, args=(2,), nprocs=2)
