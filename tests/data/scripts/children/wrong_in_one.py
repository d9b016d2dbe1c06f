"""Two processes without a group; the backend of one of them is wrong."""

import torch
import torch.multiprocessing as mp


def off_by_one(gm, example_inputs):
    return lambda *args: [out + 1 for out in gm.forward(*args)]


def work(rank):
    backend = off_by_one if rank == 1 else "eager"
    compiled = torch.compile(torch.relu, backend=backend)
    print(rank, compiled(torch.randn(4)).sum().item())


if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
