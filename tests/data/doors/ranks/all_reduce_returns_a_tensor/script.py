import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def fn(x):
    y = x.clone()
    result = dist.all_reduce(y)
    if result is None:
        return y
    return y * 100


def work(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29540"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    x = torch.ones(4) * (rank + 1)
    ref = fn(x)
    out = torch.compile(fn, backend="aot_eager", fullgraph=True)(x)
    print(rank, ref, out)
    torch.testing.assert_close(out, ref)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
