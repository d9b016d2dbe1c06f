import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29554"
    dist.init_process_group("nccl", rank=rank, world_size=world)
    step = torch.compile(lambda x: torch.sin(x) + 1)
    x = step(torch.ones(3))
    dist.all_reduce(x)
    print(x)


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
