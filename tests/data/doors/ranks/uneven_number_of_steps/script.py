import os
from datetime import timedelta
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


@torch.compile(backend="aot_eager")
def local_loss(x):
    return (x - x.mean()).pow(2).sum()


def work(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29552"
    dist.init_process_group("gloo", rank=rank, world_size=world, timeout=timedelta(seconds=25))
    data = torch.arange(10.0).chunk(3)[rank::world]
    for x in data:                       # rank 0 has two chunks, rank 1 has one
        loss = local_loss(x)
        dist.all_reduce(loss)
        print(rank, loss.item(), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
