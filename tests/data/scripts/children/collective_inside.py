"""Two ranks whose compiled call adds up what both of them have."""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def total(values):
    dist.all_reduce(values)
    return values * 2


def work(rank, path):
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
    out = torch.compile(total, backend="eager")(torch.full((3,), rank + 1.0))
    assert out.tolist() == [6.0, 6.0, 6.0]
    dist.barrier()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(work, args=(f"{folder}/store",), nprocs=2)
