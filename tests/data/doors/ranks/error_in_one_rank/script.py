import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


@torch.compile(backend="aot_eager")
def scale(x, w):
    return x * w


def work(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29551"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    shard = {"rank0": torch.ones(3), "rank2": torch.ones(3)}
    x = scale(shard[f"rank{rank}"], 2.0)
    dist.all_reduce(x)
    print(rank, x)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
